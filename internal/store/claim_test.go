package store_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// claimJobs claims jobs.
func claimJobs(t *testing.T, s *store.Store, claim job.Claim) (claimed job.Claimed) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, err = tx.ClaimJobs(ctx, claim)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return claimed
}

// claimIDs claims up to ten jobs for a minute and returns their IDs in order.
func claimIDs(t *testing.T, s *store.Store, claim job.Claim) []uuid.UUID {
	t.Helper()
	claim.Lease, claim.Limit = time.Minute, 10
	ids := []uuid.UUID{}
	for _, c := range claimJobs(t, s, claim).Jobs {
		ids = append(ids, c.ID)
	}
	return ids
}

// saveJob stores a job.
func saveJob(t *testing.T, s *store.Store, r job.Record) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, store.JobChange{Record: r}) })
}

// heartbeat records a heartbeat of a node.
func heartbeat(t *testing.T, s *store.Store, id string, at time.Time) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveNode(ctx, job.Node{ID: id, Name: id, StartedAt: now, HeartbeatAt: at, Capacity: 4})
	})
}

// TestClaimSkipsJobsOfOtherNodes checks that only the node that runs a job's bot
// claims the job, until the node has sent no heartbeat for the length of a lease or
// the job has been due for that long.
func TestClaimSkipsJobsOfOtherNodes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		r.Node, r.Status, r.Attempts = "other", job.Joining, 1
		saveJob(t, s, r)
		heartbeat(t, s, "other", now)
		soon := now.Add(30 * time.Second)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: soon}); len(got) != 0 {
			t.Error("the job was claimed while its node sent heartbeats")
		}
		if _, waits, err := s.NextWake(t.Context(), "mine", soon, 0); waits || err != nil {
			t.Errorf("the job wakes another node (%v)", err)
		}
		if _, waits, err := s.NextWake(t.Context(), "other", soon, 0); !waits || err != nil {
			t.Errorf("the job does not wake its own node (%v)", err)
		}
		if got := claimIDs(t, s, job.Claim{Node: "other", Now: soon}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("its own node claimed %v", got)
		}

		r.WakeAt = now.Add(2 * time.Minute)
		saveJob(t, s, r) // ends the lease
		unheard := now.Add(2*time.Minute + time.Second)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: unheard}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("two minutes after the last heartbeat of the node: claimed %v", got)
		}

		r.WakeAt = now
		saveJob(t, s, r)
		heartbeat(t, s, "other", unheard)
		if got := claimIDs(t, s, job.Claim{Node: "mine", Now: unheard}); !slices.Equal(got, []uuid.UUID{r.ID}) {
			t.Errorf("due for two minutes: claimed %v", got)
		}
	})
}

// TestFullNodeLeavesJobs checks that a node without capacity leaves the jobs that
// wait for their first bot to a node that reports capacity, and claims them, to
// record why they wait, when there is none.
func TestFullNodeLeavesJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		mine := job.Claim{Node: "mine", Now: r.WakeAt.Add(time.Second)}
		other := job.Node{ID: "other", Name: "other", StartedAt: now, HeartbeatAt: mine.Now, Capacity: 4}
		silent, full := other, other
		silent.HeartbeatAt = mine.Now.Add(-40 * time.Second)
		full.Bots, full.FullReason = 1, "this node has no memory left"
		for _, test := range []struct {
			name  string
			other job.Node
			want  int
		}{{"a node with capacity", other, 0}, {"a silent node", silent, 1}, {"a full node", full, 1}} {
			saveJob(t, s, r) // ends the lease
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveNode(ctx, test.other) })
			if got := claimIDs(t, s, mine); len(got) != test.want {
				t.Errorf("beside %s: claimed %v, want %d", test.name, got, test.want)
			}
		}
	})
}

// TestClaimOrder checks that the jobs of a consumer are claimed in the order of
// joinAt, limited by the capacity, and that jobs to prelaunch are claimed last.
func TestClaimOrder(t *testing.T) {
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
				saveJob(t, s, r)
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
		upcoming, err := s.Upcoming(t.Context(), now.Add(-5*time.Minute), now.Add(24*time.Hour), 5*time.Minute)
		if err != nil || len(upcoming) != 14 || upcoming[0] != (job.UpcomingCount{From: now.Add(-5 * time.Minute), Jobs: 3, Bots: 3}) ||
			upcoming[1] != (job.UpcomingCount{From: now, Jobs: 2, Bots: 5}) || upcoming[12].Bots != 4 || upcoming[13].Bots != 1 {
			t.Errorf("upcoming: %v (%v)", upcoming, err)
		}
	})
}

