package serviceclient

import (
	"fmt"
	"net/http"
	"sync"

	"standin/internal/job"
)

// Verdict says why the service wants no more of this bot: the bot should leave
// its meeting at once.
type Termination struct {
	Cause  Cause
	Status job.Status // of the job, as far as it was told
	Detail string     // for people
}

// Cause is the kind of a verdict.
type Cause string

// The causes. After the first two the channel goes on delivering what is in
// the spool; after Refused nothing can be delivered any more, and Run ends.
const (
	Stale   Cause = "stale_attempt" // a newer attempt has taken over
	Ended   Cause = "job_ended"     // the job is completed or failed
	Refused Cause = "refused"       // credentials or job are not known (any more)
)

// RefusedError is the service's own word that it will never take a request.
type RefusedError struct {
	Status  int    // HTTP
	Code    string // error code of the body (specification, Errors)
	Message string

	unknownJob bool // the fault is the job's id
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the service refuses: %d %s: %s", e.Status, e.Code, e.Message)
}

// forGood reports whether the refusal is not of one message but of the bot:
// its credentials or its job are not known. The job's id is at fault when it
// names no job (contract, State machine).
func (e *RefusedError) forGood() bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusGone:
		return true
	}
	return e.unknownJob
}

// end keeps the first verdict, and the refusal when there is one.
type end struct {
	mutex   sync.Mutex
	done    chan struct{}
	verdict Termination
	refused chan struct{}
	refusal error // set before refused is closed
}

func newEnd() end { return end{done: make(chan struct{}), refused: make(chan struct{})} }

// Done is closed when there is a verdict.
func (c *Client) Done() <-chan struct{} { return c.end.done }

// Verdict returns the first verdict; it is empty until Done is closed.
func (c *Client) Termination() Termination {
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	return c.end.verdict
}

// judge looks for a verdict in an answer. A cancelled job is none: its bot is
// told to leave by command, and what it captured is kept (contract, Jobs).
func (c *Client) judge(reason job.Reason, status job.Status) {
	switch {
	case reason == job.StaleAttempt:
		c.conclude(Termination{Cause: Stale, Status: status, Detail: "another attempt has taken over"})
	case status.Terminal() && status != job.Cancelled:
		c.conclude(Termination{Cause: Ended, Status: status, Detail: "the job is " + string(status)})
	}
}

// refuse concludes with a refusal that holds for every request, and returns it.
func (c *Client) refuse(refusal *RefusedError) error {
	c.conclude(Termination{Cause: Refused, Detail: refusal.Error()})
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	if c.end.refusal == nil {
		c.end.refusal = refusal
		close(c.end.refused)
	}
	return refusal
}

func (c *Client) conclude(verdict Termination) {
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	if c.end.verdict.Cause != "" {
		return
	}
	c.end.verdict = verdict
	close(c.end.done)
	c.log.Info("the service wants no more of this bot", "cause", string(verdict.Cause), "status", string(verdict.Status), "detail", verdict.Detail)
}
