package retry

import (
	"context"
	"sync"
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

// Broadcast wakes all goroutines that wait for a change. A nil Broadcast wakes nobody. It is
// safe for concurrent use.
type Broadcast struct {
	mu   sync.Mutex
	next chan struct{}
}

// Next returns a channel that is closed at the next change.
func (b *Broadcast) Next() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

// Announce reports a change.
func (b *Broadcast) Announce() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}
