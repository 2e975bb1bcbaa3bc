package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Claim describes the deliveries that the sender can take.
type Claim struct {
	Now   time.Time
	Lease time.Duration // how long the claim lasts
	Limit int           // how many due deliveries are examined
	// MaxAge is after how long a delivery that waits for a dead endpoint fails; 0 is
	// no limit.
	MaxAge time.Duration

	// Admit returns the function that decides about each delivery, in the
	// order in which they are examined. It is called again if the transaction
	// of the claim is retried; earlier decisions are void then. Nil admits
	// all.
	Admit func() AdmitFunc
}

// AdmitFunc reports whether a delivery may be taken, and if not, for how long
// to defer it. It receives a delivery without secrets and must not block.
type AdmitFunc func(Delivery) (admitted bool, wait time.Duration)

const (
	// MinDefer is the shortest deferral that is written.
	MinDefer = time.Second
	// backlogDefer is the shortest deferral while there are more due
	// deliveries than a claim examines, so that those that cannot be taken do
	// not hide others.
	backlogDefer = 500 * time.Millisecond
	// maxDeferral is the longest deferral. It is shorter than BlocksWithin, so that a
	// delivery that is deferred still holds back the later ones of its job.
	maxDeferral = 45 * time.Second
)

// ClaimDeliveries examines up to claim.Limit waiting deliveries that are due at
// claim.Now, longest due first, and takes those that claim.Admit admits. It takes none
// that must wait for an earlier one (see BlocksWithin), and does not pass those to
// Admit. For a dead endpoint it takes the oldest waiting delivery instead of the due
// one, unless that is being sent, and none before the ProbeAt that was recorded.
//
// Each delivery taken gets a lease token unique to the claim, the due time Now + Lease,
// and an Attempt one higher than before. The attempt is counted here, not with the
// result, so that numbers are unique even if a result is lost in a crash. The due time
// of the others may move. more reports that some due deliveries may not have been
// examined.
func ClaimDeliveries(ctx context.Context, outbox Outbox, claim Claim) (taken []Delivery, more bool, err error) {
	err = outbox.WriteClaim(ctx, func(ctx context.Context, tx ClaimTx) error {
		due, err := tx.DueDeliveries(ctx, claim.Now, claim.Limit)
		if err != nil {
			return err
		}
		more = len(due) == claim.Limit
		c := &claimBatch{Claim: claim, more: more, lease: uuid.NewString(), admit: func(Delivery) (bool, time.Duration) { return true, 0 }}
		if claim.Admit != nil {
			c.admit = claim.Admit()
		}
		// Deliveries that have waited for a dead endpoint for too long fail first, so that none of them is tried as a probe.
		var expired []string
		due = slices.DeleteFunc(due, func(d DueDelivery) bool {
			// As long as all tries of the schedule take. A delivery that is sent again has failed no try yet.
			tooOld := claim.MaxAge > 0 && d.EmittedAt.Before(claim.Now.Add(-claim.MaxAge)) && (d.Attempt == 0 || d.Failures > 0)
			if d.Dead && tooOld {
				expired = append(expired, d.ID)
			}
			return d.Dead && tooOld
		})
		if len(expired) > 0 {
			if err := tx.ExpireDeliveries(ctx, expired, claim.Now); err != nil {
				return err
			}
		}
		for _, d := range due {
			switch {
			case d.Dead && d.ProbeAt.After(claim.Now):
				c.deferFor(d.Delivery, d.ProbeAt.Sub(claim.Now))
			case d.Dead:
				if err := c.probe(ctx, tx, d.Delivery); err != nil {
					return err
				}
			case d.Blocked:
				c.deferFor(d.Delivery, 0)
			default:
				if admitted, wait := c.admit(d.Delivery); admitted {
					c.take(d.Delivery)
				} else {
					c.deferFor(d.Delivery, wait)
				}
			}
		}
		taken, err = tx.SaveClaim(ctx, c.taken, c.deferred)
		return err
	})
	return taken, more, err
}

// claimBatch is a claim in progress.
type claimBatch struct {
	Claim
	more     bool
	lease    string
	admit    AdmitFunc
	taken    []Delivery
	deferred []Deferral
}

// probe tries the oldest delivery that waits for a dead endpoint in place of the due
// one, so that the order holds when the endpoint responds again.
func (c *claimBatch) probe(ctx context.Context, tx ClaimTx, d Delivery) error {
	oldest, found, err := tx.OldestWaiting(ctx, d, c.Now)
	if err != nil {
		return err
	}
	if !found || slices.ContainsFunc(c.taken, func(taken Delivery) bool { return taken.ID == oldest.ID }) {
		c.deferFor(d, MinDefer) // it is being tried
		return nil
	}
	oldest.ProbeAt = d.ProbeAt
	admitted, wait := c.admit(oldest)
	if !admitted {
		c.deferFor(d, wait)
		return nil
	}
	c.take(oldest)
	if oldest.ID != d.ID {
		c.deferFor(d, MinDefer)
	}
	return nil
}

// take leases a delivery.
func (c *claimBatch) take(d Delivery) {
	d.Lease, d.LeasedTo = c.lease, c.Now.Add(c.Lease)
	d.Attempt++
	c.taken = append(c.taken, d)
}

// deferFor moves the due time of a delivery that was not taken. A short wait leaves it
// as it is, unless some due deliveries were not examined.
func (c *claimBatch) deferFor(d Delivery, wait time.Duration) {
	switch {
	case c.more:
		wait = max(wait, backlogDefer)
	case wait < MinDefer:
		return
	}
	c.deferred = append(c.deferred, Deferral{d.ID, c.Now.Add(min(wait, maxDeferral))})
}
