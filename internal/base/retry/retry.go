// Package retry has what loops wait with: a sleep that a context interrupts, a signal
// that ends a wait early, exponential backoff, and the pauses that servers ask for.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits until d has passed or ctx ends. It returns the context's error if
// ctx has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Backoff computes pauses that grow with consecutive failures: Min after the
// first one, then twice the previous pause, up to Max. Half of each pause is
// random, so that many clients do not retry at the same moment.
type Backoff struct {
	Min, Max time.Duration
	Failures int // since the last Reset
}

// Next counts a failure and returns the pause after it.
func (b *Backoff) Next() time.Duration {
	pause := b.Max
	if b.Failures < 20 { // more would overflow
		pause = min(b.Min<<b.Failures, b.Max)
	}
	b.Failures++
	return pause/2 + rand.N(pause/2+1)
}

// Reset forgets the failures and returns how many there were.
func (b *Backoff) Reset() int {
	failures := b.Failures
	b.Failures = 0
	return failures
}
