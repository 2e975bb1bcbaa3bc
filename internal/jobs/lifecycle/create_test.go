package lifecycle_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// TestCreateOnce checks that repeated and concurrent requests create one job with the
// values of the first request.
func TestCreateOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const callers = 24
		var mu sync.Mutex
		ids, fresh := make(map[uuid.UUID]int), 0
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				j, replayed, err := h.Create(t.Context(), h.Caller, world.Request("invoice 7"))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if ids[j.ID]++; !replayed {
					fresh++
				}
			})
		}
		group.Wait()
		if len(ids) != 1 || fresh != 1 {
			t.Fatalf("%d callers got %d jobs, %d of them new", callers, len(ids), fresh)
		}
		if woken := h.woken.Load(); woken != 1 {
			t.Errorf("the dispatcher was woken %d times for one new job", woken)
		}
	})
}

// TestReplayErasedJob checks that a replay changes nothing, for any request, and also after the job
// was erased, when it is no longer found by its ID.
func TestReplayErasedJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		first, _, err := h.Create(t.Context(), h.Caller, world.Request("standup"))
		if err != nil {
			t.Fatal(err)
		}
		h.cancel(t, first.ID)
		other := world.Request("standup")
		other.MeetingURL, other.JoinAt = "https://meet.google.com/xyz-xyzw-xyz", time.Now().Add(time.Hour)
		for _, url := range []string{first.MeetingURL, ""} {
			again, replayed, err := h.Create(t.Context(), h.Caller, other)
			if err != nil || !replayed || again.ID != first.ID || again.MeetingURL != url || !again.JoinAt.Equal(first.JoinAt) ||
				again.Status != job.Cancelled {
				t.Errorf("the replay returned %+v, replayed %v (%v), want %+v", again, replayed, err, first)
			}
			if known, err := h.JobByExternalID(t.Context(), h.Caller, "standup"); err != nil || known.ID != first.ID {
				t.Errorf("by externalId: %+v, %v", known, err)
			}
			if err := h.Store.EraseJob(t.Context(), first.ID, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Job(t.Context(), h.Caller, first.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("read the erased job: %v", err)
		}
	})
}

// TestCreate checks the fields of a new job.
func TestCreate(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	later := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	tests := map[string]struct {
		joinAt time.Time
		want   time.Time
	}{
		"now":         {},
		"later":       {joinAt: later, want: later},
		"in the past": {joinAt: started, want: started},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requested := world.Request(uuid.NewString())
			requested.JoinAt = test.joinAt
			before := time.Now().Truncate(time.Millisecond)
			created, _, err := h.Create(t.Context(), h.Caller, requested)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := h.Job(t.Context(), h.Caller, created.ID)
			if err != nil {
				t.Fatal(err)
			}
			if kept.State != created.State || !kept.JoinAt.Equal(created.JoinAt) || !kept.CreatedAt.Equal(created.CreatedAt) {
				t.Errorf("created %+v and stored %+v", created, kept)
			}
			if created.Status != job.Scheduled || created.Attempts != 0 || created.CreatedAt.Before(before) {
				t.Errorf("created %+v", created)
			}
			if test.joinAt.IsZero() && !created.JoinAt.Equal(created.CreatedAt) || !test.joinAt.IsZero() && !created.JoinAt.Equal(test.want) {
				t.Errorf("joinAt %s", created.JoinAt)
			}
			due := created.JoinAt
			if due.Before(created.CreatedAt) {
				due = created.CreatedAt
			}
			if r := h.Record(t, created.ID); !r.WakeAt.Equal(due) {
				t.Errorf("due at %s, want %s", r.WakeAt, due)
			}
		})
	}
}

// TestCancel cancels a job in every phase.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for name, walk := range map[string][]job.Trigger{
		"scheduled": nil, "dispatching": {}, "in the lobby": {job.BotJoined, job.BotEnteringLobby}, "recording": {job.BotRecordingStarted},
		"permission requested": {job.BotPermissionRequest}, "uploading": {job.BotMediaUploading}, "completed": {job.ManifestFinalized},
	} {
		want, leaves, webhooks := job.Cancelled, walk != nil, 1 // leaves: the bot gets a command
		if name == "completed" {
			want, leaves, webhooks = job.Completed, false, 0
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := h.newJob(t)
			if walk != nil {
				h.begin(t, id)
			}
			h.walk(t, id, walk...)
			before := len(h.outbox(t, id))
			for range 2 { // the second time nothing changes
				h.cancel(t, id)
			}
			r := h.Record(t, id)
			if r.Status != want || webhooks > 0 && r.WakeAt.IsZero() == leaves {
				t.Errorf("status %s, want %s; wake time %s, bot running %v", r.Status, want, r.WakeAt, leaves)
			}
			commands, err := h.Store.PendingCommands(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if reported := len(commands) == 1 && commands[0].Kind == ingest.LeaveCall; reported != leaves || len(commands) > 1 {
				t.Errorf("commands for the bot: %v", commands)
			}
			if after := len(h.outbox(t, id)); after-before != webhooks {
				t.Errorf("%d webhooks for the cancellation", after-before)
			}
			h.checkHistory(t, id)
		})
	}
}

