package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

// TestChangeTogether checks that of many changes at once each is applied once with
// its timeline entry, that two changes of one job are both applied, and that a
// change that fails leaves nothing behind and does not affect the others.
func TestChangeTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const jobs = 40
		ctx, failure := context.WithoutCancel(t.Context()), errors.New("does not fit")
		errs, ids := make([]error, 2*jobs), make([]uuid.UUID, jobs)
		for i := range ids {
			ids[i] = h.newJob(t)
		}
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				var r job.Record
				r, errs[i] = h.ChangeTogether(ctx, ids[i%jobs], func(c *lifecycle.Change) error {
					c.LaunchFailures++
					err := c.MediaStored(ctx, int64(i), jobs)
					if i%jobs == 7 {
						return failure
					}
					return err
				})
				if errs[i] == nil && r.ID != ids[i%jobs] {
					t.Errorf("the result of another change: %s, want %s", r.ID, ids[i%jobs])
				}
			})
		}
		all.Wait()
		for i, id := range ids {
			want, wantErr := 2, error(nil)
			if i == 7 {
				want, wantErr = 0, failure
			}
			if !errors.Is(errs[i], wantErr) || !errors.Is(errs[jobs+i], wantErr) {
				t.Errorf("changes of job %d: %v, %v, want %v", i, errs[i], errs[jobs+i], wantErr)
			}
			entries, err := h.store.Timeline(t.Context(), id)
			if r := h.record(t, id); r.LaunchFailures != want || err != nil || len(entries) != want {
				t.Errorf("job %d was changed %d times, with %d entries (%v), want %d", i, r.LaunchFailures, len(entries), err, want)
			}
		}
		if _, err := h.ChangeTogether(ctx, uuid.New(), func(*lifecycle.Change) error { return nil }); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("a job that does not exist: %v", err)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := h.ChangeTogether(canceled, ids[0], func(*lifecycle.Change) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a change whose context has ended: %v", err)
		}
	})
}

// withLockedJob runs fn while another transaction of PostgreSQL has locked one of two
// jobs, waits for what fn started, and returns both jobs.
func withLockedJob(t *testing.T, fn func(ctx context.Context, h *harness, started *sync.WaitGroup, locked, free uuid.UUID) error) (locked, free job.Record) {
	t.Helper()
	if cluster == nil {
		t.Skip("PostgreSQL is not installed")
	}
	h := newHarness(t, cluster.Fresh(t))
	lockedID, freeID := h.newJob(t), h.newJob(t)
	ctx := context.WithoutCancel(t.Context())
	var started sync.WaitGroup
	err := h.store.Write(ctx, func(q *store.Queries) error {
		if _, err := q.LockJob(ctx, lockedID); err != nil {
			return err
		}
		return fn(ctx, h, &started, lockedID, freeID)
	})
	if err != nil {
		t.Error(err)
	}
	started.Wait()
	return h.record(t, lockedID), h.record(t, freeID)
}

// TestChangeTogetherWaitsForNoLock checks that a job that another transaction has
// locked delays only its own change.
func TestChangeTogetherWaitsForNoLock(t *testing.T) {
	t.Parallel()
	change := func(c *lifecycle.Change) error { c.LaunchFailures++; return nil }
	r, other := withLockedJob(t, func(ctx context.Context, h *harness, started *sync.WaitGroup, locked, free uuid.UUID) error {
		for range 3 { // more than run at once
			started.Go(func() {
				if _, err := h.ChangeTogether(ctx, locked, change); err != nil {
					t.Error(err)
				}
			})
		}
		for range 5 {
			if _, err := h.ChangeTogether(ctx, free, change); err != nil {
				return err
			}
		}
		return nil
	})
	if r.LaunchFailures != 3 || other.LaunchFailures != 5 {
		t.Errorf("changes of the locked job: %d, of the other: %d", r.LaunchFailures, other.LaunchFailures)
	}
}

// TestIngestTogether checks that of many events at once, all are applied and counted
// except those that are not valid, which leave nothing behind.
func TestIngestTogether(t *testing.T) {
	t.Parallel()
	tooLarge := `{"x":"` + strings.Repeat("x", 8<<20) + `"}`
	onBoth(t, func(t *testing.T, h *harness) {
		ids := make([]uuid.UUID, 40)
		for i := range ids {
			ids[i] = h.newJob(t)
			h.begin(t, ids[i])
		}
		var all sync.WaitGroup
		for i, id := range ids {
			failing := i%20 == 7
			for range 2 { // the second is a duplicate
				all.Go(func() {
					e := botEvent(id, 0, 1, job.BotJoined, `{"n":1}`)
					if failing {
						e.Data = json.RawMessage(tooLarge)
					}
					if _, err := h.Ingest(t.Context(), e); failing != job.ErrorIs(err, job.OverQuota) || !failing && err != nil {
						t.Errorf("event of job %d: %v", i, err)
					}
				})
			}
		}
		all.Wait()
		for i, id := range ids {
			want, status := 2, job.Joining
			if i%20 == 7 {
				want, status = 0, job.Dispatching
			}
			if r := h.record(t, id); r.BotEvents != want || r.Status != status {
				t.Errorf("job %d: %d events, %s, want %d, %s", i, r.BotEvents, r.Status, want, status)
			}
			h.checkHistory(t, id)
		}
	})
}
