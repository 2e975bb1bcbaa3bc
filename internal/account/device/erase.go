package device

import (
	"context"
	"time"
)

// retryDelay is how long Run waits after the database failed it.
const retryDelay = time.Second

// Run erases each flow when it ends, and at its start those that ended while
// nothing ran, until ctx ends. It sleeps until the next end. Flows made while
// it sleeps, by this node or another, wake nobody: all live equally long, so
// none of them ends before the one it waits for, nor before a lifetime has
// passed when there is none.
func (f *Flows) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(f.erase(ctx))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// erase erases what has ended and returns how long there is nothing to do.
func (f *Flows) erase(ctx context.Context) time.Duration {
	now := f.now()
	next, ok, err := f.store.DeleteExpiredDeviceFlows(ctx, now)
	switch {
	case err != nil && ctx.Err() == nil:
		f.log.Error("cannot erase device flows that have ended; trying again", "error", err)
		return retryDelay
	case err != nil || !ok:
		return Lifetime
	}
	// A clock that was set back must not make it sleep longer.
	return min(Lifetime, max(0, next.Sub(now)))
}
