package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

var (
	// errLeaseLost is the error of a task whose job another dispatcher has leased.
	errLeaseLost = errors.New("the job's lease was lost")
	// errJobChanged is the error of a task whose decision no longer fits the job.
	errJobChanged = errors.New("the job has changed")
)

// change changes the job while this task holds its lease and the attempt that
// was decided on is the current one.
func (t *task) change(ctx context.Context, fn func(context.Context, *lifecycle.Change) error) error {
	return t.withLease(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if c.Attempt != t.job.Attempt {
			return errJobChanged
		}
		return fn(ctx, c)
	})
}

// release gives the lease up. The job is processed again at wakeAt, and at once
// when it has changed since it was claimed.
func (t *task) release(ctx context.Context, wakeAt time.Time) error {
	return t.withLease(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		c.Lease, c.WakeAt = "", wakeAt
		if c.Status != t.job.Status || c.Attempt != t.job.Attempt {
			c.WakeAt = c.Now
		}
		return nil
	})
}

// withLease changes the job if this task still holds its lease.
func (t *task) withLease(ctx context.Context, fn func(context.Context, *lifecycle.Change) error) error {
	changed, err := t.d.Jobs.Change(ctx, t.claimed.ID, func(ctx context.Context, c *lifecycle.Change) error {
		switch {
		case c.Lease == "":
			return errJobChanged // the end of the job, or a new joinAt, has revoked the lease
		case c.Lease != t.claimed.Lease:
			return errLeaseLost
		}
		return fn(ctx, c)
	})
	if err != nil {
		return err
	}
	t.job = changed
	return nil
}

// keepLease extends the lease until stop is called. The context that it returns
// ends when the lease is lost, or could not be extended while it was valid: the
// task must stop before another dispatcher claims the job.
func (t *task) keepLease(ctx context.Context) (claimed context.Context, stop func()) {
	claimed, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(t.d.Lease / 6)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-claimed.Done():
				return
			}
			err := t.extendLease(claimed)
			switch {
			case claimed.Err() != nil:
				return
			case errors.Is(err, errLeaseLost), !t.lease.valid():
				t.d.Log.Warn("the lease of a job is lost", "job", t.lease.jobID, "error", err)
				cancel()
				return
			case err != nil:
				t.d.Log.Error("cannot extend a lease", "job", t.lease.jobID, "error", err)
			}
		}
	})
	return claimed, func() { cancel(); done.Wait() }
}

// extendLease extends the lease once.
func (t *task) extendLease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.d.Lease/6)
	defer cancel()
	started := time.Now()
	return t.d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		acquired, err := tx.ExtendLease(ctx, t.lease.jobID, t.lease.token, t.d.Now().Add(t.d.Lease))
		if err == nil && !acquired {
			return errLeaseLost
		}
		if err == nil {
			t.lease.renewedAt.Store(&started)
		}
		return err
	})
}

// leaseGuard is a lease by its holder's own clocks. It is valid for two thirds
// of the lease since the last renewal was started. Whoever takes the job over
// waits for all of it, so between the two nobody processes the job.
type leaseGuard struct {
	jobID     uuid.UUID
	token     string
	length    time.Duration
	renewedAt atomic.Pointer[time.Time]
}

func newLeaseGuard(claimed job.ClaimedJob, renewedAt time.Time, length time.Duration) *leaseGuard {
	g := &leaseGuard{jobID: claimed.ID, token: claimed.Lease, length: length}
	g.renewedAt.Store(&renewedAt)
	return g
}

// valid reports whether no other dispatcher can have the job. The monotonic
// clock shows that the process was stopped, and the wall clock that the machine
// was suspended.
func (g *leaseGuard) valid() bool {
	now, renewed, limit := time.Now(), *g.renewedAt.Load(), g.length*2/3
	return now.Sub(renewed) < limit && now.Round(0).Sub(renewed.Round(0)) < limit
}
