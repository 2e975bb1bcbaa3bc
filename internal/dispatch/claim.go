package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/retry"
)

const (
	// claimInterval is the minimum time between two claims: jobs that become due
	// one after the other are claimed together.
	claimInterval = 10 * time.Millisecond
	// workerWait is the longest that a claim waits for half of the workers when
	// more jobs are due than there are free workers. The cost of a claim grows
	// with the number of waiting jobs, not with how many of them it leases.
	workerWait = 100 * time.Millisecond
	// A node that finds another one admitting jobs waits for up to minBackoff,
	// doubled each time up to maxBackoff.
	minBackoff = 20 * time.Millisecond
	maxBackoff = 2 * time.Second
	// busyInterval is how often such a node claims the jobs that need no capacity.
	busyInterval = time.Second
)

// claims is when a dispatcher claims jobs. Run's goroutine owns it, except for
// awaitsWorkers.
type claims struct {
	last          time.Time     // when the last claim was started
	tried         time.Time     // when the last one was started that did not stop because another node was admitting jobs
	backoff       retry.Backoff // of claims that find another node admitting jobs
	awaitsWorkers atomic.Bool   // the next claim waits for free workers
}

// claimDue leases due jobs. It starts a write only when there is something to
// claim.
func (d *Dispatcher) claimDue(ctx context.Context) (claimed job.Claimed, err error) {
	now, limit := d.Now(), cap(d.workers)-len(d.workers)
	d.claims.last = time.Now()
	if limit == 0 {
		return job.Claimed{More: true}, nil
	}
	if d.claims.backoff.Failures > 0 && time.Since(d.claims.tried) < busyInterval {
		if busy, err := d.Store.AdmissionBusy(ctx); busy || err != nil {
			return job.Claimed{More: busy}, err
		}
	}
	d.claims.tried = d.claims.last
	claim := job.Claim{
		Node: d.Node.ID, Now: now, Lease: d.Lease, Limit: limit,
		Capacity: d.Capacity.Free(ctx, now), PerConsumer: d.PerConsumer, Prelaunch: d.prelaunch(),
	}
	ctx, cancel := context.WithTimeout(ctx, d.Lease/2)
	defer cancel()
	waiting, err := d.Store.CanClaim(ctx, claim)
	if err != nil || !waiting {
		return job.Claimed{}, err
	}
	return d.claimAndStart(ctx, claim)
}

// claimAndStart leases due jobs, and starts the first attempts of admitted ones in
// the same transaction. If that fails, it only leases them: their tasks start the
// attempts then, so that one job does not affect the others.
func (d *Dispatcher) claimAndStart(ctx context.Context, claim job.Claim) (job.Claimed, error) {
	var reserved []uuid.UUID
	claimed, err := d.Jobs.Claim(ctx, claim, func(c *lifecycle.Change) error {
		s := d.situationOf(c.Record)
		if decide(s).action != startAttempt || d.Capacity.reserve(ctx, c.ID, c.NextAttempt(), c.Now) != "" {
			return nil // the job's task does the rest
		}
		reserved = append(reserved, c.ID)
		_, err := c.StartAttempt(ctx, d.Node.ID, d.Node.Name, "")
		return err
	})
	d.releaseUnstarted(reserved, claimed.Admitted)
	if err == nil || len(reserved) == 0 || ctx.Err() != nil {
		return claimed, err
	}
	d.Log.Error("cannot start attempts together; each is started on its own", "error", err)
	return d.Jobs.Claim(ctx, claim, func(*lifecycle.Change) error { return nil })
}

// releaseUnstarted releases the reserved slots of jobs whose attempts were not
// started.
func (d *Dispatcher) releaseUnstarted(reserved []uuid.UUID, admitted []job.Record) {
	started := make(map[uuid.UUID]bool, len(admitted))
	for _, r := range admitted {
		started[r.ID] = r.Attempts > 0
	}
	for _, id := range reserved {
		if !started[id] {
			d.releaseSlot(id)
		}
	}
}

// awaitNextClaim waits until it is useful to claim jobs again.
func (d *Dispatcher) awaitNextClaim(ctx context.Context, claimed job.Claimed) {
	busy := len(d.workers) > cap(d.workers)/2
	switch {
	case claimed.More && len(claimed.Admitted) == 0 && !busy: // another node admits jobs
		d.awaitOtherNode(ctx, d.claims.backoff.Next())
		return
	case claimed.More:
		d.awaitWorkers(ctx)
	case len(claimed.Admitted)+len(claimed.Others) == 0:
		d.sleep(ctx, max(claimInterval, d.untilNextDue(ctx)))
	default:
		d.sleep(ctx, d.untilNextDue(ctx))
	}
	d.claims.backoff.Reset()
	_ = retry.Sleep(ctx, time.Until(d.claims.last.Add(claimInterval)))
}

// awaitOtherNode waits while another node admits jobs. A node without capacity can
// be woken, because a slot is free then or one of its own jobs is due.
func (d *Dispatcher) awaitOtherNode(ctx context.Context, pause time.Duration) {
	if d.Capacity.FullReason(ctx, d.Now()) == "" {
		_ = retry.Sleep(ctx, pause) // Run checks ctx
		return
	}
	d.sleep(ctx, pause)
	_ = retry.Sleep(ctx, time.Until(d.claims.last.Add(claimInterval)))
}

// awaitWorkers waits until half of the workers are free, and at most for
// workerWait.
func (d *Dispatcher) awaitWorkers(ctx context.Context) {
	d.claims.awaitsWorkers.Store(true)
	defer d.claims.awaitsWorkers.Store(false)
	timer := time.NewTimer(workerWait)
	defer timer.Stop()
	for len(d.workers) > cap(d.workers)/2 {
		select {
		case <-d.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// releaseWorker makes a worker free, and wakes a dispatcher that waits for it.
func (d *Dispatcher) releaseWorker() {
	<-d.workers
	if d.claims.awaitsWorkers.Load() && len(d.workers) <= cap(d.workers)/2 {
		d.Wake()
	}
}

// untilNextDue is how long the dispatcher may sleep.
func (d *Dispatcher) untilNextDue(ctx context.Context) time.Duration {
	now := d.Now()
	next, ok, err := d.Store.NextWake(ctx, d.Node.ID, now, d.prelaunch())
	if err != nil || !ok {
		return maxSleep
	}
	return min(maxSleep, next.Sub(now))
}

// sleep waits for a time, or until the dispatcher is woken or ctx ends.
func (d *Dispatcher) sleep(ctx context.Context, length time.Duration) {
	if length <= 0 {
		return
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.wake:
	case <-ctx.Done():
	}
}
