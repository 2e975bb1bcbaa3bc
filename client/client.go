// Package client is a Go client for the Standin API. It manages jobs, sends
// commands to bots, reads timelines and recordings, runs the device flow, and
// verifies webhooks. Every Standin serves the API reference at /docs.
//
//	standin, err := client.New("https://standin.example.com", apiKey)
//	job, err := standin.CreateJob(ctx, client.NewJob{ExternalID: "standup", MeetingURL: url})
//
// A Client is safe for concurrent use. It repeats requests that failed for a
// reason that passes, twice by default; see WithRetries. Limit the time of a call
// with its context.
package client

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// maxResponse bounds a JSON response. A page of 100 jobs with large metadata is
// smaller.
const maxResponse = 128 << 20

// Version is the version of this package.
const Version = "0.1.0"

// Client calls the API of one service with one API key.
type Client struct {
	base    *url.URL
	key     string
	agent   string
	http    *http.Client
	retries int
	log     *slog.Logger
	page    *Page
}

// New returns a client for the service at a base URL, for example
// https://standin.example.com. The key may be empty for calls that need none.
func New(baseURL, apiKey string) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the service URL %q is not an http or https URL", baseURL)
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key contains invalid characters")
	}
	return &Client{
		base: base, key: apiKey, agent: "standin-go/" + Version, http: &http.Client{}, retries: 2,
		log: slog.New(slog.DiscardHandler),
	}, nil
}

// FromEnvironment returns a client with the environment variables STANDIN_URL and STANDIN_API_KEY.
func FromEnvironment() (*Client, error) {
	return New(os.Getenv("STANDIN_URL"), os.Getenv("STANDIN_API_KEY"))
}

// WithLogger returns a client that logs each response at the level debug, and each request that it
// repeats as a warning.
func (c Client) WithLogger(log *slog.Logger) *Client {
	c.log = log
	return &c
}

// WithUserAgent returns a client that sends a User-Agent. The page that authorizes
// a command line shows it.
func (c Client) WithUserAgent(agent string) *Client {
	c.agent = agent
	return &c
}

// WithHTTPClient returns a client that uses another http.Client, for example one
// with a proxy or a timeout.
func (c Client) WithHTTPClient(own *http.Client) *Client {
	c.http = own
	return &c
}

// WithRetries returns a client that repeats a failed request up to n times. The
// default is 2.
//
// A request is repeated after a 408, a 429, a status from 500 on, or a failed
// connection. One with the method POST has an Idempotency-Key, so that the service
// executes it once. The pause is what Retry-After says, up to a minute, else half a
// second that doubles each time.
func (c Client) WithRetries(n int) *Client {
	c.retries = n
	return &c
}

// BaseURL returns the URL of the service.
func (c *Client) BaseURL() string { return c.base.String() }

// Health returns nil when the service is running. It needs no key.
func (c *Client) Health(ctx context.Context) error {
	body, err := c.open(ctx, request{path: []string{"healthz"}})
	if err != nil {
		return err
	}
	return body.Close()
}

// Error is an error response of the API.
type Error struct {
	Status     int           `json:"-"`       // HTTP status code
	Code       string        `json:"error"`   // stable, in snake_case; empty when the response is not from the API
	Message    string        `json:"message"` // for people; may be empty
	Issues     []Issue       `json:"issues"`  // all issues of an invalid request
	RequestID  string        `json:"-"`       // identifies the request in the log of the service
	RetryAfter time.Duration `json:"-"`       // 0 when unknown
}

// ErrNotReached is returned when the service does not respond.
var ErrNotReached = errors.New("call the service")

// ErrResponse is returned when a response is not one of the API, for example the page of a proxy.
var ErrResponse = errors.New("the response is not one of the API")

// Issue is an issue of an invalid request.
type Issue struct {
	Path    []any  `json:"path"` // field names, and numbers for array indexes
	Message string `json:"message"`
	Code    string `json:"code"` // JSON Schema keyword that failed
}

