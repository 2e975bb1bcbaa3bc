package serviceclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	maxAnswer     = 1 << 20
	maxRetryAfter = time.Minute // no answer may silence a bot for longer
)

// awayError is a failure that may pass: the network's, or an answer of a
// service that is starting, stopping, overloaded or hidden behind a proxy.
type awayError struct {
	after time.Duration // Retry-After, 0 when none was given
	err   error
}

func (e *awayError) Error() string { return e.err.Error() }
func (e *awayError) Unwrap() error { return e.err }

// post sends a message and decodes the answer into answer.
func (c *Client) post(ctx context.Context, path, query string, message, answer any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode for %s: %w", path, err)
	}
	target := c.base.JoinPath(path)
	target.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request for %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	received, err := c.do(request)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(received, answer); err != nil { // a page of whatever stands in between
		return &awayError{err: fmt.Errorf("the answer to %s is not the service's: %w", path, err)}
	}
	return nil
}

// do sends a request and returns the body of a 2xx answer. Other outcomes are
// a *RefusedError when the service itself said no for good, else an *awayError.
func (c *Client) do(request *http.Request) ([]byte, error) {
	request.Header.Set("Authorization", "Bearer "+c.settings.Token)
	response, err := c.http.Do(request)
	if err != nil {
		if cause := context.Cause(request.Context()); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, &awayError{err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode/100 != 2:
		return nil, complaint(response, body)
	case err != nil:
		return nil, &awayError{err: fmt.Errorf("read the answer: %w", err)}
	case len(body) > maxAnswer:
		return nil, &awayError{err: fmt.Errorf("the answer has more than %d bytes", maxAnswer)}
	}
	return body, nil
}

// complaint tells a refusal from a failure that may pass. A refusal counts
// only with an error body as the specification has it (Errors): a proxy whose
// service is away answers 404 too, and a bot must not leave its meeting over
// that.
func complaint(response *http.Response, body []byte) error {
	status := response.StatusCode
	said := struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Issues  []struct {
			Path []any `json:"path"`
		} `json:"issues"`
	}{}
	passing := status < 400 || status >= 500 || status == http.StatusRequestTimeout ||
		status == http.StatusTooEarly || status == http.StatusTooManyRequests
	if !passing && json.Unmarshal(body, &said) == nil && said.Error != "" {
		unknownJob := len(said.Issues) == 1 && len(said.Issues[0].Path) == 1 && said.Issues[0].Path[0] == "jobId"
		return &RefusedError{Status: status, Code: said.Error, Message: said.Message, unknownJob: unknownJob}
	}
	return &awayError{
		after: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		err:   fmt.Errorf("the service answers %d", status),
	}
}

// retryAfter reads the header in either of its forms (RFC 9110, 10.2.3),
// bounded; 0 when there is none.
func retryAfter(header string, now time.Time) time.Duration {
	var after time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		after = time.Duration(min(seconds, 3600)) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}

// patience is how long to wait before trying again: longer with each failure
// in a row.
type patience struct {
	min, max time.Duration
	failures int
}

func (c *Client) patience() patience {
	return patience{min: c.settings.RetryMin, max: c.settings.RetryMax}
}

// failed counts a failure and returns the pause after it, at least what the
// service asked for. Half of it is chance, so that many bots do not come back
// at the same moment.
func (p *patience) failed(err error) time.Duration {
	pause := p.max
	if p.failures < 20 { // beyond, the shift would overflow
		pause = min(p.min<<p.failures, p.max)
	}
	p.failures++
	pause = pause/2 + rand.N(pause/2+1)
	if away, ok := errors.AsType[*awayError](err); ok {
		pause = max(pause, away.after)
	}
	return pause
}

// succeeded forgets the failures and returns how many there were.
func (p *patience) succeeded() int {
	failures := p.failures
	p.failures = 0
	return failures
}

// sleep waits; it returns false when ctx ended first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
