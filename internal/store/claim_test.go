package store_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
)

// claimIDs claims and returns whose jobs were taken, in their order.
func claimIDs(t *testing.T, s *store.Store, claim job.Claim) []uuid.UUID {
	t.Helper()
	claim.Lease, claim.Limit = time.Minute, 10
	ids := []uuid.UUID{}
	err := s.Write(t.Context(), func(q *store.Queries) error {
		admitted, others, err := q.ClaimJobs(t.Context(), claim)
		for _, r := range append(admitted, others...) {
			ids = append(ids, r.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// save keeps a job as it is.
func save(t *testing.T, s *store.Store, r job.Record) {
	t.Helper()
	if err := s.Write(t.Context(), func(q *store.Queries) error { return q.SaveJob(t.Context(), r) }); err != nil {
		t.Fatal(err)
	}
}

// heartbeat notes that a node is there.
func heartbeat(t *testing.T, s *store.Store, id string, at time.Time) {
	t.Helper()
	err := s.Write(t.Context(), func(q *store.Queries) error {
		return q.SaveNode(t.Context(), job.Node{ID: id, Name: id, StartedAt: now, HeartbeatAt: at, Capacity: 4})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestClaimSkipsJobsOfOtherNodes: a job belongs to the node that runs its bot,
// until the node is silent for a lease or the job has been due for a lease.
func TestClaimSkipsJobsOfOtherNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		r.Node = "other"
		save(t, s, r)
		heartbeat(t, s, "other", now)
		soon := now.Add(30 * time.Second)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: soon}); len(got) != 0 {
			t.Error("it was taken while its node was heard")
		}
		if _, waits, err := s.NextWake(t.Context(), "mine", soon, 0); waits || err != nil {
			t.Errorf("it wakes another node than its own (%v)", err)
		}
		if _, waits, err := s.NextWake(t.Context(), "other", soon, 0); !waits || err != nil {
			t.Errorf("it does not wake its own node (%v)", err)
		}
		if got := claimIDs(t, s, job.Claim{Node: "other", Now: soon}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("its own node took %v", got)
		}

		r.WakeAt = now.Add(2 * time.Minute)
		save(t, s, r) // and ends the lease
		unheard := now.Add(2*time.Minute + time.Second)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: unheard}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("of a node that was not received for two minutes: %v", got)
		}

		r.WakeAt = now
		save(t, s, r)
		heartbeat(t, s, "other", unheard)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: unheard}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("left lying for two minutes: %v", got)
		}
	})
}

// A consumer's jobs are admitted in the order of joinAt, as many as there is
// capacity for. Jobs to prelaunch come last.
// TestClaimOrder: jobs that wait for capacity are claimed first, ordered by
// joinAt.
func TestClaimOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		made := map[string]uuid.UUID{}
		for name, in := range map[string]time.Duration{
			"second waiting": -time.Minute, "first waiting": -2 * time.Minute, "third waiting": -time.Second,
			"due": -time.Hour, "soon": 3 * time.Second, "later": time.Minute,
		} {
			r := newJob(consumer)
			r.CreatedAt, r.JoinAt, r.WakeAt = now.Add(-2*time.Hour), now.Add(in), now.Add(in)
			insert(t, s, r)
			if name != "due" && in < 0 {
				r.Status, r.WakeAt = job.Pending, now.Add(time.Hour)
				save(t, s, r)
			}
			made[name] = r.ID
		}
		early, waits, err := s.NextWake(t.Context(), "mine", now, 4*time.Second)
		if err != nil || !waits || !early.Equal(now.Add(-time.Hour)) {
			t.Errorf("next: %v, %v (%v)", early, waits, err)
		}
		for _, claim := range []struct {
			capacity int
			want     []uuid.UUID
		}{
			{2, []uuid.UUID{made["due"], made["first waiting"]}},
			{3, []uuid.UUID{made["second waiting"], made["third waiting"], made["soon"]}},
		} {
			got := claimIDs(t, s, job.Claim{Node: "mine", Now: now, Capacity: claim.capacity, Prelaunch: 4 * time.Second})
			if !slices.Equal(got, claim.want) {
				t.Errorf("claimed %v, want %v of %v", got, claim.want, made)
			}
		}
		early, waits, err = s.NextWake(t.Context(), "mine", now, 4*time.Second)
		if err != nil || !waits || !early.Equal(now.Add(56*time.Second)) {
			t.Errorf("next: %v, %v (%v)", early, waits, err)
		}
		upcoming, err := s.CountUpcoming(t.Context(), now.Add(-5*time.Minute), now.Add(24*time.Hour), 5*time.Minute)
		if want := []job.UpcomingCount{{From: now.Add(-5 * time.Minute), Jobs: 3}, {From: now, Jobs: 2}}; err != nil || !slices.Equal(upcoming, want) {
			t.Errorf("to come: %v, want %v (%v)", upcoming, want, err)
		}
	})
}

