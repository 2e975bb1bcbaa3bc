package store_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
)

// TestGatheredReads checks that concurrent reads of jobs and lists return what
// single reads return while the jobs change, and that a read sees every write
// that was committed before it.
func TestGatheredReads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		const consumers, jobs, clients, reads = 3, 8, 24, 30
		var owners []uuid.UUID
		var records []job.Record
		for range consumers {
			owners = append(owners, newConsumer(t, s).ID)
			for range jobs {
				records = append(records, newJob(owners[len(owners)-1]))
			}
		}
		insert(t, s, records...)
		committed := make([]atomic.Int64, len(records)) // attempts that were committed
		var running sync.WaitGroup
		for client := range clients {
			running.Go(func() {
				for range reads {
					n := rand.IntN(len(records))
					switch client % 4 {
					case 0:
						changeAttempts(t, s, records[n].ID, &committed[n])
					case 1:
						checkUnknownJob(t, s)
					case 2:
						checkList(t, s, records, committed, owners[n%consumers])
					default:
						checkJobView(t, s, records[n].ID, committed[n].Load())
					}
				}
			})
		}
		running.Wait()
	})
}

// changeAttempts increments the attempts of a job, and reads the job again.
func changeAttempts(t *testing.T, s *store.Store, id uuid.UUID, committed *atomic.Int64) {
	var attempts int
	err := s.Write(t.Context(), func(q *store.Queries) error {
		r, err := q.LockJob(t.Context(), id)
		if err != nil {
			return err
		}
		r.Attempts++
		attempts = r.Attempts
		return q.SaveJob(t.Context(), r)
	})
	if err != nil {
		t.Error(err)
		return
	}
	for known := committed.Load(); known < int64(attempts) && !committed.CompareAndSwap(known, int64(attempts)); known = committed.Load() {
	}
	checkJobView(t, s, id, int64(attempts))
}

// checkJobView checks that JobView returns what Job returned before or after it,
// or something in between, and at least the attempts that were committed before.
func checkJobView(t *testing.T, s *store.Store, id uuid.UUID, committed int64) {
	before, err := s.Job(t.Context(), id)
	if err != nil {
		t.Error(err)
		return
	}
	view, err := s.JobView(t.Context(), id)
	if err != nil {
		t.Error(err)
		return
	}
	after, err := s.Job(t.Context(), id)
	if err != nil {
		t.Error(err)
		return
	}
	if view.Attempts < max(before.Attempts, int(committed)) || view.Attempts > after.Attempts {
		t.Errorf("got %d attempts between reads of %d and %d after a commit of %d", view.Attempts, before.Attempts, after.Attempts, committed)
	}
	before.Attempts = view.Attempts
	if !reflect.DeepEqual(view, before.Job) {
		t.Errorf("got\n%+v\nwant\n%+v", view, before.Job)
	}
}

func checkUnknownJob(t *testing.T, s *store.Store) {
	if _, err := s.JobView(t.Context(), uuid.New()); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("an unknown job: got %v, want not found", err)
	}
}

// checkList checks that a page has the newest jobs of the consumer with at least
// the attempts that were committed before.
func checkList(t *testing.T, s *store.Store, records []job.Record, committed []atomic.Int64, consumer uuid.UUID) {
	least := make(map[uuid.UUID]int64)
	var want []uuid.UUID
	for i, r := range slices.Backward(records) {
		if r.ConsumerID == consumer {
			want, least[r.ID] = append(want, r.ID), committed[i].Load()
		}
	}
	limit := 1 + rand.IntN(len(want))
	page, more, err := s.ListJobs(t.Context(), consumer, job.Live, job.Filter{}, job.Cursor{}, limit)
	if err != nil || more != (limit < len(want)) {
		t.Errorf("list %d jobs: more %v, error %v", limit, more, err)
		return
	}
	var got []uuid.UUID
	for _, j := range page {
		got = append(got, j.ID)
		if int64(j.Attempts) < least[j.ID] {
			t.Errorf("a list has %d attempts after a commit of %d", j.Attempts, least[j.ID])
		}
	}
	if !slices.Equal(got, want[:limit]) {
		t.Errorf("list %d jobs: got %v, want %v", limit, got, want[:limit])
	}
}

// TestGatheredReadFails checks that a read that fails does not affect those that
// are sent together with it.
func TestGatheredReadFails(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	var running sync.WaitGroup
	for client := range 32 {
		running.Go(func() {
			for i := range 20 {
				divisor := (client + i) % 3
				number, err := s.GatheredNumber(t.Context(), `SELECT 12::bigint / $1::bigint`, divisor)
				if divisor == 0 {
					if err == nil {
						t.Error("a division by zero has no error")
					}
				} else if err != nil || number != int64(12/divisor) {
					t.Errorf("12/%d: got %d, %v", divisor, number, err)
				}
			}
		})
	}
	running.Wait()
}

// TestPlansOfSmallTables checks that PostgreSQL plans statements for many rows
// with indexes while the tables are empty, because it keeps the plans.
func TestPlansOfSmallTables(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	for index, explain := range map[string]func(context.Context) (string, error){
		"jobs_pkey": s.ReadJobsPlan, "deliveries_pkey": s.RecordPlan, "deliveries_ahead": s.LeasePlan,
	} {
		plan, err := explain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, "Index Scan using "+index) || !strings.Contains(plan, "Index Cond") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("want %s:\n%s", index, plan)
		}
	}
}

// TestKeptPlans checks that PostgreSQL plans the statements that create a single job,
// lock one for an event, and list jobs, at most five times on a connection.
func TestKeptPlans(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	ctx := t.Context()
	consumer := newConsumer(t, s)
	var many []job.Record
	for range 500 {
		many = append(many, newJob(consumer.ID))
	}
	insert(t, s, many...)
	if err := s.Analyze(ctx); err != nil {
		t.Fatal(err)
	}
	for range 12 { // one after the other, so that they use the same connection
		r := newJob(consumer.ID)
		if _, inserted, err := s.CreateJob(ctx, r); err != nil || !inserted {
			t.Fatal(inserted, err)
		}
		err := s.Write(ctx, func(q *store.Queries) error {
			locked := make(map[uuid.UUID]job.Record)
			if err := q.LockFreeJobs(ctx, []uuid.UUID{r.ID}, locked); err != nil {
				return err
			}
			err := q.Flush(ctx)
			if len(locked) != 1 {
				t.Errorf("locked %d jobs, want 1", len(locked))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if jobs, _, err := s.ListJobs(ctx, consumer.ID, job.Live, job.Filter{}, job.Cursor{}, 20); err != nil || len(jobs) != 20 {
			t.Fatal(len(jobs), err)
		}
	}
	plans, err := s.CustomPlans(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"INSERT INTO jobs", "DELETE FROM jobs USING job_tombstones", "FROM jobs WHERE id = ANY", "ORDER BY created_at DESC"} {
		found := false
		for statement, count := range plans {
			if !strings.Contains(statement, part) {
				continue
			}
			if found = true; count > 5 {
				t.Errorf("planned %d times:\n%s", count, statement)
			}
		}
		if !found {
			t.Errorf("no prepared statement with %q", part)
		}
	}
}
