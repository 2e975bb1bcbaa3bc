package store_test

import (
	"maps"
	"strings"
	"testing"

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

// TestCountActiveReadsOnlyItsIndex checks that CountActive does not read ended jobs,
// because the query runs often.
func TestCountActiveReadsOnlyItsIndex(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	plan, err := s.QueryPlan(t.Context(), func(q *store.Queries) error {
		_, err := q.CountActive(t.Context())
		return err
	})
	if err != nil || !strings.HasPrefix(plan, "SEARCH jobs USING COVERING INDEX jobs_wake (wake_at>?)") {
		t.Errorf("plan %q (%v)", plan, err)
	}
}
