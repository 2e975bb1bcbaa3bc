package lifecycle

import (
	"context"
	"time"

	"standin/internal/job"
)

// BeginPrelaunch records that a node is about to launch the job's bot before
// joinAt. It returns false when the job cannot have such a bot.
func (c *Change) BeginPrelaunch(node string) bool {
	if c.Status != job.Scheduled || c.Prelaunch != job.NotPrelaunched {
		return false
	}
	c.Prelaunch = job.Prelaunched
	c.resetBot(node)
	return true
}

// StartPrelaunched starts the first attempt with the prelaunched bot. It returns
// false when there is none.
func (c *Change) StartPrelaunched(ctx context.Context) (bool, error) {
	if c.Prelaunch != job.Prelaunched {
		return false, nil
	}
	name, err := c.tx.NodeName(ctx, c.Node)
	if err != nil {
		return false, err
	}
	if applied, err := c.applyAttemptStarted(ctx, name, ""); err != nil || !applied {
		return false, err
	}
	c.Prelaunch, c.AttemptStartedAt = job.NotPrelaunched, c.Now
	if c.LaunchedAt.IsZero() {
		return true, nil // recorded when it is launched
	}
	return true, c.BotLaunched(ctx, name)
}

// EndPrelaunch records that the bot of a withdrawn prelaunch was stopped.
func (c *Change) EndPrelaunch() {
	c.Prelaunch = job.NotPrelaunched
	c.resetBot("")
	c.AttemptStartedAt = time.Time{}
	c.WakeAt = c.Now
	if undispatched(c.Status) {
		c.WakeAt = laterOf(c.JoinAt, c.Now)
	}
}

// WithdrawPrelaunch takes a prelaunched bot back because the job has changed. The
// bot's token is void from now on, and the dispatcher stops the bot.
func (c *Change) WithdrawPrelaunch() {
	switch c.Prelaunch {
	case job.Prelaunched:
		c.Prelaunch = job.PrelaunchWithdrawn
		c.Attempt++
	case job.PrelaunchSkipped:
		c.Prelaunch = job.NotPrelaunched // the reason may be gone
	}
	if c.Prelaunch == job.PrelaunchWithdrawn && c.Lease == "" {
		c.WakeAt = c.Now // a dispatcher that has leased the job notices the new attempt number itself
	}
}

// beforeStart reports whether the job has a prelaunched bot that may not report
// anything yet.
func (c *Change) beforeStart() bool {
	return c.Prelaunch == job.Prelaunched && c.Now.Before(c.JoinAt)
}
