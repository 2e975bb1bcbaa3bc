package serviceclient

import (
	"errors"
	"time"

	"standin/internal/retry"
)

func (c *Client) newBackoff() retry.Backoff {
	return retry.Backoff{Min: c.settings.RetryMin, Max: c.settings.RetryMax}
}

// pauseAfter counts a failure and returns the pause after it, at least the one
// that the service asked for.
func pauseAfter(err error, backoff *retry.Backoff) time.Duration {
	pause := backoff.Next()
	if unavailable, ok := errors.AsType[*unavailableError](err); ok {
		pause = max(pause, unavailable.retryAfter)
	}
	return pause
}
