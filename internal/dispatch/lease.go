package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"standin/internal/job"
	"standin/internal/store"
)

// hold is a lease as its holder sees it, by the holder's own clocks. It is firm
// for two thirds of the lease since the last renewal began: whoever takes the
// job over waits for all of it, so between the two nobody works on the job.
type leaseGuard struct {
	lease   time.Duration
	renewed atomic.Pointer[time.Time]
}

func newLeaseGuard(renewed time.Time, lease time.Duration) *leaseGuard {
	h := &leaseGuard{lease: lease}
	h.renewed.Store(&renewed)
	return h
}

// firm reports whether nobody else can hold the job. A process that was stopped
// finds its lease gone by the first clock it looks at; a machine that was
// suspended, by the wall's.
func (h *leaseGuard) valid() bool {
	now, renewed, most := time.Now(), *h.renewed.Load(), h.lease*2/3
	return now.Sub(renewed) < most && now.Round(0).Sub(renewed.Round(0)) < most
}

// keepLease extends a lease until stop is called. The context that it returns
// ends when the lease is lost, or could not be extended while it was firm:
// then what is being done on the job is given up before anybody else begins.
func (d *Dispatcher) keepLease(ctx context.Context, r job.Record, held *leaseGuard) (working context.Context, stop func()) {
	working, cancel := context.WithCancelCause(ctx)
	var kept sync.WaitGroup
	kept.Go(func() {
		ticker := time.NewTicker(d.Lease / 6)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-working.Done():
				return
			}
			err := d.extend(working, r, held)
			switch {
			case working.Err() != nil:
				return
			case errors.Is(err, errLeaseLost), !held.valid():
				d.Log.Warn("giving up a job whose lease is lost", "job", r.ID, "error", err)
				cancel(errLeaseLost)
				return
			case err != nil:
				d.Log.Error("cannot extend a lease", "job", r.ID, "error", err)
			}
		}
	})
	return working, func() { cancel(nil); kept.Wait() }
}

// extend renews a lease.
func (d *Dispatcher) extend(ctx context.Context, r job.Record, held *leaseGuard) error {
	ctx, cancel := context.WithTimeout(ctx, d.Lease/6)
	defer cancel()
	begun := time.Now()
	return d.Store.Write(ctx, func(q *store.Queries) error {
		still, err := q.ExtendLease(ctx, r.ID, r.Lease, d.Now().Add(d.Lease))
		if err == nil && !still {
			return errLeaseLost
		}
		if err == nil {
			held.renewed.Store(&begun)
		}
		return err
	})
}
