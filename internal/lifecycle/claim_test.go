package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/lifecycle"
)

// TestClaimStartsAttempt checks that an attempt that is started with a claim is saved
// with the job's lease, its timeline entry and its webhook, and that nothing is saved
// when the start fails.
func TestClaimStartsAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.newJob(t)
		before := h.record(t, id)
		claim := job.Claim{Node: "node", Now: later(before.JoinAt, before.WakeAt), Lease: time.Minute, Limit: 10, Capacity: 10}
		refused := errors.New("refused")
		_, err := h.Claim(t.Context(), claim, func(c *lifecycle.Change) error {
			if _, err := c.StartAttempt(t.Context(), "node", "name", ""); err != nil {
				return err
			}
			return refused
		})
		if after := h.record(t, id); !errors.Is(err, refused) || after.Status != job.Scheduled || after.Lease != "" {
			t.Fatalf("after a failed start: %+v, %v", after, err)
		}
		claimed, err := h.Claim(t.Context(), claim, func(c *lifecycle.Change) error {
			_, err := c.StartAttempt(t.Context(), "node", "name", "")
			return err
		})
		if err != nil || len(claimed.Admitted) != 1 {
			t.Fatalf("claimed %+v, %v", claimed, err)
		}
		after := h.record(t, id)
		if r := claimed.Admitted[0]; r.Lease == "" || r.Lease != after.Lease || r.Status != job.Dispatching || after.Status != job.Dispatching ||
			after.Attempts != 1 || after.Node != "node" || !after.WakeAt.Equal(claim.Now.Add(claim.Lease)) {
			t.Errorf("claimed %+v, stored %+v", r, after)
		}
		if n := h.count(t, id, job.AttemptStarted); n != 1 {
			t.Errorf("%d timeline entries", n)
		}
	})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
