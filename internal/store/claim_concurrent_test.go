package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"

	"github.com/google/uuid"
)

// TestClaimWhileCreating creates and changes jobs while two nodes with free capacity
// claim them: each job is admitted once, and none is refused.
func TestClaimWhileCreating(t *testing.T) {
	t.Parallel()
	const writers, jobsEach = 8, 20
	address := cluster.Fresh(t)
	nodes := []*store.Store{storetest.Open(t, address), storetest.Open(t, address)}
	consumers := []uuid.UUID{newConsumer(t, nodes[0]).ID, newConsumer(t, nodes[0]).ID}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var all, creating sync.WaitGroup
	created := make(chan struct{})
	for writer := range writers {
		creating.Go(func() {
			for range jobsEach {
				r := newJob(consumers[writer%len(consumers)])
				s := nodes[writer%len(nodes)]
				if _, inserted, err := createJob(ctx, s, r); err != nil || !inserted {
					t.Errorf("create a job: inserted %v, %v", inserted, err)
				}
				err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
					_, err := tx.LockJob(ctx, r.ID)
					return errors.Join(err, tx.SaveJobRequest(ctx, r))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() { creating.Wait(); close(created) })
	var admitted sync.Map
	for i, s := range nodes {
		for range 3 {
			all.Go(func() {
				claim := job.Claim{Node: fmt.Sprint("node ", i), Now: now, Lease: time.Hour, Limit: 1000, Capacity: 1000}
				for last := false; !last && ctx.Err() == nil; {
					select {
					case <-created:
						last = true
					default:
					}
					for _, c := range claimJobs(t, s, claim).Jobs {
						if !c.Admitted {
							t.Errorf("job %s was claimed without being admitted", c.ID)
						}
						if _, twice := admitted.LoadOrStore(c.ID, true); twice {
							t.Errorf("job %s was admitted twice", c.ID)
						}
					}
				}
			})
		}
	}
	all.Wait()
	for _, c := range claimJobs(t, nodes[0], job.Claim{Node: "node 0", Now: now, Lease: time.Hour, Limit: 1000, Capacity: 1000}).Jobs {
		admitted.Store(c.ID, true) // left by a claim during which another one admitted jobs
	}
	count := 0
	admitted.Range(func(any, any) bool { count++; return true })
	if count != writers*jobsEach {
		t.Errorf("%d jobs were admitted, want %d", count, writers*jobsEach)
	}
}
