package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestInsertJob checks which jobs are inserted.
func TestInsertJob(t *testing.T) {
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
		asTest, ofAnother, unwoken := named(existing.ExternalID), named(existing.ExternalID), newJob(consumer.ID)
		asTest.Mode, ofAnother.ConsumerID, unwoken.WakeAt = job.Test, newConsumer(t, s).ID, time.Time{}
		for _, test := range []struct {
			name     string
			record   job.Record
			inserted bool
			refused  bool
		}{
			{name: "new", record: named("a"), inserted: true},
			{name: "same externalId as the one before", record: named("a")},
			{name: "existing", record: named(existing.ExternalID)},
			{name: "erased", record: named(erased.ExternalID)},
			{name: "existing, in another mode", record: asTest, inserted: true},
			{name: "existing, of another consumer", record: ofAnother, inserted: true},
			{name: "without a wake time", record: unwoken, refused: true},
			{name: "of an unknown consumer", record: newJob(uuid.New()), refused: true},
			{name: "last", record: named("🎥 and \\"), inserted: true},
		} {
			for _, inserted := range []bool{test.inserted, false} { // the second time it exists
				if _, got, err := createJob(t.Context(), s, test.record); got != inserted || (err != nil) != test.refused {
					t.Errorf("%s: inserted %v, %v; want %v", test.name, got, err, inserted)
				}
			}
			if _, err := s.Job(t.Context(), test.record.ID); (err == nil) != test.inserted {
				t.Errorf("%s: read back: %v", test.name, err)
			}
		}
	})
}

// TestCreateJobConcurrently creates each job several times at once from two
// stores, with callers that give up: one request creates it, and all others get
// that job.
func TestCreateJobConcurrently(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, stores ...*store.Store) {
		const jobs, requests = 10, 6
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
				j, inserted, err := createJob(ctx, stores[i%len(stores)], r)
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
		test(t, storetest.Open(t, address), storetest.Open(t, address))
	})
}

// TestCreateJobLosesConnections ends the database's connections while jobs are
// created: each request that succeeds has created its job.
func TestCreateJobLosesConnections(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	s := storetest.Open(t, address)
	consumer := newConsumer(t, s)
	admin := connectAdmin(t, address)
	var group sync.WaitGroup
	var failed atomic.Int32
	for range 8 {
		group.Go(func() {
			for range 15 {
				r := newJob(consumer.ID)
				_, inserted, err := createJob(t.Context(), s, r)
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
		terminateConnections(t, admin)
	}
	group.Wait()
	t.Logf("%d requests failed", failed.Load())
	if _, inserted, err := createJob(t.Context(), s, newJob(consumer.ID)); err != nil || !inserted {
		t.Errorf("after the loss: inserted %v, %v", inserted, err)
	}
}

// TestLongExternalIDs creates jobs whose externalIds differ in different places, and
// finds each of them again.
func TestLongExternalIDs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		var records []job.Record
		for _, start := range []string{strings.Repeat("a", 62), strings.Repeat("ä", 62), strings.Repeat("\\", 32), strings.Repeat("🎥", 31)} {
			for _, end := range []string{
				"", "1", "12", "123", "1234", "€2", "€23", "12€", strings.Repeat("1", 5000), strings.Repeat("1", 4999) + "2",
			} {
				r := newJob(consumer.ID)
				r.ExternalID = start + end
				records = append(records, r)
			}
		}
		insert(t, s, records...)
		for i, r := range records {
			again := newJob(consumer.ID)
			again.ExternalID = r.ExternalID
			if j, created, err := createJob(t.Context(), s, again); err != nil || created || j.ID != r.ID {
				t.Errorf("externalId %d again: %v, created %v, %v", i, j.ID, created, err)
			}
			found, _, err := s.ListJobs(t.Context(), account.Caller{ConsumerID: consumer.ID, Mode: r.Mode}, job.Filter{ExternalID: r.ExternalID}, job.Cursor{}, 10)
			if err != nil || len(found) != 1 || found[0].ID != r.ID {
				t.Errorf("externalId %d: list %v, %v", i, found, err)
			}
		}
	})
}