// TestUnscheduled checks that live jobs that began soon after they were created count for the same time of the next three weeks.
func TestUnscheduled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer, began := newConsumer(t, s).ID, time.Now()
		for _, in := range []time.Duration{0, 14 * time.Minute, 15 * time.Minute, 72 * time.Hour} {
			r := newJob(consumer)
			r.CreatedAt = began
			r.JoinAt, r.WakeAt = began.Add(in), began.Add(in)
			insert(t, s, r)
			r = newJob(consumer)
			r.Mode, r.CreatedAt, r.JoinAt = job.Test, began, began
			insert(t, s, r)
		}
		for at, want := range map[time.Time]int{
			began: 0, began.AddDate(0, 0, 7): 2, began.AddDate(0, 0, 21).Add(-10 * time.Minute): 2, began.AddDate(0, 0, 28): 0,
			began.AddDate(0, 0, 14).Add(-16 * time.Minute): 0, began.AddDate(0, 0, 14).Add(time.Minute): 0,
		} {
			if got, err := s.Unscheduled(t.Context(), at, 15*time.Minute); err != nil || got != want {
				t.Errorf("at %s: %d bots (%v), want %d", at.Sub(began), got, err, want)
			}
		}
	})
}

// TestClaimPrelaunched checks that a job is claimed once to be prelaunched, that a job
// with a prelaunched bot is left to its node, and that the bot counts for its
// consumer's limit.
func TestClaimPrelaunched(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		heartbeat(t, s, "other", now)
		joinAt := now.Add(3 * time.Second)
		made := map[job.Prelaunch]job.Record{}
		for _, state := range []job.Prelaunch{job.NotPrelaunched, job.Prelaunched, job.PrelaunchWithdrawn, job.PrelaunchSkipped} {
			r := newJob(consumer)
			r.CreatedAt, r.JoinAt, r.WakeAt = now.Add(-time.Hour), joinAt, joinAt
			insert(t, s, r)
			r.Prelaunch = state
			if state == job.Prelaunched || state == job.PrelaunchWithdrawn {
				r.Node = "other"
			}
			saveJob(t, s, r)
			if kept, err := s.Job(t.Context(), r.ID); err != nil || kept.Prelaunch != state {
				t.Fatalf("stored %q, want %q (%v)", kept.Prelaunch, state, err)
			}
			made[state] = r
		}
		claim := job.Claim{Node: "mine", Now: now, Capacity: 10, Prelaunch: 4 * time.Second}
		for limit, want := range map[int]int{1: 0, 2: 1} {
			limited := claim
			limited.PerConsumer = limit
			if got := claimIDs(t, s, limited); len(got) != want {
				t.Errorf("claimed %d jobs with a limit of %d, want %d", len(got), limit, want)
			}
			if want > 0 {
				saveJob(t, s, made[job.NotPrelaunched]) // ends the lease
			}
		}
		if next, _, err := s.NextWake(t.Context(), "mine", now, 4*time.Second); err != nil || !next.Equal(now.Add(time.Second)) {
			t.Errorf("a job that was not claimed: next %v (%v)", next, err)
		}
		if got := claimIDs(t, s, claim); !slices.Equal(got, []uuid.UUID{made[job.NotPrelaunched].ID}) {
			t.Errorf("before joinAt claimed %v of %v", got, made)
		}
		if next, _, err := s.NextWake(t.Context(), "other", now, 4*time.Second); err != nil || !next.Equal(joinAt) {
			t.Errorf("next: %v (%v)", next, err)
		}
		claim.Now = joinAt
		if got := claimIDs(t, s, claim); !slices.Equal(got, []uuid.UUID{made[job.PrelaunchSkipped].ID}) {
			t.Errorf("at joinAt claimed %v of %v", got, made)
		}
		claim.Node = "other"
		if got := claimIDs(t, s, claim); len(got) != 2 || slices.Contains(got, made[job.NotPrelaunched].ID) {
			t.Errorf("at joinAt the node claimed %v of %v", got, made)
		}
	})
}

