package serviceclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
)

const (
	// maxBodyErrors is how many times the service may find a body invalid
	// before the file is rejected: it may have been changed on the way.
	maxBodyErrors = 5
	// slowestStore is the slowest rate, in bytes per second, at which a service
	// stores a body; its response to a large one may take that long.
	slowestStore = 4 << 20
	// expectContinueSize is the size from which the service is asked before the
	// body is sent. It may refuse without reading, and a response that arrives
	// while a body is being sent can be lost with the connection.
	expectContinueSize = 1 << 20
	// indirectTime is how long all files are sent to the service after an object store did not take one.
	indirectTime = 10 * time.Minute
)

// uploads coordinates the upload workers.
type uploads struct {
	mutex   sync.Mutex
	active  map[string]bool
	sent    map[string]int64 // bytes sent of active files, except segments
	failing map[string]*failingUpload
	direct  time.Time // when files may be sent to the object store itself
}

// failingUpload is a file whose last upload failed.
type failingUpload struct {
	backoff    retry.Backoff
	retryAt    time.Time
	bodyErrors int
}

// uploadFiles uploads one file after the other until ctx ends. Several workers
// run it.
func (c *Client) uploadFiles(ctx context.Context) error {
	backoff := c.newBackoff()
	for {
		name, ok := c.claimFile(ctx)
		if !ok {
			return nil
		}
		file, err := c.upload(ctx, name)
		if ctx.Err() != nil {
			return nil
		}
		failure, err := c.finishUpload(file, err)
		c.uploads.mutex.Lock()
		delete(c.uploads.active, name)
		delete(c.uploads.sent, name)
		c.uploads.mutex.Unlock()
		if err != nil {
			return err
		}
		if failure == nil {
			backoff.Reset()
		} else if retry.Sleep(ctx, pauseAfter(failure, &backoff)) != nil { // the service may be the cause
			return nil
		}
	}
}

// claimFile waits for a file to upload; ok is false if ctx ended.
func (c *Client) claimFile(ctx context.Context) (name string, ok bool) {
	for {
		changed := c.spool.Changed()
		wait := time.Hour // at most
		c.uploads.mutex.Lock()
		name, ok := c.spool.NextFile(func(name string) bool {
			if c.uploads.active[name] {
				return false
			}
			if failing := c.uploads.failing[name]; failing != nil {
				if left := time.Until(failing.retryAt); left > 0 {
					wait = min(wait, left)
					return false
				}
			}
			return true
		})
		if ok {
			c.uploads.active[name] = true
		}
		c.uploads.mutex.Unlock()
		if ok {
			return name, ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-time.After(wait):
		case <-ctx.Done():
			return "", false
		}
	}
}

// upload sends the current version of a file.
func (c *Client) upload(ctx context.Context, name string) (spool.File, error) {
	content, file, err := c.spool.OpenFile(name)
	if err != nil {
		return file, err
	}
	defer content.Close() // the transport may have closed it
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout := c.settings.Timeout + time.Duration(file.Size/slowestStore)*time.Second
	stalled := time.AfterFunc(timeout, func() { cancel(errStalled) })
	defer stalled.Stop()

	signed := c.sign(ctx, file)
	target := cmp.Or(signed.URL, c.base.JoinPath(ingest.MediaPath, c.own, name).String())
	body := io.Reader(progressReader{content, func(bytes int) {
		stalled.Reset(timeout)
		if _, _, segment := ingest.ParseSegmentName(name); !segment { // the spool counts segments
			c.uploads.mutex.Lock()
			defer c.uploads.mutex.Unlock()
			c.uploads.sent[name] += int64(bytes)
		}
	}})
	if file.Size == 0 {
		body = http.NoBody // else the length is unknown
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, target, body)
	if err != nil {
		return file, err
	}
	request.ContentLength = file.Size
	if signed.URL != "" {
		request.Header = signed.Headers
		stalled.Reset(5 * time.Second) // until it is connected: a network policy may drop its packets
		return file, c.sendToStore(request)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set(ingest.ChecksumHeader, file.Sum)
	if file.Size >= expectContinueSize {
		request.Header.Set("Expect", "100-continue")
	}
	_, err = c.do(request, maxResponse)
	return file, err
}

// sign asks the service for an upload to the object store itself. Without a URL the service takes the file, or says why not.
func (c *Client) sign(ctx context.Context, file spool.File) (signed ingest.SignedUpload) {
	c.uploads.mutex.Lock()
	direct := time.Now().After(c.uploads.direct) && file.Name != ingest.ReportName
	c.uploads.mutex.Unlock()
	if !direct {
		return signed
	}
	err := c.post(ctx, ingest.SignPath, "", ingest.DirectUpload{
		JobID: c.settings.JobID, Attempt: c.settings.Attempt, Name: file.Name, Bytes: file.Size, SHA256: file.Sum,
	}, &signed)
	if err == nil && signed.URL == "" {
		c.sendIndirectly()
	}
	return signed
}

// sendToStore sends a file to the object store. After a failure, whose cause may be that the store is out of reach, or has the
// file, the service takes all files for a while.
func (c *Client) sendToStore(request *http.Request) error {
	response, err := c.http.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the URL
	}
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode/100 == 2 {
			return nil
		}
		err = fmt.Errorf("the object store responded with status %d", response.StatusCode)
	}
	c.sendIndirectly()
	return &unavailableError{err: err}
}

