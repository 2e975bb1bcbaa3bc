package serviceclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// backoff computes pauses that grow with consecutive failures.
type backoff struct {
	min, max time.Duration
	failures int
}

func (c *Client) newBackoff() backoff {
	return backoff{min: c.settings.RetryMin, max: c.settings.RetryMax}
}

// next counts a failure and returns the pause after it, at least the one that
// the service asked for. Half of it is random, so that bots do not retry at the
// same moment.
func (b *backoff) next(err error) time.Duration {
	pause := b.max
	if b.failures < 20 { // more would overflow
		pause = min(b.min<<b.failures, b.max)
	}
	b.failures++
	pause = pause/2 + rand.N(pause/2+1)
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		pause = max(pause, unavailable.retryAfter)
	}
	return pause
}

// reset forgets the failures and returns how many there were.
func (b *backoff) reset() int {
	failures := b.failures
	b.failures = 0
	return failures
}

// sleep returns false if ctx ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
