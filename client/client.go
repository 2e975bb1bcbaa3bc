// Package client is a Go client for the Standin API. It manages jobs, sends
// commands to bots, reads timelines and recordings, runs the device flow, and
// verifies webhooks. Every Standin serves the API reference at /docs.
//
//	standin, err := client.New("https://standin.example.com", apiKey)
//	job, err := standin.CreateJob(ctx, client.NewJob{ExternalID: "standup", MeetingURL: url})
//
// A Client is safe for concurrent use. It does not retry requests. Creating a job
// is idempotent by externalId and can be repeated. An *Error may have a
// RetryAfter.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxResponse bounds a JSON response. A page of 100 jobs with large metadata is
// smaller.
const maxResponse = 128 << 20

// Client calls the API of one service with one API key.
type Client struct {
	base  *url.URL
	key   string
	agent string
	http  *http.Client
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
	return &Client{base: base, key: apiKey, http: &http.Client{}}, nil
}

// WithUserAgent returns a client that sends a User-Agent. The page that authorizes
// a command line shows it.
func (c *Client) WithUserAgent(agent string) *Client {
	return &Client{base: c.base, key: c.key, agent: agent, http: c.http}
}

// WithHTTPClient returns a client that uses another http.Client, for example one
// with a proxy or a timeout.
func (c *Client) WithHTTPClient(own *http.Client) *Client {
	return &Client{base: c.base, key: c.key, agent: c.agent, http: own}
}

// BaseURL returns the URL of the service.
func (c *Client) BaseURL() string { return c.base.String() }

// Health returns nil when the service is running. It needs no key.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.call(ctx, request{method: http.MethodGet, path: []string{"healthz"}}, nil)
	return err
}

// Error is an error response of the API.
type Error struct {
	Status     int           // HTTP status code
	Code       string        // stable, in snake_case; empty when the response is not from the API
	Message    string        // for people; may be empty
	Issues     []Issue       // all issues of an invalid request
	RequestID  string        // identifies the request in the log of the service
	RetryAfter time.Duration // 0 when unknown
}

// Issue is an issue of an invalid request.
type Issue struct {
	Path    []any  `json:"path"` // field names, and numbers for array indexes
	Message string `json:"message"`
	Code    string `json:"code"` // JSON Schema keyword that failed
}

// Error returns the code, the message and every issue.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "the service responded with %d", e.Status)
	if e.Code != "" {
		text.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		text.WriteString(": " + e.Message)
	}
	for _, issue := range e.Issues {
		fmt.Fprintf(&text, "; %s: %s", issue.path(), issue.Message)
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&text, " (request %s)", e.RequestID)
	}
	return text.String()
}

// path returns the path with dots.
func (i Issue) path() string {
	if len(i.Path) == 0 {
		return "body"
	}
	parts := make([]string, 0, len(i.Path))
	for _, part := range i.Path {
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, ".")
}

// Is reports whether err is an *Error with the code.
func Is(err error, code string) bool {
	var own *Error
	return errors.As(err, &own) && own.Code == code
}

// request is an API request.
type request struct {
	method string
	path   []string // segments, escaped
	query  url.Values
	body   any // sent as JSON unless nil
	header http.Header
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
		return response.Header, nil
	}
	limited := io.LimitReader(response.Body, maxResponse)
	if err := json.NewDecoder(limited).Decode(out); err != nil {
		return nil, fmt.Errorf("read the response to %s %s: %w", req.method, response.Request.URL.Path, err)
	}
	return response.Header, nil
}

// send sends a request. An error response becomes an *Error.
func (c *Client) send(ctx context.Context, req request) (*http.Response, error) {
	var body io.Reader
	if req.body != nil {
		encoded, err := json.Marshal(req.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	for _, segment := range req.path {
		// These segments would change the path.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("%q is not a valid id or name", segment)
		}
	}
	target := c.base.JoinPath(req.path...)
	target.RawQuery = req.query.Encode()
	sent, err := http.NewRequestWithContext(ctx, req.method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("create the request: %w", err)
	}
	for name, values := range req.header {
		sent.Header[name] = values
	}
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	if c.agent != "" {
		sent.Header.Set("User-Agent", c.agent)
	}
	if c.key != "" {
		sent.Header.Set("Authorization", "Bearer "+c.key)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return nil, fmt.Errorf("call the service: %w", err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, responseError(response)
	}
	return response, nil
}

// responseError reads an error response.
func responseError(response *http.Response) *Error {
	const maxBody = 1 << 20
	apiError := &Error{Status: response.StatusCode, RequestID: response.Header.Get("x-request-id")}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		apiError.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body struct {
		Error   string  `json:"error"`
		Message string  `json:"message"`
		Issues  []Issue `json:"issues"`
	}
	// A body in another format, for example from a proxy, is ignored.
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&body); err == nil {
		apiError.Code, apiError.Message, apiError.Issues = body.Error, body.Message, body.Issues
	}
	return apiError
}
