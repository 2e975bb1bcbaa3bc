package serviceclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
)

const (
	// maxUnreadable is how often the service may find fault with a body before
	// the file is set aside: what was changed on its way deserves another try.
	maxUnreadable = 5

	// slowestStore is the bytes a second at which the service puts a body away;
	// its answer to a large one may take that long.
	slowestStore = 4 << 20

	// askFirst is the size from which the service is asked before the body is
	// sent. It may refuse without reading, and an answer given while a body is
	// on its way can be lost with the connection.
	askFirst = 1 << 20
)

// claims keep the uploaders from each other's files, and from those that have
// just failed.
type claims struct {
	mutex   sync.Mutex
	taken   map[string]bool
	sending map[string]int64 // bytes of finished files that are on their way
	trouble map[string]*trouble
}

// trouble is a file that could not be uploaded, so far.
type trouble struct {
	patience   patience
	until      time.Time // not to be tried before
	unreadable int
}

func newClaims() claims {
	return claims{taken: map[string]bool{}, sending: map[string]int64{}, trouble: map[string]*trouble{}}
}

// sent is how many bytes of finished files are on their way.
func (c *claims) sent() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	total := int64(0)
	for _, bytes := range c.sending {
		total += bytes
	}
	return total
}

// moved counts bytes of a file that were sent. Segments count by themselves.
func (c *claims) moved(name string, bytes int) {
	if _, _, segment := ingest.ParseSegmentName(name); segment {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.sending[name] += int64(bytes)
}

// uploadFiles uploads one file after the other until ctx ends. Several such
// loops run side by side.
func (c *Client) uploadFiles(ctx context.Context) error {
	patience := c.patience()
	for {
		name, ok := c.claim(ctx)
		if !ok {
			return nil
		}
		version, err := c.upload(ctx, name)
		if ctx.Err() != nil {
			return nil
		}
		away, err := c.uploaded(version, err)
		c.release(name)
		if err != nil {
			return err
		}
		if away == nil {
			patience.succeeded()
		} else if !sleep(ctx, patience.failed(away)) { // as likely the service's trouble as the file's
			return nil
		}
	}
}

// claim waits for a file that should be uploaded now; ok is false when ctx
// ended first.
func (c *Client) claim(ctx context.Context) (name string, ok bool) {
	for {
		changed := c.spool.Changed()
		name, ok, rest := c.claims.next(c.spool)
		if ok {
			return name, ctx.Err() == nil
		}
		timer := time.NewTimer(rest)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return "", false
		}
	}
}

// next claims the first file that is free; if there is none it tells when to
// look again at the latest.
func (c *claims) next(from *spool.Spool) (name string, ok bool, rest time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	rest = time.Hour
	name, ok = from.NextFile(func(name string) bool {
		if c.taken[name] {
			return false
		}
		if trouble := c.trouble[name]; trouble != nil {
			if left := time.Until(trouble.until); left > 0 {
				rest = min(rest, left)
				return false
			}
		}
		return true
	})
	if ok {
		c.taken[name] = true
	}
	return name, ok, rest
}

func (c *Client) release(name string) {
	c.claims.mutex.Lock()
	defer c.claims.mutex.Unlock()
	delete(c.claims.taken, name)
	delete(c.claims.sending, name)
}

// upload sends the present version of a file.
func (c *Client) upload(ctx context.Context, name string) (spool.File, error) {
	file, version, err := c.spool.OpenFile(name)
	if err != nil {
		return version, err
	}
	defer file.Close() // the transport may have done so
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := c.settings.Timeout + time.Duration(version.Size/slowestStore)*time.Second
	stalled := time.AfterFunc(patience, func() { cancel(errStalled) })
	defer stalled.Stop()

	target := c.base.JoinPath(ingest.MediaPath, c.settings.JobID, strconv.Itoa(c.settings.Attempt), name)
	body := io.Reader(watched{file, func(bytes int) {
		stalled.Reset(patience)
		c.claims.moved(name, bytes)
	}})
	if version.Size == 0 {
		body = http.NoBody // an unknown length otherwise
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, target.String(), body)
	if err != nil {
		return version, fmt.Errorf("make a request for %s: %w", name, err)
	}
	request.ContentLength = version.Size
	request.Header.Set("Content-Type", "application/octet-stream")
	request.Header.Set(ingest.ChecksumHeader, version.Sum)
	if version.Size >= askFirst {
		request.Header.Set("Expect", "100-continue")
	}
	_, err = c.do(request)
	return version, err
}

var errStalled = errors.New("the upload does not move")

// watched tells of each read.
type watched struct {
	io.Reader
	moved func(bytes int)
}

func (w watched) Read(into []byte) (int, error) {
	n, err := w.Reader.Read(into)
	w.moved(n)
	return n, err
}

// uploaded writes down what became of an upload. away is a failure that may
// pass, fatal one that ends the channel.
func (c *Client) uploaded(version spool.File, err error) (away, fatal error) {
	refusal, refused := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		c.settle(version, c.spool.MarkUploaded(version))
		return nil, nil
	case refused && refusal.forGood():
		return nil, c.refuse(refusal)
	case refused && refusal.Status == http.StatusBadRequest && c.unreadable(version.Name) < maxUnreadable:
		return c.rest(version, err), nil
	case refused, errors.Is(err, spool.ErrDamaged):
		c.log.Error("a file cannot be uploaded; it is set aside", "name", version.Name, "size", version.Size, "sha256", version.Sum, "error", err)
		c.settle(version, c.spool.RejectFile(version, err.Error()))
		return nil, nil
	}
	return c.rest(version, err), nil
}

// settle ends the trouble with a file, if there was any.
func (c *Client) settle(version spool.File, err error) {
	if err != nil {
		c.log.Error("a file may be uploaded again after a restart", "name", version.Name, "error", err)
	}
	c.claims.mutex.Lock()
	defer c.claims.mutex.Unlock()
	if trouble := c.claims.trouble[version.Name]; trouble != nil {
		c.log.Info("trouble with a file is over", "name", version.Name, "failures", trouble.patience.failures)
		delete(c.claims.trouble, version.Name)
	}
}

// rest keeps a file that failed back for a while, so that others get their
// turn, and returns the failure.
func (c *Client) rest(version spool.File, err error) error {
	c.claims.mutex.Lock()
	defer c.claims.mutex.Unlock()
	trouble := c.troubleWith(version.Name)
	trouble.until = time.Now().Add(trouble.patience.failed(err))
	if trouble.patience.failures == 1 {
		c.log.Warn("a file cannot be uploaded; it waits in the spool", "name", version.Name, "size", version.Size, "error", err)
	}
	return err
}

// unreadable counts that the service found fault with the file's body.
func (c *Client) unreadable(name string) int {
	c.claims.mutex.Lock()
	defer c.claims.mutex.Unlock()
	trouble := c.troubleWith(name)
	trouble.unreadable++
	return trouble.unreadable
}

func (c *Client) troubleWith(name string) *trouble {
	if c.claims.trouble[name] == nil {
		c.claims.trouble[name] = &trouble{patience: c.patience()}
	}
	return c.claims.trouble[name]
}