func (c *Client) sendIndirectly() {
	c.uploads.mutex.Lock()
	defer c.uploads.mutex.Unlock()
	c.uploads.direct = time.Now().Add(indirectTime)
}

var errStalled = errors.New("the upload made no progress")

// progressReader calls onRead after each read.
type progressReader struct {
	io.Reader
	onRead func(bytes int)
}

func (r progressReader) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	r.onRead(n)
	return n, err
}

// finishUpload stores the result of an upload. It returns a failure that may
// pass, or a fatal error that ends Run.
func (c *Client) finishUpload(file spool.File, err error) (failure, fatal error) {
	refusal, refused := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		c.settle(file, c.spool.MarkUploaded(file))
		return nil, nil
	case refused && refusal.permanent():
		return nil, c.refuse(refusal)
	case refused && refusal.Status == http.StatusBadRequest && c.addBodyError(file.Name) < maxBodyErrors:
		return c.retryLater(file, err), nil
	case refused, errors.Is(err, spool.ErrDamaged):
		c.log.Error("file rejected", "name", file.Name, "size", file.Size, "sha256", file.Sum, "error", err)
		c.settle(file, c.spool.RejectFile(file, err.Error()))
		return nil, nil
	}
	return c.retryLater(file, err), nil
}

// settle ends the uploads of a file. err is the result of storing that.
func (c *Client) settle(file spool.File, err error) {
	if err != nil {
		c.log.Error("cannot store the result of an upload; the file may be uploaded again after a restart", "name", file.Name, "error", err)
	}
	c.uploads.mutex.Lock()
	defer c.uploads.mutex.Unlock()
	if failing := c.uploads.failing[file.Name]; failing != nil {
		c.log.Info("upload settled after failures", "name", file.Name, "failures", failing.backoff.Failures)
		delete(c.uploads.failing, file.Name)
	}
}

// retryLater delays the next upload of a file, so that others proceed, and
// returns err.
func (c *Client) retryLater(file spool.File, err error) error {
	c.uploads.mutex.Lock()
	defer c.uploads.mutex.Unlock()
	failing := c.failingLocked(file.Name)
	failing.retryAt = time.Now().Add(pauseAfter(err, &failing.backoff))
	if failing.backoff.Failures == 1 {
		c.log.Warn("cannot upload file; it waits in the spool", "name", file.Name, "size", file.Size, "error", err)
	}
	return err
}

// addBodyError counts that the service found the body of a file invalid.
func (c *Client) addBodyError(name string) int {
	c.uploads.mutex.Lock()
	defer c.uploads.mutex.Unlock()
	failing := c.failingLocked(name)
	failing.bodyErrors++
	return failing.bodyErrors
}

func (c *Client) failingLocked(name string) *failingUpload {
	if c.uploads.failing[name] == nil {
		c.uploads.failing[name] = &failingUpload{backoff: c.newBackoff()}
	}
	return c.uploads.failing[name]
}
