package dispatch

import (
	"context"
	"time"

	"standin/internal/job"
	"standin/internal/retry"
	"standin/internal/store"
)

const (
	// claimInterval is the minimum time between two claims: jobs that become due
	// one after the other are claimed together.
	claimInterval = 10 * time.Millisecond
	// workerWait is the longest that a claim waits for half of the workers when
	// more jobs are due than there are free workers. The cost of a claim grows
	// with the number of waiting jobs, not with how many of them it leases.
	workerWait = 100 * time.Millisecond
	// After a claim that fails, or that finds another node admitting jobs, a node waits
	// for up to minBackoff, doubled each time up to maxBackoff.
	minBackoff = 20 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// claims is when a dispatcher claims jobs. Run's goroutine owns it.
type claims struct {
	last     time.Time     // when the last claim was started
	backoff  retry.Backoff // of claims that find another node admitting jobs
	failures retry.Backoff // of claims that fail
}

// claimDue leases due jobs. It starts a write only when there is something to
// claim.
func (d *Dispatcher) claimDue(ctx context.Context) (claimed job.Claimed, err error) {
	now, limit := d.Now(), cap(d.workers)-len(d.workers)
	d.claims.last = time.Now()
	if limit == 0 {
		return job.Claimed{More: true}, nil
	}
	claim := job.Claim{
		Node: d.Node.ID, Now: now, Lease: d.Lease, Limit: limit,
		Capacity: d.Capacity.Free(ctx, now), PerConsumer: d.MaxBotsPerConsumer, Prelaunch: d.prelaunch(),
	}
	ctx, cancel := context.WithTimeout(ctx, d.Lease/2)
	defer cancel()
	waiting, err := d.Store.CanClaim(ctx, claim)
	if err != nil || !waiting {
		return job.Claimed{}, err
	}
	err = d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, err = tx.ClaimJobs(ctx, claim)
		return err
	})
	if err != nil {
		return job.Claimed{}, err
	}
	return claimed, nil
}

// awaitNextClaim waits until it is useful to claim jobs again.
func (d *Dispatcher) awaitNextClaim(ctx context.Context, claimed job.Claimed) {
	switch {
	case claimed.More && !admittedAny(claimed) && !d.busy(): // another node admits jobs
		d.awaitOtherNode(ctx, d.claims.backoff.Next())
		return
	case claimed.More:
		d.awaitWorkers(ctx)
	case len(claimed.Jobs) == 0:
		d.wake.Wait(ctx, max(claimInterval, d.untilNextDue(ctx)))
	default:
		d.wake.Wait(ctx, d.untilNextDue(ctx))
	}
	d.claims.backoff.Reset()
	_ = retry.Sleep(ctx, time.Until(d.claims.last.Add(claimInterval)))
}

func admittedAny(claimed job.Claimed) bool { return len(claimed.Jobs) > 0 && claimed.Jobs[0].Admitted }

// awaitOtherNode waits while another node admits jobs. A node without capacity can
// be woken, because a slot is free then or one of its own jobs is due.
func (d *Dispatcher) awaitOtherNode(ctx context.Context, pause time.Duration) {
	if d.Capacity.FullReason(ctx, d.Now()) == "" {
		_ = retry.Sleep(ctx, pause) // Run checks ctx
		return
	}
	d.wake.Wait(ctx, pause)
	_ = retry.Sleep(ctx, time.Until(d.claims.last.Add(claimInterval)))
}

// awaitWorkers waits until half of the workers are free, and at most for
// workerWait.
func (d *Dispatcher) awaitWorkers(ctx context.Context) {
	for end := time.Now().Add(workerWait); d.busy() && time.Now().Before(end); {
		if retry.Sleep(ctx, claimInterval) != nil {
			return
		}
	}
}

// busy reports whether more than half of the workers are used.
func (d *Dispatcher) busy() bool { return len(d.workers) > cap(d.workers)/2 }

// untilNextDue is how long the dispatcher may sleep.
func (d *Dispatcher) untilNextDue(ctx context.Context) time.Duration {
	now := d.Now()
	next, ok, err := d.Store.NextWake(ctx, d.Node.ID, now, d.prelaunch())
	if err != nil || !ok {
		return maxSleep
	}
	return min(maxSleep, next.Sub(now))
}
