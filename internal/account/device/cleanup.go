package device

import (
	"context"
	"time"
)

// retryDelay is how long Run waits after a database error.
const retryDelay = time.Second

// Run deletes each flow when it expires, until ctx is cancelled. It starts with
// the flows that expired before. In between it sleeps until the next expiry.
// New flows need not wake it: all have the same lifetime, so none expires before
// the one Run waits for, or, if there is none, before a lifetime has passed.
func (f *Flows) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(f.deleteExpired(ctx))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// deleteExpired deletes expired flows and returns how long there is nothing to do.
func (f *Flows) deleteExpired(ctx context.Context) time.Duration {
	now := f.settings.Now()
	next, ok, err := f.settings.Store.DeleteExpiredDeviceFlows(ctx, now)
	switch {
	case err != nil && ctx.Err() == nil:
		f.settings.Log.Error("cannot delete expired device flows; retrying", "error", err)
		return retryDelay
	case err != nil || !ok:
		return Lifetime
	}
	// The minimum covers a clock that was set back.
	return min(Lifetime, max(0, next.Sub(now)))
}
