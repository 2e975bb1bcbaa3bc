package lifecycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
	"standin/internal/testing/world"
)

// TestChanges checks that of many changes at once each is applied once with its
// timeline entry, that two changes of one job are both applied, and that a change
// that fails or panics, before or after it has written something, leaves nothing behind and
// does not affect the others.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, panics := range []bool{false, true} {
		onBoth(t, func(t *testing.T, h *harness) { testChanges(t, h, panics) })
	}
}

func testChanges(t *testing.T, h *harness, panics bool) {
	const jobs = 40
	failure := errors.New("does not fit")
	errs, ids := make([]error, 2*jobs), make([]uuid.UUID, jobs)
	for i := range ids {
		ids[i] = h.newJob(t)
	}
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			defer func() {
				if recover() != nil || i%jobs == 6 && errs[i] != nil {
					errs[i] = failure
				}
			}()
			var r job.Record
			r, errs[i] = h.Change(t.Context(), ids[i%jobs], func(ctx context.Context, c *lifecycle.Change) error {
				c.LaunchFailures++
				err := c.MediaStored(ctx, int64(i), jobs)
				switch i % jobs {
				case 5:
					return failure
				case 6:
					if panics {
						panic("broken")
					}
					return failure
				case 7:
					_, err = c.QueueCommand(ctx, ingest.LeaveCall, nil)
					return errors.Join(err, failure)
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
		if i >= 5 && i <= 7 {
			want, wantErr = 0, failure
		}
		if commands, err := h.Store.PendingCommands(t.Context(), id); err != nil || len(commands) > 0 {
			t.Errorf("job %d has commands of a change that failed: %v (%v)", i, commands, err)
		}
		if !errors.Is(errs[i], wantErr) || !errors.Is(errs[jobs+i], wantErr) {
			t.Errorf("changes of job %d: %v, %v, want %v", i, errs[i], errs[jobs+i], wantErr)
		}
		if r, entries := h.Record(t, id), len(h.Entries(t, id)); r.LaunchFailures != want || entries != want {
			t.Errorf("job %d was changed %d times, with %d entries, want %d", i, r.LaunchFailures, entries, want)
		}
	}
	if _, err := h.Change(t.Context(), uuid.New(), unchanged); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("a job that does not exist: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Change(canceled, ids[0], unchanged); !errors.Is(err, context.Canceled) {
		t.Errorf("a change whose context has ended: %v", err)
	}
}

// TestAttemptEnds checks which ends of attempts are counted: a retried one with its cause, and
// the end of the job, if it is a live one that was not cancelled.
func TestAttemptEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		retry := func(id uuid.UUID, reason string) {
			h.Update(t, id, func(ctx context.Context, c *lifecycle.Change) error {
				_, err := c.StartAttempt(ctx, "node", "name", reason)
				return err
			})
		}
		fail := func(id uuid.UUID, attempt int) {
			h.ingest(t, botEvent(id, attempt, 9, job.BotExited, `{"failureCode": "internal_error", "failureDetail": "The page still showed its `+
				`pre-join screen when time was up. Seen: Ada. The bot did not reach the join button within 1m0s. `+
				`A capture of the page is among the job's files: capture-1.zip."}`))
		}
		retried := h.newJob(t)
		retry(retried, "")
		retry(retried, "the bot's last heartbeat was at 2026-11-20T10:00:00Z")
		retry(retried, "the bot's process has ended unexpectedly: OOMKilled")
		fail(retried, 2)
		completed := h.begun(t)
		h.walk(t, completed, job.BotJoined, job.BotInMeeting, job.BotRecordingStarted, job.BotExited, job.ManifestFinalized)
		cancelled := h.begun(t)
		h.cancel(t, cancelled)
		simulated := h.Caller
		simulated.Mode = job.Test
		request := world.Request("simulated")
		test, _, err := h.Create(t.Context(), simulated, request)
		if err != nil {
			t.Fatal(err)
		}
		h.begin(t, test.ID)
		fail(test.ID, 0)

		causes, err := h.Store.FailureCauses(t.Context(), time.Now().Add(time.Second), 10)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]job.CauseCount)
		for _, c := range causes {
			got[c.Cause] = c
		}
		button := got["join_button_missing"]
		if len(causes) != 3 || button.Code != job.InternalError || button.Recent != 1 || button.RecentOf+button.BeforeOf != 4 ||
			button.Capture != retried.String()+"/captures/2/capture-1.zip" {
			t.Errorf("%d causes, among them %+v", len(causes), button)
		}
		for _, cause := range []string{"bot_silent", "bot_ended"} {
			if c := got[cause]; c.Code != "" || c.Recent != 1 || c.RecentOf+c.BeforeOf != 4 {
				t.Errorf("%s is counted as %+v", cause, c)
			}
		}
	})
}