// TestWakeNodeJobs checks that a node finds its prelaunched bots again.
func TestWakeNodeJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		var want []uuid.UUID
		for _, state := range []job.Prelaunch{job.NotPrelaunched, job.Prelaunched, job.PrelaunchWithdrawn, job.PrelaunchSkipped} {
			for _, node := range []string{"a", "b"} {
				r := newJob(consumer)
				r.JoinAt, r.WakeAt = now.Add(time.Hour), now.Add(time.Hour)
				insert(t, s, r)
				r.Prelaunch, r.Node = state, node
				saveJob(t, s, r)
				if node == "a" && (state == job.Prelaunched || state == job.PrelaunchWithdrawn) {
					want = append(want, r.ID)
				}
			}
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.WakeNodeJobs(ctx, "a", now) })
		jobs, err := s.NodeJobs(t.Context(), "a")
		if err != nil || len(jobs) != len(want) {
			t.Fatalf("jobs %+v (%v)", jobs, err)
		}
		for _, r := range jobs {
			if !slices.Contains(want, r.ID) || !r.WakeAt.Equal(now) {
				t.Errorf("job %+v", r)
			}
		}
	})
}

// TestNodeRestart checks that a restart of a node ends its own leases and no others.
func TestNodeRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		acquired := map[string]uuid.UUID{}
		for _, node := range []string{"a", "ab"} {
			insert(t, s, newJob(consumer))
			acquired[node] = claimIDs(t, s, job.Claim{Node: node, Now: now})[0]
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseNodeLeases(ctx, "a", now) })
		for node, want := range map[string]bool{"a": false, "ab": true} {
			if r, err := s.Job(t.Context(), acquired[node]); err != nil || (r.Lease != "") != want {
				t.Errorf("job of %s: lease %q (%v)", node, r.Lease, err)
			}
		}
	})
}

// TestClaimExpiredLease checks that a waiting job is admitted again when its lease has
// ended, and not before.
func TestClaimExpiredLease(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		claim := func(at time.Time) []job.ClaimedJob {
			t.Helper()
			return claimJobs(t, s, job.Claim{Node: "mine", Now: at, Lease: time.Minute, Limit: 10, Capacity: 4}).Jobs
		}
		first := claim(now)
		if len(first) != 1 || !first[0].Admitted {
			t.Fatalf("claimed %+v, want the job, admitted", first)
		}
		if got := claim(now.Add(59 * time.Second)); len(got) != 0 {
			t.Errorf("during the lease: claimed %+v", got)
		}
		second := claim(now.Add(time.Minute))
		if len(second) != 1 || second[0].ID != r.ID || !second[0].Admitted || second[0].Lease == first[0].Lease {
			t.Errorf("after the lease: claimed %+v, want the job, admitted, with another lease", second)
		}
	})
}

// TestAttackConsumersMadeByMail checks that consumers without keys and users, which
// calendar invites create, share one turn, and are served in turn within it.
func TestAttackConsumersMadeByMail(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		customer := newConsumer(t, s).ID
		if err := s.InsertKey(t.Context(), account.Key{
			ID: uuid.New(), ConsumerID: customer, Mode: job.Live, Prefix: "standin_live_", Hash: uuid.NewString(), CreatedAt: now,
		}); err != nil {
			t.Fatal(err)
		}
		consumers := []uuid.UUID{customer}
		for range 10 {
			consumers = append(consumers, newConsumer(t, s).ID)
		}
		for _, consumer := range slices.Backward(consumers) {
			for range 3 {
				insert(t, s, newJob(consumer))
			}
		}
		var turns, strangers []uuid.UUID
		for range 12 {
			for _, c := range claimJobs(t, s, job.Claim{Now: now, Lease: time.Hour, Limit: 50, Capacity: 1}).Jobs {
				if !c.Admitted { // as the dispatcher queues it
					changeJob(t, s, c.ID, func(r *job.Record) { r.Status, r.Lease, r.WakeAt = job.Pending, "", now })
					continue
				}
				turns = append(turns, c.ConsumerID)
				if c.ConsumerID != customer {
					strangers = append(strangers, c.ConsumerID)
				}
			}
		}
		if len(turns) != 12 || !slices.Contains(turns[:2], customer) || !slices.Contains(turns[2:4], customer) ||
			!slices.Contains(turns[4:6], customer) {
			t.Errorf("the customer %s has not every other turn: %s", customer, turns)
		}
		slices.SortFunc(strangers, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		if len(strangers) != 9 || len(slices.Compact(strangers)) != 9 {
			t.Errorf("the turns of the others: %s", strangers)
		}
	})
}
