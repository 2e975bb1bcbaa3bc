package store_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
)

func TestCountActive(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		counts, err := s.CountActive(t.Context())
		if err != nil || len(counts) != 0 {
			t.Fatalf("without jobs: %v, %v", counts, err)
		}
		for _, consumer := range []uuid.UUID{newConsumer(t, s).ID, newConsumer(t, s).ID} {
			for i, status := range job.Statuses() {
				for range i%3 + 1 {
					r := newJob(consumer)
					r.Status = status
					insert(t, s, r)
				}
			}
		}
		want := map[job.Status]int{}
		for i, status := range job.Statuses() {
			if !status.Terminal() {
				want[status] = 2 * (i%3 + 1)
			}
		}
		if counts, err = s.CountActive(t.Context()); err != nil || !maps.Equal(counts, want) {
			t.Errorf("got %v, %v, want %v", counts, err, want)
		}
	})
}

// TestUsage checks that the jobs of a consumer that were created within an interval
// are counted by mode and status.
func TestUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer, other := newConsumer(t, s).ID, newConsumer(t, s).ID
		from, to := now, now.Add(24*time.Hour)
		add := func(owner uuid.UUID, count int, mode job.Mode, status job.Status, created time.Time) {
			for range count {
				r := newJob(owner)
				r.Mode, r.Status, r.CreatedAt = mode, status, created
				insert(t, s, r)
			}
		}
		add(consumer, 1, job.Live, job.Completed, from)
		add(consumer, 2, job.Live, job.Completed, to.Add(-time.Millisecond))
		add(consumer, 2, job.Live, job.Failed, from.Add(time.Hour))
		add(consumer, 1, job.Live, job.Scheduled, from.Add(time.Hour))
		add(consumer, 4, job.Test, job.Completed, from.Add(time.Hour))
		add(consumer, 1, job.Test, job.Pending, from.Add(time.Hour))
		add(consumer, 5, job.Live, job.Completed, from.Add(-time.Millisecond))
		add(consumer, 5, job.Live, job.Cancelled, to)
		add(other, 6, job.Live, job.Completed, from.Add(time.Hour))
		want := []job.UsageCount{
			{Mode: job.Live, Status: job.Completed, Jobs: 3}, {Mode: job.Live, Status: job.Failed, Jobs: 2}, {Mode: job.Live, Status: job.Scheduled, Jobs: 1},
			{Mode: job.Test, Status: job.Completed, Jobs: 4}, {Mode: job.Test, Status: job.Pending, Jobs: 1},
		}
		if got, err := s.Usage(t.Context(), consumer, from, to); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		if got, err := s.Usage(t.Context(), consumer, to.Add(time.Hour), to.Add(2*time.Hour)); err != nil || len(got) != 0 {
			t.Errorf("without jobs: %v, %v", got, err)
		}
	})
}