// unchanged is a change of a job that changes nothing.
func unchanged(context.Context, *lifecycle.Change) error { return nil }

// TestFailedStart checks that an attempt whose start fails leaves neither a status nor
// a webhook behind, and wakes nobody.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	before, woken, sent := h.Record(t, id), h.woken.Load(), h.sent.Load()
	refused := errors.New("refused")
	_, err := h.Change(t.Context(), id, func(ctx context.Context, c *lifecycle.Change) error {
		if started, err := c.StartAttempt(ctx, "node", "name", ""); !started || err != nil {
			t.Errorf("the attempt was started: %v, %v", started, err)
		}
		return refused
	})
	if after := h.Record(t, id); !errors.Is(err, refused) || after.Status != before.Status || after.Attempts != 0 ||
		after.Sequence != before.Sequence {
		t.Errorf("after a failed start: %+v, %v", after, err)
	}
	if n := h.count(t, id, job.AttemptStarted); n != 0 {
		t.Errorf("%d timeline entries", n)
	}
	if h.woken.Load() != woken || h.sent.Load() != sent {
		t.Error("a change that was not committed woke the dispatcher or the webhook sender")
	}
	h.checkHistory(t, id)
}

// withLockedJob runs fn while another transaction of PostgreSQL has locked one of two
// jobs, waits for what fn started, and returns both jobs.
func withLockedJob(t *testing.T, fn func(h *harness, started *sync.WaitGroup, locked, free uuid.UUID) error) (locked, free job.Record) {
	t.Helper()
	if cluster == nil {
		t.Skip("PostgreSQL is not installed")
	}
	h := newHarness(t, cluster.Fresh(t))
	lockedID, freeID := h.newJob(t), h.newJob(t)
	var started sync.WaitGroup
	err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockJob(ctx, lockedID); err != nil {
			return err
		}
		return fn(h, &started, lockedID, freeID)
	})
	if err != nil {
		t.Error(err)
	}
	started.Wait()
	return h.Record(t, lockedID), h.Record(t, freeID)
}

// TestChangeOfLockedJob checks that a job that another transaction has locked delays
// only its own changes.
func TestChangeOfLockedJob(t *testing.T) {
	t.Parallel()
	change := func(_ context.Context, c *lifecycle.Change) error { c.LaunchFailures++; return nil }
	r, other := withLockedJob(t, func(h *harness, started *sync.WaitGroup, locked, free uuid.UUID) error {
		for range 3 {
			started.Go(func() {
				if _, err := h.Change(t.Context(), locked, change); err != nil {
					t.Error(err)
				}
			})
		}
		for range 5 {
			if _, err := h.Change(t.Context(), free, change); err != nil {
				return err
			}
		}
		return nil
	})
	if r.LaunchFailures != 3 || other.LaunchFailures != 5 {
		t.Errorf("changes of the locked job: %d, of the other: %d", r.LaunchFailures, other.LaunchFailures)
	}
}

// TestIngestAtOnce checks that of many events at once, all are applied and counted
// except those beyond a quota, which leave nothing behind.
func TestIngestAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		ids := make([]uuid.UUID, 20)
		for i := range ids {
			ids[i] = h.newJob(t)
			h.begin(t, ids[i])
		}
		h.setEvents(t, ids[7], maxEvents, 0)
		var all sync.WaitGroup
		for i, id := range ids {
			failing := i == 7
			for range 2 { // the second is a duplicate
				all.Go(func() {
					_, err := h.Ingest(t.Context(), ingest.Simulated(id, 0), botEvent(id, 0, 1, job.BotJoined, `{"n":1}`))
					if failing != job.ErrorIs(err, job.OverQuota) || !failing && err != nil {
						t.Errorf("event of job %d: %v", i, err)
					}
				})
			}
		}
		all.Wait()
		h.setEvents(t, ids[7], 0, 0)
		for i, id := range ids {
			want, status := 2, job.Joining
			if i == 7 {
				want, status = 0, job.Dispatching
			}
			if r := h.Record(t, id); r.BotEvents != want || r.Status != status {
				t.Errorf("job %d: %d events, %s, want %d, %s", i, r.BotEvents, r.Status, want, status)
			}
			h.checkHistory(t, id)
		}
	})
}
