package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"standin/internal/job"
	"standin/internal/store"
)

// TestInsertGroup inserts a group in which some jobs cannot be inserted: the
// others are.
func TestInsertGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		erased, existing := newJob(consumer.ID), newJob(consumer.ID)
		erased.Status, erased.WakeAt = job.Completed, time.Time{}
		insert(t, s, erased, existing)
		if err := s.EraseJob(t.Context(), erased.ID, now); err != nil {
			t.Fatal(err)
		}
		named := func(externalID string) job.Record {
			r := newJob(consumer.ID)
			r.ExternalID = externalID
			return r
		}
		invalid := newJob(consumer.ID)
		invalid.WakeAt = time.Time{}
		tests := []struct {
			name     string
			record   job.Record
			inserted bool
			refused  bool
		}{
			{name: "new", record: named("a"), inserted: true},
			{name: "same externalId as before in the group", record: named("a")},
			{name: "existing", record: named(existing.ExternalID)},
			{name: "erased", record: named(erased.ExternalID)},
			{name: "without a time at which it is looked at", record: invalid, refused: true},
			{name: "last", record: named("NUL \x00 and \\"), inserted: true},
		}
		for _, refused := range []bool{true, false} {
			var records []job.Record
			for _, test := range tests {
				if test.refused && !refused { // the second group has none
					continue
				}
				records = append(records, test.record)
			}
			inserted, errs, err := s.InsertGroup(records)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := 0, 0; i < len(tests); i++ {
				test := tests[i]
				if test.refused && !refused {
					continue
				}
				want := test.inserted && refused // the second group repeats the first
				if inserted[n] != want || (errs[n] != nil) != test.refused {
					t.Errorf("%s: inserted %v, %v; want %v", test.name, inserted[n], errs[n], want)
				}
				n++
			}
		}
		for _, test := range tests {
			if _, err := s.Job(t.Context(), test.record.ID); (err == nil) != test.inserted {
				t.Errorf("%s: read back: %v", test.name, err)
			}
		}
	})
}

// TestCreateJobStoresAll checks that a created job is stored with all its fields.
func TestCreateJobStoresAll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		r.ExternalID, r.ICalUID, r.CalendarKey = "a\x00b", "uid", "key"
		r.Webhooks = job.Webhooks{OnStatusChange: "https://a.example", OnFinalize: "https://b.example"}
		other := newJob(r.ConsumerID)
		insert(t, s, other)
		if _, inserted, err := s.CreateJob(t.Context(), r); err != nil || !inserted {
			t.Fatal(inserted, err)
		}
		created, err := s.Job(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := s.Job(t.Context(), other.ID)
		if err != nil {
			t.Fatal(err)
		}
		// What the group's statement does not set has the same defaults as otherwise.
		plain.ID, plain.ExternalID, plain.ICalUID, plain.CalendarKey, plain.Webhooks = r.ID, r.ExternalID, r.ICalUID, r.CalendarKey, r.Webhooks
		if got, want := fmt.Sprintf("%+v", created), fmt.Sprintf("%+v", plain); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestCreateJobConcurrently creates each job several times at once from two
// stores, with callers that give up: one request creates it, and all others get
// that job.
func TestCreateJobConcurrently(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, stores ...*store.Store) {
		const jobs, requests = 20, 6
		consumer := newConsumer(t, stores[0])
		var created [jobs]atomic.Int32
		var ids [jobs]sync.Map
		var group sync.WaitGroup
		for i := range jobs * requests {
			group.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i/jobs%3 == 2 {
					cancel()
				}
				r := newJob(consumer.ID)
				r.ExternalID = fmt.Sprint("job-", i%jobs)
				j, inserted, err := stores[i%len(stores)].CreateJob(ctx, r)
				switch {
				case err != nil && ctx.Err() == nil:
					t.Errorf("request %d: %v", i, err)
				case err == nil:
					ids[i%jobs].Store(j.ID, true)
				}
				if inserted {
					created[i%jobs].Add(1)
				}
			})
		}
		group.Wait()
		for i := range jobs {
			different := 0
			ids[i].Range(func(any, any) bool { different++; return true })
			if created[i].Load() > 1 || different != 1 {
				t.Errorf("job %d was created %d times and has %d IDs", i, created[i].Load(), different)
			}
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		address := cluster.Fresh(t)
		test(t, open(t, address), open(t, address))
	})
}

// TestCreateJobLosesConnections ends the database's connections while jobs are
// created: each request that succeeds has created its job.
func TestCreateJobLosesConnections(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	s := open(t, address)
	consumer := newConsumer(t, s)
	admin, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	var group sync.WaitGroup
	var failed atomic.Int32
	for range 8 {
		group.Go(func() {
			for range 30 {
				r := newJob(consumer.ID)
				_, inserted, err := s.CreateJob(t.Context(), r)
				if err != nil {
					failed.Add(1)
					continue
				}
				if _, lookup := s.Job(t.Context(), r.ID); !inserted || lookup != nil && job.ErrorIs(lookup, job.NotFound) {
					t.Errorf("inserted %v, read back: %v", inserted, lookup)
				}
			}
		})
	}
	for range 5 {
		if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	t.Logf("%d requests failed", failed.Load())
	if _, inserted, err := s.CreateJob(t.Context(), newJob(consumer.ID)); err != nil || !inserted {
		t.Errorf("after the loss: inserted %v, %v", inserted, err)
	}
}

// TestLongExternalIDs creates jobs whose externalIds differ in different places, and
// finds each of them again.
func TestLongExternalIDs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		var records []job.Record
		for _, start := range []string{strings.Repeat("a", 62), strings.Repeat("ä", 62), strings.Repeat("\\", 32), strings.Repeat("\x00", 31)} {
			for _, end := range []string{"", "1", "12", "123", "1234", "€2", "€23", "12€", strings.Repeat("1", 5000), strings.Repeat("1", 4999) + "2"} {
				r := newJob(consumer.ID)
				r.ExternalID = start + end
				records = append(records, r)
			}
		}
		inserted, errs, err := s.InsertGroup(records)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range records {
			if !inserted[i] || errs[i] != nil {
				t.Errorf("externalId %d: inserted %v, %v", i, inserted[i], errs[i])
			}
			again := newJob(consumer.ID)
			again.ExternalID = r.ExternalID
			if j, created, err := s.CreateJob(t.Context(), again); err != nil || created || j.ID != r.ID {
				t.Errorf("externalId %d again: %v, created %v, %v", i, j.ID, created, err)
			}
			found, _, err := s.ListJobs(t.Context(), consumer.ID, r.Mode, job.Filter{ExternalID: r.ExternalID}, job.Cursor{}, 10)
			if err != nil || len(found) != 1 || found[0].ID != r.ID {
				t.Errorf("externalId %d: list %v, %v", i, found, err)
			}
		}
	})
}
