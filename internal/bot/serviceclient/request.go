package serviceclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/signin"
)

const (
	maxResponse   = 2 * signin.MaxStateBytes // of an account, in base64
	maxRetryAfter = time.Minute
)

// unavailableError is a failure that may pass: of the network, or of a service
// that is starting, stopping, overloaded or behind a proxy.
type unavailableError struct {
	retryAfter time.Duration // 0 if the response had no Retry-After
	busy       bool          // other requests have to end first
	err        error
}

func (e *unavailableError) Error() string { return e.err.Error() }
func (e *unavailableError) Unwrap() error { return e.err }

// RefusedError is a request that the service permanently refuses.
type RefusedError struct {
	Status  int    // status code of the response
	Code    string // the field error of the response
	Message string

	unknownJob bool // the job ID is invalid
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the service refuses: %d %s: %s", e.Status, e.Code, e.Message)
}

// permanent reports whether the service refuses the bot, not only one message:
// its token or its job is unknown.
func (e *RefusedError) permanent() bool {
	if e.Code == quotaExceeded {
		return false
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusGone:
		return true
	}
	return e.unknownJob
}

// post sends a message as JSON and decodes the response.
func (c *Client) post(ctx context.Context, path, query string, message, response any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	target := c.base.JoinPath(path)
	target.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	received, err := c.do(request, maxResponse)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(received, response); err != nil { // perhaps a proxy's page
		return &unavailableError{err: fmt.Errorf("decode the response of %s: %w", path, err)}
	}
	return nil
}

// BorrowAccount asks the service for an account to sign in with, for some seconds.
func (c *Client) BorrowAccount(ctx context.Context, ask ingest.AccountRequest) (response ingest.AccountResponse, err error) {
	ask.JobID, ask.Attempt = c.settings.JobID, c.settings.Attempt
	backoff := c.newBackoff()
	for try := range 3 {
		if try > 0 && retry.Sleep(ctx, pauseAfter(err, &backoff)) != nil {
			break
		}
		err = c.post(ctx, ingest.AccountPath, "", ask, &response)
		if _, unavailable := errors.AsType[*unavailableError](err); !unavailable {
			break
		}
	}
	return response, err
}

// ReturnAccount returns the account that the bot has borrowed, with what has changed.
func (c *Client) ReturnAccount(ctx context.Context, state signin.State) error {
	body, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return c.put(ctx, ingest.AccountPath, "application/octet-stream", body)
}

// DialSound connects to the service for live sound.
func (c *Client) DialSound(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	target := c.base.JoinPath(ingest.SoundPath, c.own)
	conn, _, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: c.http, HTTPHeader: http.Header{"Authorization": {"Bearer " + c.settings.Token}},
	})
	return conn, err
}

// SendScreenshot sends a picture of the page, a JPEG of at most ingest.MaxScreenshot bytes.
func (c *Client) SendScreenshot(ctx context.Context, image []byte) error {
	return c.put(ctx, ingest.ScreenshotPath, "image/jpeg", image)
}

// put sends content of the attempt to a path.
func (c *Client) put(ctx context.Context, path, contentType string, content []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, c.base.JoinPath(path, c.own).String(), bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	_, err = c.do(request, maxResponse)
	return err
}

// do sends a request and returns the body of a 2xx response of at most limit bytes.
// Otherwise it returns a *RefusedError or an *unavailableError.
func (c *Client) do(request *http.Request, limit int64) ([]byte, error) {
	request.Header.Set("Authorization", "Bearer "+c.settings.Token)
	request.Header.Set(ingest.AttemptHeader, c.settings.JobID+":"+strconv.Itoa(c.settings.Attempt))
	response, err := c.http.Do(request)
	if err != nil {
		if cause := context.Cause(request.Context()); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, &unavailableError{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	status := response.StatusCode
	switch {
	case status/100 == 2 && err != nil:
		return nil, &unavailableError{err: fmt.Errorf("read the response: %w", err)}
	case status/100 == 2 && int64(len(body)) > limit:
		return nil, &unavailableError{err: fmt.Errorf("the response has more than %d bytes", limit)}
	case status/100 == 2:
		return body, nil
	}
	// It is a refusal only with the service's own error body: a proxy whose service is away also responds with
	// 404, and a bot must not leave its meeting for that.
	var content struct {
		Error, Message string
		Issues         []struct{ Path []any }
	}
	temporary := status < 400 || status >= 500 || status == http.StatusRequestTimeout ||
		status == http.StatusTooEarly || status == http.StatusTooManyRequests
	if json.Unmarshal(body, &content) == nil && (!temporary && content.Error != "" || content.Error == quotaExceeded) {
		unknownJob := len(content.Issues) == 1 && len(content.Issues[0].Path) == 1 && content.Issues[0].Path[0] == "jobId"
		return nil, &RefusedError{Status: status, Code: content.Error, Message: content.Message, unknownJob: unknownJob}
	}
	return nil, &unavailableError{
		retryAfter: retry.After(response.Header.Get("Retry-After"), time.Now(), maxRetryAfter),
		busy:       status == http.StatusTooManyRequests,
		err:        fmt.Errorf("the service responded with status %d", status),
	}
}

// quotaExceeded is the error code of a message beyond a quota of the job. It is
// never accepted later, whatever the status of the response.
const quotaExceeded = "quota_exceeded"

func (c *Client) newBackoff() retry.Backoff {
	return retry.Backoff{Min: c.settings.RetryMin, Max: c.settings.RetryMax}
}

// pauseAfter counts a failure and returns the pause after it, at least the one
// that the service asked for.
func pauseAfter(err error, backoff *retry.Backoff) time.Duration {
	pause := backoff.Next()
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		pause = max(pause, unavailable.retryAfter)
	}
	return pause
}
