package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

// TestClaimIsFairBetweenConsumers checks the order of admission with any mix of
// consumers, joinAt, capacity and prelaunch: a due job waits at most as many turns
// as jobs of its own consumer are ahead of it, plus one admission per other
// consumer. In a turn, each consumer is admitted once at most. So of k jobs of its
// own and n other consumers, at most k admissions of its own and k+1 of each other
// consumer come first, k*(n+1)+n in all, and n for a job that is the next of its
// consumer. Nothing less is possible: of two consumers with two jobs each, the last
// job waits for three.
func TestClaimIsFairBetweenConsumers(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	rapid.Check(t, func(rt *rapid.T) {
		q := queue{clock: now}
		var consumers []uuid.UUID
		for range rapid.IntRange(1, 5).Draw(rt, "consumers") {
			consumers = append(consumers, newConsumer(t, s).ID)
		}
		prelaunch := time.Duration(rapid.IntRange(0, 3).Draw(rt, "prelaunch")) * time.Second
		const busyRounds = 8
		for round := 0; round < busyRounds || len(q.waiting) > 0; round++ {
			q.clock = q.clock.Add(time.Second)
			for range rapid.IntRange(0, 6).Draw(rt, "new jobs") * max(0, 1-round/busyRounds) {
				r := newJob(rapid.SampledFrom(consumers).Draw(rt, "consumer"))
				r.CreatedAt = q.clock
				r.JoinAt = q.clock.Add(time.Duration(rapid.OneOf(rapid.IntRange(-24*3600, 0), rapid.IntRange(0, 5)).Draw(rt, "joinAt")) * time.Second)
				r.WakeAt = later(r.JoinAt, r.CreatedAt)
				insert(t, s, r)
				q.waiting = append(q.waiting, &waitingJob{Record: r})
			}
			q.markDue()
			claim := job.Claim{
				Now: q.clock, Lease: time.Hour, Limit: 20, Prelaunch: prelaunch,
				Capacity: rapid.IntRange(round/busyRounds, 4).Draw(rt, "capacity"),
			}
			for _, c := range claimJobs(t, s, claim).Jobs {
				if !c.Admitted { // as the dispatcher queues it
					changeJob(t, s, c.ID, func(r *job.Record) { r.Status, r.Lease, r.WakeAt = job.Pending, "", q.clock.Add(15*time.Second) })
					continue
				}
				if problem := q.admit(c); problem != "" {
					rt.Fatal(problem)
				}
				finish(t, s, c.ID)
			}
		}
	})
}

// queue is a model of the jobs that wait for a slot.
type queue struct {
	clock    time.Time
	waiting  []*waitingJob
	admitted []job.ClaimedJob
}

// waitingJob is a job with what is known about it when it becomes due.
type waitingJob struct {
	job.Record
	due      bool
	admitted int // how many jobs had been admitted
	ahead    int // how many due jobs of its consumer come before it
}

// comesBefore reports whether a job of the same consumer is admitted before another.
func (w *waitingJob) comesBefore(other *waitingJob) bool {
	a, b := later(w.JoinAt, w.CreatedAt), later(other.JoinAt, other.CreatedAt)
	return a.Before(b) || a.Equal(b) && bytes.Compare(w.ID[:], other.ID[:]) < 0
}

// markDue notes the position of the jobs that have become due.
func (q *queue) markDue() {
	for _, w := range q.waiting {
		if w.due || w.JoinAt.After(q.clock) {
			continue
		}
		w.due, w.admitted = true, len(q.admitted)
		for _, other := range q.waiting {
			if other.ConsumerID == w.ConsumerID && other.comesBefore(w) {
				w.ahead++
			}
		}
	}
}

// admit removes a job from the queue, and describes how it waited for too long.
func (q *queue) admit(r job.ClaimedJob) (problem string) {
	at := slices.IndexFunc(q.waiting, func(w *waitingJob) bool { return w.ID == r.ID })
	if at < 0 {
		return fmt.Sprintf("job %s was admitted twice", r.ID)
	}
	w := q.waiting[at]
	q.waiting = slices.Delete(q.waiting, at, at+1)
	if w.due {
		admissions := make(map[uuid.UUID]int)
		for _, before := range q.admitted[w.admitted:] {
			admissions[before.ConsumerID]++
		}
		for consumer, n := range admissions {
			switch {
			case consumer == r.ConsumerID && n > w.ahead:
				problem = fmt.Sprintf("%d jobs of its consumer were admitted before a job with %d ahead of it", n, w.ahead)
			case consumer != r.ConsumerID && n > w.ahead+1:
				problem = fmt.Sprintf("another consumer was admitted %d times while a job with %d of its consumer's ahead of it waited", n, w.ahead)
			}
		}
	}
	q.admitted = append(q.admitted, r)
	return problem
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestClaimLimitsConsumers checks that a consumer at its limit of bots is not
// admitted while other consumers are.
func TestClaimLimitsConsumers(t *testing.T) {
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
		count := map[uuid.UUID]int{}
		for _, c := range claimJobs(t, s, job.Claim{Now: now.Add(time.Hour), Lease: time.Minute, Limit: 10, Capacity: 10, PerConsumer: 2}).Jobs {
			if c.Admitted {
				count[c.ConsumerID]++
			}
		}
		if count[busy] != 1 || count[idle] != 1 {
			t.Errorf("admitted %v, want one job of each consumer", count)
		}
	})
}

// finish completes a job, so that no claim finds it again.
func finish(t *testing.T, s *store.Store, id uuid.UUID) {
	t.Helper()
	changeJob(t, s, id, func(r *job.Record) { r.Status, r.Lease, r.WakeAt = job.Completed, "", time.Time{} })
}

// changeJob changes a stored job.
func changeJob(t *testing.T, s *store.Store, id uuid.UUID, change func(*job.Record)) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		change(&r)
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	})
}
