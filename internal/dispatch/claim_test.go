package dispatch_test

import (
	"encoding/json"
	"testing"
	"time"

	"standin/internal/dispatch"
	"standin/internal/job"
	"standin/internal/store"
)

// TestClaimsWithUnstartableJob checks that a job whose attempt cannot be started does
// not affect a job that is claimed with it, and uses no capacity.
func TestClaimsWithUnstartableJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		joinAt := h.clock.Now().Add(time.Hour)
		broken, good := h.create(t, joinAt), h.create(t, joinAt)
		err := h.store.Write(t.Context(), func(q *store.Queries) error {
			r, err := q.LockJob(t.Context(), broken)
			if err != nil {
				return err
			}
			r.Metadata = json.RawMessage(`{`) // its webhook cannot be encoded
			return q.SaveJobRequest(t.Context(), r)
		})
		if err != nil {
			t.Fatal(err)
		}
		h.clock.set(joinAt)
		capacity := dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 2})
		h.run(t, func(s *dispatch.Settings) { s.Capacity = capacity })
		if r := h.untilLaunched(t, good, 0); r.Attempts != 1 {
			t.Errorf("the other job: %+v", r)
		}
		if r := h.record(t, broken); r.Status != job.Scheduled || r.Attempts != 0 || len(h.bots.launches(broken)) != 0 {
			t.Errorf("the job that cannot be started: %+v", r)
		}
		untilUsed(t, capacity, 1)
	})
}

// untilUsed waits until a number of slots is reserved.
func untilUsed(t *testing.T, capacity *dispatch.Capacity, want int) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(testTimeout); capacity.Used() != want; <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d slots are reserved, want %d", capacity.Used(), want)
		}
	}
}
