package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"standin/client"
)

// Exit codes, documented in docs/commands.md.
const (
	exitFailed       = 1
	exitUsage        = 2
	exitJobFailed    = 3 // the job ended as failed or cancelled
	exitNotVerified  = 3 // a webhook signature did not verify
	exitUnauthorized = 4 // not signed in, or the key was rejected
	exitNotFound     = 5
	exitNotReachable = 6 // the service does not answer
)

// errNotSignedIn is returned when there is no key to call the service with.
var errNotSignedIn = &hint{
	errors.New("not signed in: run standin login --url https://your.standin (with --with-key if you have a key), " +
		"or set STANDIN_URL and STANDIN_API_KEY"),
	exitUnauthorized, "",
}

// hint is an error with its own exit code and, unless it is empty, advice for the user.
type hint struct {
	error
	code   int
	advice string
}

func (h *hint) Unwrap() error { return h.error }

// explain returns the exit code of an error and advice for the user.
func explain(err error, command string) (code int, advice string) {
	var own *hint
	var apiErr *client.Error
	var dnsErr *net.DNSError
	var opErr *net.OpError
	switch {
	case errors.As(err, &own):
		return own.code, own.advice
	case errors.As(err, &apiErr):
		return explainAPIError(apiErr, command)
	case errors.As(err, new(*pgconn.ConnectError)):
		return exitFailed, "Check that PostgreSQL is running and that STANDIN_DATABASE_URL is correct."
	case !errors.Is(err, client.ErrNotReached):
		return exitFailed, ""
	case errors.As(err, &dnsErr):
		return exitNotReachable, "The host was not found. Check --url or STANDIN_URL."
	case errors.As(err, &opErr) && opErr.Op == "dial":
		return exitNotReachable, "Check that the service is running and that --url or STANDIN_URL is correct."
	}
	return exitFailed, ""
}

// explainAPIError is explain for an error response of the API.
func explainAPIError(apiErr *client.Error, command string) (code int, advice string) {
	switch apiErr.Status {
	case http.StatusUnauthorized:
		return exitUnauthorized, "The key was revoked or belongs to another service. Run standin login again, or set another STANDIN_API_KEY."
	case http.StatusNotFound:
		if strings.HasPrefix(command, "jobs ") || strings.HasPrefix(command, "recordings ") {
			return exitNotFound,
				"Run standin jobs list to see your jobs. Jobs of other teams are not visible, and live and test keys do not see each other's jobs."
		}
		return exitNotFound, ""
	case http.StatusConflict:
		if strings.Contains(apiErr.Message, "does not allow output") {
			return exitFailed, "Create the job with --allow-output."
		}
	case http.StatusTooManyRequests:
		if apiErr.RetryAfter > 0 {
			return exitFailed, fmt.Sprintf("Try again in %s.", apiErr.RetryAfter)
		}
	}
	return exitFailed, ""
}
