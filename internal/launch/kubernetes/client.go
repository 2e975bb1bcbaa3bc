package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"standin/internal/retry"
)

// Rate limit of requests to the cluster: enough to launch the bots of a full
// hour at once.
const (
	requestsPerSecond = 200
	requestBurst      = 400
)

const (
	maxResponse    = 256 << 20 // bytes of a response; a list of ten thousand pods has about 100 MB
	maxRetries     = 10        // of a request that the cluster asks to repeat later
	maxRetryAfter  = 10 * time.Second
	mergePatchType = "application/merge-patch+json"
)

// statusError is an error that the cluster responded with.
type statusError struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (e *statusError) Error() string { return e.Message }

// isReason reports whether the cluster responded with one of the reasons.
func isReason(err error, reasons ...string) bool {
	status := (*statusError)(nil)
	return errors.As(err, &status) && slices.Contains(reasons, status.Reason)
}

func isNotFound(err error) bool { return isReason(err, "NotFound") }

// client is a client of a cluster's API.
type client struct {
	config    *Config
	namespace string
	http      *http.Client
	limiter   *rate.Limiter
}

// newClient returns a client, without connecting.
func newClient(config *Config, namespace string) (*client, error) {
	if config == nil {
		return nil, errors.New("the Kubernetes cluster is not set")
	}
	return &client{
		config: config, namespace: namespace, http: &http.Client{Transport: config.transport(), CheckRedirect: noRedirect},
		limiter: rate.NewLimiter(requestsPerSecond, requestBurst),
	}, nil
}

// noRedirect is used because the API server does not redirect.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// path returns the path of a resource, or of an object of it, in the namespace.
func (c *client) path(resource string, name ...string) string {
	root := "/api/v1"
	if resource == "jobs" {
		root = "/apis/" + batchVersion
	}
	return strings.Join(append([]string{root, "namespaces", url.PathEscape(c.namespace), resource}, name...), "/")
}

// create creates an object. The cluster refuses unknown fields.
func (c *client) create(ctx context.Context, path string, body object, into any) error {
	return c.do(ctx, http.MethodPost, path+"?fieldValidation=Strict", "application/json", body, into)
}

func (c *client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, into)
}

// patch changes an object by a JSON merge patch (RFC 7396).
func (c *client) patch(ctx context.Context, path string, body object) error {
	return c.do(ctx, http.MethodPatch, path, mergePatchType, body, nil)
}

// delete deletes an object with the options of a DeleteOptions object.
func (c *client) delete(ctx context.Context, path string, options object) error {
	return c.do(ctx, http.MethodDelete, path, "application/json", options, nil)
}

// do sends a request and decodes the response into a value that is not nil. It
// repeats requests that the cluster asks to repeat.
func (c *client) do(ctx context.Context, method, path, contentType string, body object, into any) error {
	for retries := 0; ; retries++ {
		response, err := c.send(ctx, method, path, contentType, body)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
		_ = response.Body.Close() // only read
		switch {
		case err != nil:
			return err
		case len(content) > maxResponse:
			return fmt.Errorf("the response has more than %d MB", maxResponse>>20)
		}
		if response.StatusCode/100 == 2 {
			if into == nil {
				return nil
			}
			return json.Unmarshal(content, into)
		}
		after, mayRetry := retryAfter(response)
		if !mayRetry || retries == maxRetries {
			return responseError(response, content)
		}
		if err := retry.Sleep(ctx, after); err != nil {
			return responseError(response, content)
		}
	}
}

// send sends a request.
func (c *client) send(ctx context.Context, method, path, contentType string, body object) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.config.Host+path, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "standin")
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if err := c.authorize(request); err != nil {
		return nil, err
	}
	if err := c.limiter.Wait(ctx); err != nil {
		return nil, err
	}
	return c.http.Do(request)
}

// authorize adds the bearer token to a request.
func (c *client) authorize(request *http.Request) error {
	token := c.config.Token
	if c.config.TokenFile != "" {
		content, err := os.ReadFile(c.config.TokenFile)
		if err != nil {
			return fmt.Errorf("read the token of the service's account: %w", err)
		}
		token = strings.TrimSpace(string(content))
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// retryAfter returns when a response asks to repeat the request; false if it does
// not ask so.
func retryAfter(response *http.Response) (time.Duration, bool) {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return 0, false
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0, false
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter), true
}

// responseError returns the error of a response. The API server responds with a
// Status object, proxies before it with anything.
func responseError(response *http.Response, content []byte) error {
	status := new(statusError)
	if err := json.Unmarshal(content, status); err != nil || status.Message == "" {
		status.Message = strings.TrimSpace(response.Status + " " + string(content))
	}
	status.Code = response.StatusCode
	return status
}

// watchEvent is an event of a watch.
type watchEvent struct {
	Type   string          `json:"type"` // ADDED, MODIFIED, DELETED, BOOKMARK or ERROR
	Object json.RawMessage `json:"object"`
}

// watch reports the changes of the objects that the query selects until the
// cluster ends the watch, which is no error, or report returns an error.
func (c *client) watch(ctx context.Context, path string, query url.Values, report func(watchEvent) error) error {
	query.Set("watch", "true")
	response, err := c.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // a part of the message is still useful
		return responseError(response, content)
	}
	decoder := json.NewDecoder(response.Body)
	for {
		var event watchEvent
		if decoder.Decode(&event) != nil {
			return nil // timed out or disconnected
		}
		if event.Type == "ERROR" {
			status := new(statusError)
			if err := json.Unmarshal(event.Object, status); err != nil {
				return err
			}
			return status
		}
		if err := report(event); err != nil {
			return err
		}
	}
}
