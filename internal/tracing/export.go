package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"standin/internal/retry"
)

const (
	maxResponse   = 64 << 10 // bytes of a response that are read, so that the connection is used again
	maxRetryAfter = 30 * time.Second
)

// batching configures the export.
type batching struct {
	queued   int           // spans that wait for their export
	size     int           // largest batch
	interval time.Duration // a smaller batch is exported after it
	timeout  time.Duration // of a request
	tries    int           // of a batch
	backoff  retry.Backoff
}

func defaultBatching() batching {
	return batching{
		queued: maxQueuedSpans, size: 512, interval: 5 * time.Second, timeout: 10 * time.Second, tries: 5,
		backoff: retry.Backoff{Min: time.Second, Max: 15 * time.Second},
	}
}

// newClient returns a client that does not follow redirects, which would pass
// the headers on.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = 2
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// exportSpans exports batches until Close, and then the rest of the queue.
func (t *Tracer) exportSpans() {
	ticker := time.NewTicker(t.batching.interval)
	defer ticker.Stop()
	var batch []span
	failing := false
	export := func() {
		if len(batch) == 0 {
			return
		}
		err := t.export(batch)
		switch {
		case err != nil && !failing:
			t.settings.Log.Warn("traces not exported; spans are dropped until the collector accepts them", "error", err)
		case err == nil && failing:
			t.settings.Log.Info("traces are exported again")
		}
		failing = err != nil
		batch = batch[:0]
	}
	add := func(s span) {
		if batch = append(batch, s); len(batch) >= t.batching.size {
			export()
		}
	}
	for {
		select {
		case s := <-t.spans:
			add(s)
		case <-ticker.C:
			export()
		case <-t.stopSpans:
			for {
				select {
				case s := <-t.spans:
					add(s)
					continue
				default:
				}
				break
			}
			export()
			return
		}
	}
}

// export sends a batch, with retries, and counts its spans.
func (t *Tracer) export(batch []span) error {
	body := encodeRequest(t.resource, t.settings.Version, batch)
	backoff := t.batching.backoff
	for try := 1; ; try++ {
		after, err := t.post(body)
		if err == nil {
			t.counted.WithLabelValues(resultExported).Add(float64(len(batch)))
			return nil
		}
		final := new(refusedError)
		if try == t.batching.tries || errors.As(err, &final) || retry.Sleep(t.ctx, max(after, backoff.Next())) != nil {
			t.drop(len(batch))
			return err
		}
	}
}

// refusedError is a response that repeating the request would not change.
type refusedError struct{ status string }

func (e *refusedError) Error() string { return "the collector answered " + e.status }

// post sends a request once. It returns the time that the collector asks to wait
// before the next one.
func (t *Tracer) post(body []byte) (retryAfter time.Duration, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.batching.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range t.settings.Headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("User-Agent", "standin")
	response, err := t.client.Do(request)
	if err != nil {
		if inURL := (*url.Error)(nil); errors.As(err, &inURL) {
			err = inURL.Err // without the URL
		}
		return 0, fmt.Errorf("the collector does not answer: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxResponse)) // only the status decides
	switch {
	case response.StatusCode/100 == 2:
		return 0, nil
	case slices.Contains(retryableStatuses(), response.StatusCode):
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // absent, or a date: the backoff decides
		return min(time.Duration(max(0, seconds))*time.Second, maxRetryAfter), fmt.Errorf("the collector answered %s", response.Status)
	}
	return 0, &refusedError{status: response.Status}
}

// retryableStatuses returns the statuses after which OTLP requires a retry.
func retryableStatuses() []int {
	return []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
}