// Error returns the code, the message, and every issue if there are several. The message is the
// sentence of a single one.
func (e *Error) Error() string {
	text := strings.TrimSpace(fmt.Sprint("the service responded with ", e.Status, " ", e.Code))
	if e.Message != "" {
		text += ": " + e.Message
	}
	if len(e.Issues) > 1 || e.Message == "" {
		for _, issue := range e.Issues {
			path := strings.ReplaceAll(strings.Trim(fmt.Sprint(issue.Path), "[]"), " ", ".")
			text += "; " + cmp.Or(path, "body") + ": " + issue.Message
		}
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Is reports whether err is an *Error with the code.
func Is(err error, code string) bool {
	var own *Error
	return errors.As(err, &own) && own.Code == code
}

// request is an API request.
type request struct {
	method     string   // GET if empty
	path       []string // segments, escaped
	query      url.Values
	body       any    // sent as JSON unless nil
	content    []byte // sent as it is instead, unless nil
	token      string // sent instead of the API key, unless empty
	header     http.Header
	idempotent bool // although it is a POST without an Idempotency-Key
}

// call sends a request and decodes the JSON response into out, unless out is nil.
// It returns the headers of the response.
func (c *Client) call(ctx context.Context, req request, out any) (http.Header, error) {
	response, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if out == nil {
		out = new(json.RawMessage)
	}
	limited := io.LimitReader(response.Body, maxResponse)
	if err := json.NewDecoder(limited).Decode(out); err != nil && response.StatusCode != http.StatusNoContent {
		return nil, fmt.Errorf("%s %s: %w: %w", response.Request.Method, response.Request.URL.Path, ErrResponse, err)
	}
	return response.Header, nil
}

// open sends a request and returns the body of the response, which the caller closes.
func (c *Client) open(ctx context.Context, req request) (io.ReadCloser, error) {
	response, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// fetch sends a request to a path of the API, with a body unless it is nil, and returns the JSON response.
func fetch[T any](ctx context.Context, c *Client, method string, body any, path ...string) (out T, err error) {
	_, err = c.call(ctx, request{method: method, path: apiPath(path...), body: body}, &out)
	return out, err
}

// get returns the JSON at a path of the API.
func get[T any](ctx context.Context, c *Client, path ...string) (T, error) {
	return fetch[T](ctx, c, http.MethodGet, nil, path...)
}

// remove sends a DELETE request to a path of the API.
func (c *Client) remove(ctx context.Context, path ...string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: apiPath(path...)}, nil)
	return err
}

// apiPath returns a path of the API. It escapes the segments, so that an id cannot change the path.
func apiPath(segments ...string) []string {
	path := []string{"api", "v1"}
	for _, segment := range segments {
		path = append(path, url.PathEscape(segment))
	}
	return path
}

// parameters returns the query with the values that are not empty.
func parameters(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// queryTime returns a time as a query parameter; empty for the zero time.
func queryTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// send sends a request, and again if that may help. An error response becomes an
// *Error.
func (c *Client) send(ctx context.Context, req request) (*http.Response, error) {
	if req.body != nil {
		encoded, err := json.Marshal(req.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		req.content = encoded
	}
	for _, segment := range req.path {
		// These segments would change the path.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("%q is not a valid id or name", segment)
		}
	}
	if req.method == http.MethodPost && !req.idempotent && c.key != "" {
		req.header, req.idempotent = http.Header{"Idempotency-Key": {crand.Text()}}, true
	}
	for attempt := 0; ; attempt++ {
		response, err := c.sendOnce(ctx, req)
		if err == nil {
			return response, nil
		}
		pause, again := req.retry(err, attempt)
		if !again || attempt >= c.retries {
			return nil, err
		}
		c.log.WarnContext(ctx, "request failed, trying again", "path", strings.Join(req.path, "/"), "pause", pause, "error", err)
		if sleep(ctx, pause) != nil {
			return nil, err
		}
	}
}

// sendOnce sends a request.
func (c *Client) sendOnce(ctx context.Context, req request) (*http.Response, error) {
	var body io.Reader
	if req.content != nil {
		body = bytes.NewReader(req.content)
	}
	target := c.base.JoinPath(req.path...)
	target.RawQuery = req.query.Encode()
	sent, err := http.NewRequestWithContext(ctx, req.method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("create the request: %w", err)
	}
	maps.Copy(sent.Header, req.header)
	if req.body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	sent.Header.Set("User-Agent", c.agent)
	if token := cmp.Or(req.token, c.key); token != "" {
		sent.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotReached, err)
	}
	c.log.DebugContext(ctx, "response", "method", sent.Method, "path", target.Path, "status", response.StatusCode)
	if response.StatusCode < http.StatusBadRequest {
		return response, nil
	}
	defer response.Body.Close()
	const maxBody = 1 << 20
	apiError := &Error{Status: response.StatusCode, RequestID: response.Header.Get("x-request-id")}
	after := response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil {
		apiError.RetryAfter = max(0, time.Duration(seconds)*time.Second)
	} else if at, err := http.ParseTime(after); err == nil {
		apiError.RetryAfter = max(0, time.Until(at))
	}
	// A body in another format, for example from a proxy, is ignored.
	_ = json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(apiError)
	return nil, apiError
}

// longestWait is the longest pause that is accepted from Retry-After.
const longestWait = time.Minute

// retry returns whether sending the request again can help after an error, and the
// pause before it.
func (r request) retry(err error, attempt int) (time.Duration, bool) {
	var refused *Error
	if errors.As(err, &refused) {
		switch {
		case refused.RetryAfter > longestWait:
			return 0, false
		case refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable: // nothing was done
			return cmp.Or(refused.RetryAfter, backoff(attempt)), true
		case refused.Status < http.StatusInternalServerError && refused.Status != http.StatusRequestTimeout:
			return 0, false
		}
	}
	return backoff(attempt), r.idempotent || r.method != http.MethodPost
}

// backoff returns a pause that doubles with each attempt, starting with 0. Half of
// it is random, so that many clients do not return at the same moment.
func backoff(attempt int) time.Duration {
	pause := min(500*time.Millisecond<<min(attempt, 10), 8*time.Second)
	return pause/2 + rand.N(pause/2) //nolint:gosec // a pause is not secret
}

// sleep waits, and returns an error if the context ends first.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
