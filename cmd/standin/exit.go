package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"standin/client"
)

// Exit codes (docs/cli.md). A command that could not be understood is 2.
const (
	exitFailed    = 1
	exitMisread   = 2
	exitSignIn    = 4 // nobody is signed in, or the key is refused
	exitNotFound  = 5
	exitNoService = 6 // the service does not answer
)

// errNotSignedIn says that there is no key to call the service with.
var errNotSignedIn = errors.New("not signed in: run standin login --url https://your.standin (with --with-key if you have a key), or set STANDIN_URL and STANDIN_API_KEY")

// fail tells of an error, and what to do next where that is known. It returns
// the exit code.
func fail(ctx context.Context, err error, to io.Writer) int {
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		fmt.Fprintln(to, "standin:", exit)
		return exit.code
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exitFailed
	}
	fmt.Fprintln(to, "standin:", err)
	code, advice := whatNext(err)
	if advice != "" {
		fmt.Fprintln(to, advice)
	}
	return code
}

// whatNext is the exit code of an error, and what to do about it.
func whatNext(err error) (code int, advice string) {
	refused := (*client.Error)(nil)
	unreached := (*net.OpError)(nil)
	unresolved := (*net.DNSError)(nil)
	switch {
	case errors.Is(err, errNotSignedIn):
		return exitSignIn, ""
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.As(err, &unresolved):
		return exitNoService, "There is no such host. Compare --url, or STANDIN_URL, with the service's address."
	case errors.As(err, &unreached) && unreached.Op == "dial":
		return exitNoService, "Is the service running, and is its address right? See --url and STANDIN_URL."
	}
	return exitFailed, ""
}

// refusal is whatNext of an answer that says no.
func refusal(refused *client.Error) (code int, advice string) {
	switch refused.Status {
	case http.StatusUnauthorized:
		return exitSignIn, "The key was revoked, or is another service's. Run standin login again, or set another STANDIN_API_KEY."
	case http.StatusNotFound:
		return exitNotFound, "standin jobs list shows your jobs. A job of another consumer, or of your test key when you use a live one, is not found either."
	case http.StatusConflict:
		return exitFailed, "standin jobs get and standin jobs watch show where the job stands."
	case http.StatusTooManyRequests:
		if refused.RetryAfter > 0 {
			return exitFailed, fmt.Sprintf("Try again in %s.", refused.RetryAfter)
		}
	case http.StatusBadRequest:
		for _, issue := range refused.Issues {
			if len(issue.Path) > 0 && strings.Contains(fmt.Sprint(issue.Path[0]), "meetingUrl") {
				return exitFailed, "A meeting's address begins with https:// and names a host, as in https://meet.google.com/abc-defg-hij."
			}
		}
	}
	return exitFailed, ""
}
