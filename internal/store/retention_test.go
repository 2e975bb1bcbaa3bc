package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// endedJob inserts a job with a recording that ended at a time, with changes.
func endedJob(t *testing.T, s *store.Store, consumer uuid.UUID, at time.Time, changes ...func(*job.Record)) job.Record {
	t.Helper()
	r := newJob(consumer)
	insert(t, s, r)
	r.Status, r.StatusSince, r.Attempts, r.WakeAt, r.ManifestURI = job.Completed, at, 1, time.Time{}, "https://a.test/m"
	for _, change := range changes {
		change(&r)
	}
	saveJob(t, s, r)
	r, err := s.Job(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// endedPages returns the jobs of all pages of a query.
func endedPages(t *testing.T, query func(after store.EndedJob, limit int) ([]store.EndedJob, error)) (ids []uuid.UUID) {
	t.Helper()
	var after store.EndedJob
	for {
		page, err := query(after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			ids, after = append(ids, one.JobID), one
		}
		if len(page) < 2 {
			return ids
		}
	}
}

// TestExpiredRecordings reads all pages of a consumer's ended jobs with stored
// recordings, ordered by their end.
func TestExpiredRecordings(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ada, bob := newConsumer(t, s).ID, newConsumer(t, s).ID
		day := func(n int) time.Time { return now.Add(time.Duration(n) * 24 * time.Hour) }
		third := endedJob(t, s, ada, day(3)).ID
		first := endedJob(t, s, ada, day(1)).ID
		second := endedJob(t, s, ada, day(1)).ID
		endedJob(t, s, ada, day(4))
		endedJob(t, s, bob, day(2))
		endedJob(t, s, ada, day(0), func(r *job.Record) { r.RecordingDeletedAt = day(1) })
		endedJob(t, s, ada, day(0), func(r *job.Record) { r.Attempts = 0 })
		endedJob(t, s, ada, day(0), func(r *job.Record) { r.WakeAt = day(9) })
		endedJob(t, s, ada, day(0), func(r *job.Record) { r.Status, r.WakeAt = job.InMeeting, day(9) })

		got := endedPages(t, func(after store.EndedJob, limit int) ([]store.EndedJob, error) {
			return s.ExpiredRecordings(t.Context(), ada, day(3), after, limit)
		})
		want := []uuid.UUID{first, second, third}
		slices.SortFunc(want[:2], func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestPendingErasures checks that unfinished deletions are listed, oldest first.
func TestPendingErasures(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		begun := func(minutes int, erased bool) uuid.UUID {
			return endedJob(t, s, consumer, now, func(r *job.Record) {
				r.RecordingDeletedAt, r.RecordingDeletedBy = now.Add(time.Duration(minutes)*time.Minute), "retention"
				if erased {
					r.RecordingErasedAt = r.RecordingDeletedAt
				}
			}).ID
		}
		second, first := begun(2, false), begun(1, false)
		begun(0, true)
		begun(3, false)
		endedJob(t, s, consumer, now)
		got, err := s.PendingErasures(t.Context(), now.Add(2*time.Minute))
		if err != nil || !slices.Equal(got, []uuid.UUID{first, second}) {
			t.Errorf("got %v, %v, want %v", got, err, []uuid.UUID{first, second})
		}
		r, err := s.Job(t.Context(), first)
		if err != nil || r.RecordingDeletedBy != "retention" || !r.RecordingErasedAt.IsZero() {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestRecordedJobs reads all pages of jobs with a manifest that was not deleted.
func TestRecordedJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		var want []uuid.UUID
		for range 3 {
			want = append(want, endedJob(t, s, consumer, now).ID)
		}
		endedJob(t, s, consumer, now, func(r *job.Record) { r.ManifestURI = "" })
		endedJob(t, s, consumer, now, func(r *job.Record) { r.RecordingDeletedAt = now })
		slices.SortFunc(want, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
		var got []uuid.UUID
		for after := uuid.Nil; ; after = got[len(got)-1] {
			page, err := s.RecordedJobs(t.Context(), after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range page {
				got = append(got, j.ID)
			}
			if len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestChangeConsumer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		c := newConsumer(t, s)
		hour, forever := time.Hour, time.Duration(0)
		for _, retention := range []*time.Duration{&hour, &forever, nil} {
			if err := s.ChangeConsumer(t.Context(), c.ID, func(c *account.Consumer) { c.Retention = retention }); err != nil {
				t.Fatal(err)
			}
			got, err := s.Consumer(t.Context(), c.ID)
			if err != nil || (got.Retention == nil) != (retention == nil) || retention != nil && *got.Retention != *retention {
				t.Errorf("stored %v, %v, want %v", got.Retention, err, retention)
			}
		}
		if err := s.ChangeConsumer(t.Context(), uuid.New(), func(*account.Consumer) {}); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("unknown consumer: %v", err)
		}
	})
}
