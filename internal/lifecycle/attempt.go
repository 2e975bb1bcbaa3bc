package lifecycle

import (
	"context"
	"time"

	"standin/internal/job"
)

// StartAttempt starts the job's next attempt, whose bot is launched by a node.
// reason is the reason for another attempt, for people; empty for the first. It
// returns false when the job's status does not allow it.
func (c *Change) StartAttempt(ctx context.Context, node, nodeName, reason string) (bool, error) {
	if applied, err := c.applyAttemptStarted(ctx, nodeName, reason); err != nil || !applied {
		return false, err
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
	c.LaunchFailures, c.LaunchError, c.Node, c.Stats = 0, "", node, nil
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
