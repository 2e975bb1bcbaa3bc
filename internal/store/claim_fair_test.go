package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/job"
	"standin/internal/store"
)

// TestClaimIsFairBetweenConsumers checks that while a job waits, every other
// consumer is admitted at most once more than the job's consumer, for any joinAt.
func TestClaimIsFairBetweenConsumers(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "standin.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		var consumers []uuid.UUID
		for range rapid.IntRange(2, 4).Draw(rt, "consumers") {
			consumers = append(consumers, newConsumer(t, s).ID)
		}
		created := make(map[uuid.UUID]int) // how many jobs were admitted before the job was created
		var admitted []job.Record
		clock, waiting := now, 0
		for round := 0; round < 8 || waiting > 0; round++ {
			clock = clock.Add(time.Second)
			for range rapid.IntRange(0, 6).Draw(rt, "new jobs") * max(0, 1-round/8) {
				r := newJob(rapid.SampledFrom(consumers).Draw(rt, "consumer"))
				r.CreatedAt = clock
				r.JoinAt = clock.Add(-time.Duration(rapid.IntRange(0, 24*60).Draw(rt, "minutes late")) * time.Minute)
				insert(t, s, r)
				created[r.ID] = len(admitted)
				waiting++
			}
			claim := job.Claim{Now: clock, Lease: time.Hour, Limit: 10, Capacity: rapid.IntRange(1, 3).Draw(rt, "capacity")}
			var jobs, others []job.Record
			err := s.Write(t.Context(), func(q *store.Queries) (err error) {
				jobs, others, err = q.ClaimJobs(t.Context(), claim)
				return err
			})
			if err != nil {
				rt.Fatal(err)
			}
			admitted = append(admitted, jobs...)
			waiting -= len(jobs)
			finishAll(t, s, jobs)
			for _, r := range others { // as the dispatcher queues them
				r.Status, r.Lease, r.WakeAt = job.Pending, "", clock.Add(15*time.Second)
				saveJob(t, s, r)
			}
		}
		for i, r := range admitted {
			turns := make(map[uuid.UUID]int)
			for _, before := range admitted[created[r.ID]:i] {
				turns[before.ConsumerID]++
			}
			for consumer, n := range turns {
				if consumer != r.ConsumerID && n > turns[r.ConsumerID]+1 {
					rt.Fatalf("a job waited while another consumer was admitted %d times and its own %d times", n, turns[r.ConsumerID])
				}
			}
		}
	})
}

// TestClaimLimitsConsumers checks that a consumer at its limit of bots is not
// admitted while other consumers are.
func TestClaimLimitsConsumers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		busy, idle := newConsumer(t, s).ID, newConsumer(t, s).ID
		running := newJob(busy)
		running.Status, running.Attempts = job.Joining, 1
		insert(t, s, running)
		saveJob(t, s, running)
		for range 3 {
			insert(t, s, newJob(busy))
		}
		insert(t, s, newJob(idle))
		var admitted []job.Record
		err := s.Write(t.Context(), func(q *store.Queries) (err error) {
			admitted, _, err = q.ClaimJobs(t.Context(), job.Claim{Now: now.Add(time.Hour), Lease: time.Minute, Limit: 10, Capacity: 10, PerConsumer: 2})
			return err
		})
		count := map[uuid.UUID]int{}
		for _, r := range admitted {
			count[r.ConsumerID]++
		}
		if err != nil || count[busy] != 1 || count[idle] != 1 {
			t.Errorf("admitted %v (%v), want one job of each consumer", count, err)
		}
	})
}

// finishAll completes jobs, so that no claim finds them again.
func finishAll(t *testing.T, s *store.Store, jobs []job.Record) {
	t.Helper()
	for _, r := range jobs {
		r.Status, r.Lease, r.WakeAt = job.Completed, "", time.Time{}
		saveJob(t, s, r)
	}
}
