package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"standin/api"
	"standin/internal/base/budget"
	"standin/internal/jobs/job"
	"standin/internal/server/httpmw"
)

// failure is an error of this package with its response.
type failure struct {
	status    int
	code      string
	message   string
	issues    []api.Issue
	challenge string // WWW-Authenticate of a 401 (RFC 9110, section 11.6.1)
}

func (f *failure) Error() string { return f.code + ": " + f.message }

// errorBody is the Error schema of api/openapi.yaml.
type errorBody struct {
	Error   string      `json:"error"`
	Message string      `json:"message,omitempty"`
	Issues  []api.Issue `json:"issues,omitempty"`
	DocURL  string      `json:"docUrl"`
}

// errorsPage is the part of the guide that explains the error codes.
const errorsPage = "/docs/guide/api.html#errors"

// invalid returns the error for a request with issues.
func invalid(issues []api.Issue) error {
	message := issues[0].Sentence()
	switch more := len(issues) - 1; {
	case more == 1:
		message += " There is 1 more issue."
	case more > 1:
		message += fmt.Sprintf(" There are %d more issues.", more)
	}
	return &failure{status: http.StatusBadRequest, code: string(job.InvalidInput), message: message, issues: issues}
}

func issue(code, message string, path ...any) []api.Issue {
	return []api.Issue{{Path: append([]any{}, path...), Message: message, Code: code}}
}

// unauthorized returns the error for missing or wrong credentials. The challenge is
// the WWW-Authenticate header.
func unauthorized(challenge, message string) error {
	return &failure{status: http.StatusUnauthorized, code: "unauthorized", challenge: challenge, message: message}
}

var errInvalidToken = unauthorized("Bearer", "Missing or invalid bot token.")

// methodNotAllowed refuses the methods of a path that has no operation for them.
func methodNotAllowed(allowed []string) handler {
	return func(r *apiRequest) error {
		r.Header().Set("Allow", strings.Join(allowed, ", "))
		return &failure{
			status: http.StatusMethodNotAllowed, code: "method_not_allowed",
			message: "Method not allowed; use " + strings.Join(allowed, " or ") + ".",
		}
	}
}

func noSuchPath(*apiRequest) error {
	return job.NewError(job.NotFound, "no such path")
}

func tooLarge(limit int64) error {
	return &failure{
		status: http.StatusRequestEntityTooLarge, code: "payload_too_large",
		message: fmt.Sprintf("The request body exceeds %d bytes.", limit),
	}
}

// bodyError returns the error for a body that could not be read to its end.
func bodyError(err error) error {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(large.Limit)
	}
	if errors.Is(err, budget.ErrFull) {
		return job.NewError(job.Unavailable, "the service is too busy for this request; try again")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{
			status: http.StatusRequestTimeout, code: "request_timeout",
			message: "The body arrived too slowly. Send at least 1 kB per second, and all of it within the time limit.",
		}
	}
	return invalid(issue(api.CodeInvalidJSON, "the body could not be read to its end"))
}

// fail responds with an error. The response to an internal error has only the
// id of the request.
func (r *apiRequest) fail(err error) {
	if !r.Fail(r.Request, err) {
		return
	}
	status, body, wait := r.errorResponse(err)
	if status == http.StatusUnauthorized {
		own := new(failure)
		errors.As(err, &own)
		r.Header().Set("WWW-Authenticate", cmp.Or(own.challenge, "Bearer"))
	}
	if wait > 0 {
		r.Header().Set("Retry-After", strconv.Itoa(httpmw.RetryAfterSeconds(wait)))
	}
	if status == http.StatusRequestTimeout {
		r.Header().Set("Connection", "close") // the rest of the body may still come
	} else {
		discardBody(r.Request)
	}
	r.writeJSON(status, body)
}

// failWithoutBody responds with an error where api/openapi.yaml describes no
// body.
func (r *apiRequest) failWithoutBody(status int, err error) error {
	r.Err = err
	discardBody(r.Request)
	r.WriteHeader(status)
	return nil
}

// errorResponse returns what a caller reads of an error, and how long he should wait.
func (r *apiRequest) errorResponse(err error) (int, errorBody, time.Duration) {
	docURL := r.api.BaseURL + errorsPage
	if own, ok := errors.AsType[*failure](err); ok {
		return own.status, errorBody{own.code, own.message, own.issues, docURL}, 0
	}
	known := r.Explain(err, r.api.Unavailable)
	body := errorBody{Error: known.Code, Message: known.Message, DocURL: docURL}
	if own, ok := errors.AsType[*job.Error](err); ok && own.Code == job.InvalidInput {
		code := "format"
		if len(own.Path) == 1 && own.Path[0] == "jobId" { // the job of a bot does not exist
			code = api.CodeUnknown
		}
		body.Issues = issue(code, own.Message, own.Path...)
	}
	return known.Status, body, known.Wait
}

// Bounds of the body that is read and discarded before an error response.
const (
	discardedByServer = 256 << 10 // net/http discards as much after the response
	maxDiscarded      = 16 << 20
)

// discardBody reads the rest of a long body. Otherwise the connection would be
// reset while the client still writes, and the client might never read the
// response.
func discardBody(r *http.Request) {
	if r.Body == nil || r.Header.Get("Expect") != "" || r.ContentLength >= 0 && r.ContentLength <= discardedByServer {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded) // errors do not change the response
}
