package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"standin/api"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/job"
)

// failure is an error with its answer: what this package finds out by itself.
type failure struct {
	status     int
	code       string
	message    string
	issues     []api.Issue
	challenge  string        // of a 401, when it is not the usual one
	retryAfter time.Duration // of a 429
}

func (f *failure) Error() string { return f.code + ": " + f.message }

// errorBody is the Error of the specification.
type errorBody struct {
	Error   string      `json:"error"`
	Message string      `json:"message,omitempty"`
	Issues  []api.Issue `json:"issues,omitempty"`
}

// invalid is the failure of a request with issues.
func invalid(issues []api.Issue) error {
	first := issues[0]
	place := make([]string, len(first.Path))
	for i, segment := range first.Path {
		place[i] = fmt.Sprint(segment)
	}
	sentence := strings.TrimSpace(strings.Join(place, ".") + " " + first.Message)
	message := "The request has an issue: " + sentence + "."
	if len(issues) > 1 {
		message = fmt.Sprintf("The request has %d issues; the first: %s.", len(issues), sentence)
	}
	return &failure{
		status: http.StatusBadRequest, code: string(job.InvalidInput), message: message, issues: issues,
	}
}

func issue(code, message string, path ...any) []api.Issue {
	return []api.Issue{{Path: path, Message: message, Code: code}}
}

func unauthorized() error {
	return &job.Error{Code: job.Unauthorized, Message: "The credentials are missing or not valid."}
}

func limited(retryAfter time.Duration) error {
	seconds := ratelimit.RetryAfterSeconds(retryAfter)
	message := fmt.Sprintf("Too many requests. Try again in %d seconds.", seconds)
	if seconds == 1 {
		message = "Too many requests. Try again in a second."
	}
	return &failure{
		status: http.StatusTooManyRequests, code: "rate_limited", message: message, retryAfter: retryAfter,
	}
}

func tooLarge(limit int64) error {
	return &failure{
		status: http.StatusRequestEntityTooLarge, code: "payload_too_large",
		message: fmt.Sprintf("The body may be %d bytes long.", limit),
	}
}

// bodyError is the failure of a body that could not be read to its end.
func bodyError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &failure{status: http.StatusRequestTimeout, code: "request_timeout", message: "The body did not arrive in time."}
	}
	return invalid(issue(api.CodeInvalidJSON, "the body could not be read to its end"))
}

// fail answers an error: the caller's own as it is, any other as an internal
// one of which only the request's id is told.
func (a *API) fail(x *exchange, r *http.Request, err error) {
	x.err = err
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		x.status = statusClientGone
		return
	}
	status, body := answerTo(err, x.id)
	var own *failure
	errors.As(err, &own)
	switch status {
	case http.StatusUnauthorized:
		challenge := "Bearer" // RFC 9110, section 11.6.1
		if own != nil {
			challenge = own.challenge
		}
		x.Header().Set("WWW-Authenticate", challenge)
	case http.StatusTooManyRequests:
		x.Header().Set("Retry-After", strconv.Itoa(ratelimit.RetryAfterSeconds(own.retryAfter)))
	}
	if status == http.StatusRequestTimeout {
		x.Header().Set("Connection", "close") // what is left of the body may still come
	} else {
		discardBody(r)
	}
	a.writeJSON(x, status, body)
}

// failWithoutBody answers an error where the specification has no body.
func (a *API) failWithoutBody(w http.ResponseWriter, r *http.Request, status int, err error) {
	exchangeOf(r).err = err
	discardBody(r)
	w.WriteHeader(status)
}

// answerTo is the status and body with which an error is answered.
func answerTo(err error, requestID string) (int, errorBody) {
	if own := (*failure)(nil); errors.As(err, &own) {
		return own.status, errorBody{Error: own.code, Message: own.message, Issues: own.issues}
	}
	if own := (*job.Error)(nil); errors.As(err, &own) {
		switch own.Code {
		case job.InvalidInput:
			return http.StatusBadRequest, errorBody{
				Error: string(own.Code), Message: own.Message,
				Issues: issue(domainCode(own.Path), own.Message, pathOrEmpty(own.Path)...),
			}
		case job.Unauthorized:
			return http.StatusUnauthorized, errorBody{Error: string(own.Code), Message: own.Message}
		case job.NotFound:
			return http.StatusNotFound, errorBody{Error: string(own.Code), Message: own.Message}
		case job.InvalidState:
			return http.StatusConflict, errorBody{Error: string(own.Code), Message: own.Message}
		}
	}
	return http.StatusInternalServerError, errorBody{
		Error:   "internal_server_error",
		Message: "Something went wrong on our side. Quote " + requestID + " when you report it.",
	}
}

// domainCode is the code of an issue that the domain found and no schema: that
// a bot's job does not exist, or that a value has not the form it must have.
func domainCode(path []any) string {
	if len(path) == 1 && path[0] == "jobId" {
		return api.CodeUnknown
	}
	return "format"
}

// pathOrEmpty keeps an issue's path from being null on the wire.
func pathOrEmpty(path []any) []any {
	if path == nil {
		return []any{}
	}
	return path
}

// Bounds of what is read and thrown away before an error is answered.
const (
	discardedByServer = 256 << 10 // net/http itself reads as much after the answer
	maxDiscarded      = 16 << 20
)

// discardBody reads what is left of a long body. Without it the connection
// would be reset while the client still writes, and the client might never
// see the answer.
func discardBody(r *http.Request) {
	if r.Body == nil || r.Header.Get("Expect") != "" || r.ContentLength >= 0 && r.ContentLength <= discardedByServer {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDiscarded) // the answer is the same whatever is left
}