// TestManifestOfCancelledRecording checks that the manifest is attached, the job
// stays cancelled and no job.finalized event is sent.
func TestManifestOfCancelledRecording(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.walk(t, id, job.BotRecordingStarted)
	h.cancel(t, id)
	if answer := h.ingest(t, botEvent(id, 0, 7, job.BotExited, `{"endReason":"left_on_command"}`)); answer.Applied ||
		answer.Reason != job.Terminal {
		t.Errorf("response to the exit: %+v", answer)
	}
	if answer := h.ingest(t, botEvent(id, 0, 8, job.ManifestFinalized, "")); !answer.Applied || answer.Status != job.Cancelled {
		t.Errorf("response to the manifest: %+v", answer)
	}
	r := h.Record(t, id)
	if r.Status != job.Cancelled || r.ManifestURI != h.ManifestURI(id) || r.FinalizedAt.IsZero() {
		t.Errorf("job %+v", r.State)
	}
	if r.WakeAt.After(time.Now()) {
		t.Errorf("cleaned up only at %s", r.WakeAt)
	}
	if _, err := h.Storage.Manifest(t.Context(), id); err != nil {
		t.Errorf("read the manifest: %v", err)
	}
	if finalized := eventsNamed(h.outbox(t, id), webhook.JobFinalized); len(finalized) > 0 {
		t.Errorf("job.finalized: %+v", finalized)
	}
	h.checkHistory(t, id)
}

// TestOtherJob checks which jobs are for the same meeting at the same time, and that a
// deduplicated request returns such a job.
func TestOtherJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const link = "https://meet.google.com/abc-defg-hij"
		soon := h.Now().Add(2 * time.Hour)
		ask := func(externalID, link string, at time.Time, dedupe bool) lifecycle.NewJob {
			r := world.Request(externalID)
			r.MeetingURL, r.JoinAt, r.Dedupe = link, at, dedupe
			return r
		}
		made, _, err := h.Create(t.Context(), h.Caller, ask("first", link, soon, true))
		if err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			link string
			at   time.Time
			same bool
		}{
			"the same":        {link, soon, true},
			"another way":     {"HTTPS://meet.google.com/abcdefghij?authuser=1", soon, true},
			"a minute later":  {link, soon.Add(time.Minute), true},
			"an hour earlier": {link, soon.Add(-time.Hour), false},
			"now":             {link, time.Time{}, false},
			"another meeting": {"https://meet.google.com/new-link-new", soon, false},
		} {
			j, replayed, err := h.Create(t.Context(), h.Caller, ask(name, test.link, test.at, true))
			if err != nil || replayed != test.same || (j.ID == made.ID) != test.same {
				t.Errorf("%s: job %s, replayed %v, %v", name, j.ID, replayed, err)
			}
			if !test.same {
				if err := h.Cancel(t.Context(), h.Caller, j.ID); err != nil {
					t.Error(err)
				}
			}
		}
		second, replayed, err := h.Create(t.Context(), h.Caller, ask("second", link, soon, false))
		if other, _, otherErr := h.OtherJob(t.Context(), second); err != nil || replayed || otherErr != nil || other != made.ID {
			t.Errorf("without dedupe: replayed %v, %v; the other job is %s, %v", replayed, err, other, otherErr)
		}
		if again, replayed, err := h.Create(t.Context(), h.Caller, ask("second", link, soon, true)); err != nil || !replayed ||
			again.ID != second.ID {
			t.Errorf("the externalId again: %s, %v, %v", again.ID, replayed, err)
		}
		testMode := h.Caller
		testMode.Mode = job.Test
		if _, replayed, err := h.Create(t.Context(), testMode, ask("test", link, soon, true)); err != nil || replayed {
			t.Errorf("in test mode: replayed %v, %v", replayed, err)
		}

		// A bot in the meeting counts whenever it came, and one that has left does not.
		running, _, err := h.Create(t.Context(), h.Caller, ask("running", "https://zoom.us/j/2", h.Now().Add(-3*time.Hour), false))
		if err != nil {
			t.Fatal(err)
		}
		h.begin(t, running.ID)
		for status, same := range map[job.Status]bool{job.RecordingStarted: true, job.Finalizing: false} {
			h.setStatus(t, running.ID, status)
			other, found, err := h.OtherJob(t.Context(), job.Job{
				ConsumerID: h.Caller.ConsumerID, Mode: job.Live, MeetingURL: "https://us02web.zoom.us/j/2?pwd=x", JoinAt: h.Now(),
			})
			if (found && other == running.ID) != same || err != nil {
				t.Errorf("beside a job that is %s: %s, %v", status, other, err)
			}
		}

		// Concurrent requests create one job.
		var mu sync.Mutex
		var group sync.WaitGroup
		ids := make(map[uuid.UUID]bool)
		for range 12 {
			group.Go(func() {
				j, _, err := h.Create(t.Context(), h.Caller, ask(uuid.NewString(), "https://zoom.us/j/1", soon, true))
				mu.Lock()
				defer mu.Unlock()
				if ids[j.ID] = true; err != nil {
					t.Error(err)
				}
			})
		}
		if group.Wait(); len(ids) != 1 {
			t.Errorf("concurrent requests created %d jobs", len(ids))
		}
	})
}
