package store_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

func TestCountActive(t *testing.T) {
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

// TestUsage checks that usage is counted by consumer, mode and day.
func TestUsage(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		one, other := newConsumer(t, s), newConsumer(t, s)
		day := now.Truncate(24 * time.Hour)
		add := func(owner uuid.UUID, mode job.Mode, at time.Time, u job.Usage) {
			t.Helper()
			r := newJob(owner)
			r.Mode = mode
			insert(t, s, r)
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.SaveJob(ctx, store.JobChange{Record: r, Now: at, Usage: u})
			})
		}
		add(one.ID, job.Live, day, job.Usage{Completed: 1, Recorded: time.Hour, Bots: 2 * time.Hour, StoredBytes: 100,
			Resources: job.Resources{Cores: time.Minute, Memory: time.Hour}})
		add(one.ID, job.Live, day.Add(24*time.Hour-time.Millisecond), job.Usage{Failed: 1, Bots: time.Minute})
		add(one.ID, job.Live, day.AddDate(0, 0, 1), job.Usage{Cancelled: 1, DeletedBytes: 30})
		add(one.ID, job.Live, day.AddDate(0, 0, -1), job.Usage{Completed: 7, StoredBytes: 1000})
		add(one.ID, job.Test, day, job.Usage{Completed: 50})
		add(other.ID, job.Live, day, job.Usage{Completed: 2})
		want := []job.UsageDay{
			{Day: day, Usage: job.Usage{Completed: 1, Failed: 1, Recorded: time.Hour, Bots: 2*time.Hour + time.Minute, StoredBytes: 100,
				Resources: job.Resources{Cores: time.Minute, Memory: time.Hour}}},
			{Day: day.AddDate(0, 0, 1), Usage: job.Usage{Cancelled: 1, DeletedBytes: 30}},
		}
		report, err := s.Usage(t.Context(), live(one.ID), day, day.AddDate(0, 0, 1))
		if err != nil || !slices.Equal(report.Days, want) || report.Total != want[0].Plus(want[1].Usage) || report.Kept != 1070 {
			t.Errorf("got %+v, %v, want %+v", report, err, want)
		}
		if rate, ok := report.Total.SuccessRate(); !ok || rate != 0.5 {
			t.Errorf("success rate %v, %v", rate, ok)
		}
		teams, err := s.TeamUsage(t.Context(), job.Live, day, day)
		if err != nil || len(teams) != 2 {
			t.Fatalf("teams %+v, %v", teams, err)
		}
		for _, team := range teams {
			if team.ConsumerID == one.ID && (team.Usage != want[0].Usage || team.Kept != 1070 || team.Consumer != one.Name) ||
				team.ConsumerID == other.ID && team.Completed != 2 {
				t.Errorf("team %+v", team)
			}
		}
		if report, err := s.Usage(t.Context(), live(one.ID), day.AddDate(1, 0, 0), day.AddDate(1, 0, 1)); err != nil ||
			len(report.Days) != 0 {
			t.Errorf("without jobs: %+v, %v", report, err)
		}
	})
}

// TestUsageDoesNotWait checks that jobs of one team end while the transaction that ends another one lasts.
func TestUsageDoesNotWait(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	owner, ended := newConsumer(t, s), 0
	end := func(ctx context.Context, tx *store.Tx) error {
		r := newJob(owner.ID)
		if _, err := tx.InsertJob(ctx, r); err != nil {
			return err
		}
		return tx.SaveJob(ctx, store.JobChange{Record: r, Now: now, Usage: job.Usage{Completed: 1}})
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := end(ctx, tx); err != nil {
			return err
		}
		for range 8 {
			limited, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			if s.Write(limited, end) == nil {
				ended++
			}
			cancel()
		}
		return nil
	})
	if ended < 4 { // two may take the same part of a day
		t.Errorf("%d of 8 jobs ended", ended)
	}
}