// TestNodeRestart: the leases of a restarted node end at once, and those of other
// nodes do not.
func TestNodeRestart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		acquired := map[string]job.Record{}
		for _, node := range []string{"a", "ab"} {
			insert(t, s, newJob(consumer))
			err := s.Write(t.Context(), func(q *store.Queries) error {
				_, taken, err := q.ClaimJobs(t.Context(), job.Claim{Node: node, Now: now, Lease: time.Minute, Limit: 1})
				acquired[node] = taken[0]
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		err := s.Write(t.Context(), func(q *store.Queries) error { return q.ReleaseNodeLeases(t.Context(), "a", now) })
		if err != nil {
			t.Fatal(err)
		}
		for node, want := range map[string]bool{"a": false, "ab": true} {
			if r, err := s.Job(t.Context(), acquired[node].ID); err != nil || (r.Lease != "") != want {
				t.Errorf("of %s: the lease is %q (%v)", node, r.Lease, err)
			}
		}
	})
}

// TestNodes inserts, updates and deletes nodes.
func TestNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		heartbeat(t, s, "a", now)
		heartbeat(t, s, "b", now.Add(time.Second))
		heartbeat(t, s, "a", now.Add(2*time.Second))
		nodes, err := s.Nodes(t.Context(), now.Add(time.Second))
		if err != nil || len(nodes) != 1 || nodes[0].ID != "a" || !nodes[0].HeartbeatAt.Equal(now.Add(2*time.Second)) || nodes[0].Capacity != 4 {
			t.Errorf("received since: %+v (%v)", nodes, err)
		}
		if err := s.Write(t.Context(), func(q *store.Queries) error { return q.DeleteNodes(t.Context(), now.Add(time.Second)) }); err != nil {
			t.Fatal(err)
		}
		if nodes, err := s.Nodes(t.Context(), now.Add(-time.Hour)); err != nil || len(nodes) != 1 {
			t.Errorf("left: %+v (%v)", nodes, err)
		}
	})
}

// listening runs a line and gives what it hears.
func listening(t *testing.T, s *store.Store) (*store.Notifier, <-chan store.Notification) {
	t.Helper()
	received := make(chan store.Notification, 1000)
	text := s.NewNotifier(func(changed store.Notification) { received <- changed }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { text.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return text, received
}

// await waits for news of a kind.
func await(t *testing.T, received <-chan store.Notification, what string, wanted func(store.Notification) bool) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case changed := <-received:
			if wanted(changed) {
				return
			}
		case <-timeout:
			t.Fatalf("nothing was received of %s", what)
		}
	}
}

// TestNotifier: a node receives the notifications of other nodes and not its
// own, also after a lost connection.
func TestNotifier(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	one, receivedByOne := listening(t, s)
	_, receivedByTwo := listening(t, s)
	missed := func(changed store.Notification) bool { return changed.Missed }
	await(t, receivedByOne, "the first line's begin", missed)
	await(t, receivedByTwo, "the second line's begin", missed)
	id := uuid.New()
	one.Notify(store.Notification{Commands: []uuid.UUID{id}})
	one.Notify(store.Notification{Jobs: true})
	commands := func(notification store.Notification) bool { return slices.Contains(notification.Commands, id) }
	await(t, receivedByTwo, "a command", commands)

	if err := s.Write(t.Context(), func(q *store.Queries) error { return q.TerminateNotifiers(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	await(t, receivedByTwo, "the line's return", missed)
	one.Notify(store.Notification{Deliveries: true})
	await(t, receivedByTwo, "webhooks after the line's return", func(changed store.Notification) bool { return changed.Deliveries && !changed.Missed })
	for {
		select {
		case changed := <-receivedByOne:
			if !changed.Missed {
				t.Errorf("it hears itself: %+v", changed)
			}
			continue
		default:
		}
		break
	}
}
