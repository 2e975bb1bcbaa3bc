package retry

import (
	"context"
	"time"
)

// Signal wakes a loop that waits for work: receive from it, or call Wait. Signals that
// the loop has not received yet are merged into one.
type Signal chan struct{}

// NewSignal returns a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// Send wakes the loop, now or when it waits next. It does not block.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default: // it has a signal already
	}
}

// Wait waits for a signal, until d has passed, or until ctx ends.
func (s Signal) Wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s:
	case <-timer.C:
	case <-ctx.Done():
	}
}
