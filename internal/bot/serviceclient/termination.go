package serviceclient

import (
	"sync"

	"standin/internal/jobs/job"
)

// Termination is why the service no longer wants the bot, which should leave its
// meeting at once.
type Termination struct {
	Cause  Cause
	Status job.Status // the job's status, if known
	Detail string     // an explanation for people
}

// Cause is the kind of a Termination.
type Cause string

// The causes. After the first two the client still delivers the spool; after
// Refused nothing can be delivered, and Run returns.
const (
	Stale   Cause = "stale_attempt" // a newer attempt has replaced this one
	Ended   Cause = "job_ended"     // the job is completed or failed
	Refused Cause = "refused"       // the token or the job is unknown
)

// end holds the first termination, and the refusal if there is one.
type end struct {
	mutex       sync.Mutex
	done        chan struct{}
	termination Termination
	refused     chan struct{}
	refusal     error // set before refused is closed
}

// checkTermination reads a response. A canceled job does not terminate the bot:
// a command makes it leave, and its recording is kept.
func (c *Client) checkTermination(reason job.Reason, status job.Status) {
	switch {
	case reason == job.StaleAttempt:
		c.terminate(Termination{Cause: Stale, Status: status, Detail: "another attempt has replaced this one"})
	case status.Terminal() && status != job.Cancelled:
		c.terminate(Termination{Cause: Ended, Status: status, Detail: "the job is " + string(status)})
	}
}

// refuse terminates the bot for a refusal of every request, and returns it.
func (c *Client) refuse(refusal *RefusedError) error {
	c.terminate(Termination{Cause: Refused, Detail: refusal.Error()})
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	if c.end.refusal == nil {
		c.end.refusal = refusal
		close(c.end.refused)
	}
	return refusal
}

func (c *Client) terminate(t Termination) {
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	if c.end.termination.Cause != "" {
		return
	}
	c.end.termination = t
	close(c.end.done)
	c.log.Info("the service no longer wants this bot", "cause", t.Cause, "status", t.Status, "detail", t.Detail)
}
