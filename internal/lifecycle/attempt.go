package lifecycle

import (
	"context"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
)

// StartAttempt starts the job's next attempt, whose bot is launched by a node.
// reason is the reason for another attempt, for people; empty for the first. It
// returns false when the job's status does not allow it. If the recording was paused,
// the next bot pauses it too.
func (c *Change) StartAttempt(ctx context.Context, node, nodeName, reason string) (bool, error) {
	paused := c.Status == job.RecordingPaused || c.PreviousStatus == job.RecordingPaused
	if applied, err := c.applyAttemptStarted(ctx, nodeName, reason); err != nil || !applied {
		return false, err
	}
	if paused {
		if _, err := c.queueForConsumer(ctx, ingest.PauseRecording, nil); err != nil {
			return false, err
		}
	}
	c.Prelaunch = job.NotPrelaunched
	c.resetBot(node)
	return true, nil
}

// applyAttemptStarted applies the trigger AttemptStarted.
func (c *Change) applyAttemptStarted(ctx context.Context, nodeName, reason string) (bool, error) {
	data := map[string]string{}
	if reason != "" {
		data["reason"] = reason
	}
	if nodeName != "" {
		data["node"] = nodeName
	}
	result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.AttemptStarted}, data)
	return result.Applied, err
}

// resetBot removes what is known about the bot of an earlier attempt. The new
// one is launched by a node.
func (c *Change) resetBot(node string) {
	c.AttemptStartedAt, c.LaunchedAt, c.HeartbeatAt = c.Now, time.Time{}, time.Time{}
	c.LaunchFailures, c.LaunchError, c.BotLost, c.Node, c.Stats = 0, "", "", node, nil
}

// BotLaunched records that the bot of the current attempt was started, on which
// node, and how late.
func (c *Change) BotLaunched(ctx context.Context, nodeName string) error {
	data := map[string]any{"node": nodeName}
	if c.Attempts == 1 && !c.JoinAt.Before(c.CreatedAt) {
		data["lateMs"] = max(0, c.LaunchedAt.Sub(c.JoinAt).Milliseconds())
	}
	return c.addEntry(ctx, BotLaunched, data)
}

// BotLaunchFailed records that a node could not start the bot of the current attempt,
// and that the launch is tried again after a delay.
func (c *Change) BotLaunchFailed(ctx context.Context, nodeName string, failure error) error {
	c.LaunchFailures++
	c.LaunchError = failure.Error()
	if c.Prelaunch == job.Prelaunched { // its launch is not part of the job's history yet
		return nil
	}
	return c.addEntry(ctx, LaunchFailed, map[string]any{"node": nodeName, "detail": c.LaunchError})
}

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
		c.WakeAt = later(c.JoinAt, c.Now)
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
