// Package client is a Go client of Standin's public API: jobs, their control
// verbs, history and recordings, the device flow, and the verification of
// webhooks. The API's own reference is served at /docs of every Standin.
//
//	standin, err := client.New("https://standin.example.com", apiKey)
//	job, err := standin.CreateJob(ctx, client.NewJob{ExternalID: "standup", MeetingURL: url})
//
// A Client is safe for concurrent use. It retries nothing by itself: creating a
// job is idempotent by externalId and may simply be done again, and an error
// that says when to come back is an *Error with RetryAfter.
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

// largestAnswer bounds a JSON answer; a page of 100 jobs with large metadata
// stays below it.
const largestAnswer = 128 << 20

// Client calls one Standin with one API key.
type Client struct {
	base  *url.URL
	key   string
	agent string
	http  *http.Client
}

// New returns a client of the service at a base URL, such as
// https://standin.example.com. The key may be empty for the calls that need
// none.
func New(baseURL, apiKey string) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the address %q of the service is no http or https URL", baseURL)
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key holds characters that no key has")
	}
	return &Client{base: base, key: apiKey, http: &http.Client{}}, nil
}

// WithUserAgent makes the client name itself so, for example to the page that
// lets a command line in.
func (c *Client) WithUserAgent(agent string) *Client {
	return &Client{base: c.base, key: c.key, agent: agent, http: c.http}
}

// WithHTTPClient makes the client send its requests through another
// http.Client, for example one with a proxy or a time-out.
func (c *Client) WithHTTPClient(own *http.Client) *Client {
	return &Client{base: c.base, key: c.key, agent: c.agent, http: own}
}

// BaseURL returns the address of the service.
func (c *Client) BaseURL() string { return c.base.String() }

// Error is an answer that says no (specification, Errors).
type Error struct {
	Status     int           // of HTTP
	Code       string        // stable, in snake_case; empty when the answer had no body of the API's
	Message    string        // for people; may be empty
	Issues     []Issue       // what was wrong with a body, all at once
	RequestID  string        // names the request to the operator
	RetryAfter time.Duration // when to come back; 0 when the answer does not say
}

// Issue is one thing that was wrong with a request's body.
type Issue struct {
	Path    []any  `json:"path"` // names of fields, numbers for places in arrays
	Message string `json:"message"`
	Code    string `json:"code"` // the keyword of JSON Schema that does not hold
}

// Error tells the code, the message and every issue.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "the service answered %d", e.Status)
	if e.Code != "" {
		text.WriteString(" " + e.Code)
	}
	if e.Message != "" {
		text.WriteString(": " + e.Message)
	}
	for _, issue := range e.Issues {
		fmt.Fprintf(&text, "; %s: %s", issue.place(), issue.Message)
	}
	if e.Status >= http.StatusInternalServerError && e.RequestID != "" {
		fmt.Fprintf(&text, " (request %s)", e.RequestID)
	}
	return text.String()
}

// place writes the path as people do.
func (i Issue) place() string {
	if len(i.Path) == 0 {
		return "body"
	}
	parts := make([]string, 0, len(i.Path))
	for _, part := range i.Path {
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, ".")
}

// Is reports whether err is an answer of the service with that code.
func Is(err error, code string) bool {
	var answer *Error
	return errors.As(err, &answer) && answer.Code == code
}

// request is one call of the API.
type request struct {
	method string
	path   []string // segments, escaped
	query  url.Values
	body   any // sent as JSON unless nil
	header http.Header
}

// call sends a request and decodes the JSON answer into out, unless out is nil.
// It returns the answer's header.
func (c *Client) call(ctx context.Context, ask request, out any) (http.Header, error) {
	response, err := c.send(ctx, ask)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if out == nil {
		return response.Header, nil
	}
	limited := io.LimitReader(response.Body, largestAnswer)
	if err := json.NewDecoder(limited).Decode(out); err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", ask.method, response.Request.URL.Path, err)
	}
	return response.Header, nil
}

// send sends a request; an answer that says no is an *Error.
func (c *Client) send(ctx context.Context, ask request) (*http.Response, error) {
	var body io.Reader
	if ask.body != nil {
		encoded, err := json.Marshal(ask.body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	for _, segment := range ask.path {
		// As a part of a path these lead elsewhere.
		if segment == "" || segment == "." || segment == ".." {
			return nil, fmt.Errorf("%q is no id or name", segment)
		}
	}
	address := c.base.JoinPath(ask.path...)
	address.RawQuery = ask.query.Encode()
	sent, err := http.NewRequestWithContext(ctx, ask.method, address.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name, values := range ask.header {
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
		return nil, refusal(response)
	}
	return response, nil
}

// refusal reads an answer that says no.
func refusal(response *http.Response) *Error {
	const largest = 1 << 20
	answer := &Error{Status: response.StatusCode, RequestID: response.Header.Get("x-request-id")}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		answer.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body struct {
		Error   string  `json:"error"`
		Message string  `json:"message"`
		Issues  []Issue `json:"issues"`
	}
	// A body of another form, such as a proxy's page, leaves the status.
	if err := json.NewDecoder(io.LimitReader(response.Body, largest)).Decode(&body); err == nil {
		answer.Code, answer.Message, answer.Issues = body.Error, body.Message, body.Issues
	}
	return answer
}
