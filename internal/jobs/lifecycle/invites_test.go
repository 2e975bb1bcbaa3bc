package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/bot/ingest"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/world"
)

// inviteHarness schedules invites with a clock that the test sets.
type inviteHarness struct {
	*harness
	lifecycle.EventScheduler
	clock atomic.Int64 // milliseconds
}

// middle is the time at which the invites of these tests arrive, in the middle of a
// month.
var middle = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newInviteHarness(t *testing.T, h *harness) *inviteHarness {
	t.Helper()
	d := &inviteHarness{harness: h}
	d.clock.Store(middle.UnixMilli())
	d.EventScheduler = lifecycle.EventScheduler{
		Jobs:  h.NewService(t, func() time.Time { return time.UnixMilli(d.clock.Load()).UTC() }),
		Plans: h.Store,
	}
	return d
}

// invitation returns an invite by ada to a meeting.
func invitation() calendar.Invite {
	return calendar.Invite{
		OrganizerEmail: "ada@example.test", Subject: "Weekly", MeetingURL: "https://meet.google.com/abc-defg-hij",
		Platform: job.Meet, JoinAt: middle.Add(24 * time.Hour), ICalUID: "uid-1@example.test",
	}
}

// schedule schedules an invite and checks the kind of its result.
func (d *inviteHarness) schedule(t *testing.T, invite calendar.Invite, want calendar.Kind) calendar.Result {
	t.Helper()
	result, err := d.Schedule(t.Context(), invite)
	if err != nil || result.Kind != want || result.JobID == uuid.Nil || result.ConsumerID == uuid.Nil {
		t.Fatalf("an invite to %s at %s: %+v, %v, want %s", invite.MeetingURL, invite.JoinAt, result, err, want)
	}
	return result
}

// owner returns the caller that owns the job of a result.
func owner(result calendar.Result) account.Caller {
	return account.Caller{ConsumerID: result.ConsumerID, Mode: job.Live}
}

// TestInviteEnd checks that a bot can be sent until the event ends, whoever moves the job.
func TestInviteEnd(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		invite := invitation()
		at := invite.JoinAt
		check := func(what string, want time.Time) {
			t.Helper()
			result, err := d.Schedule(t.Context(), invite)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Record(t, result.JobID).Options.StartBefore.Time(); !got.Equal(want) {
				t.Errorf("%s: startBefore %s, want %s", what, got, want)
			}
		}
		invite.EndsAt = at
		check("no length", time.Time{})
		invite.EndsAt = at.Add(time.Hour)
		check("an hour", at.Add(time.Hour))
		invite.JoinAt, invite.EndsAt = at.Add(2*time.Hour), time.Time{}
		check("moved, no end", at.Add(3*time.Hour))
		invite.EndsAt = at.Add(3 * time.Hour)
		result := d.schedule(t, invite, calendar.Deduped)
		later := at.Add(5 * time.Hour)
		if _, err := d.Jobs.Patch(t.Context(), owner(result), result.JobID, lifecycle.Patch{JoinAt: &later}); err != nil {
			t.Fatal(err)
		}
		check("moved by its consumer", at.Add(6*time.Hour))
		invite.EndsAt = at.Add(4 * time.Hour)
		check("longer again", at.Add(7*time.Hour))
	})
}

// TestSchedule checks that an invite creates a live job, and a consumer for a new
// organizer.
func TestSchedule(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		woken := h.woken.Load()
		invite := invitation()
		invite.OrganizerEmail = " Ada@Example.TEST "
		invite.Subject = "Q&A \x00"
		result := d.schedule(t, invite, calendar.Scheduled)
		if h.woken.Load() == woken {
			t.Error("the dispatcher was not woken")
		}
		r := h.Record(t, result.JobID)
		if r.ExternalID != "calendar-invite:"+r.ID.String() || r.MeetingURL != invite.MeetingURL || r.Platform != job.Meet ||
			r.Mode != job.Live ||
			r.Status != job.Scheduled || !r.JoinAt.Equal(invite.JoinAt) || !r.WakeAt.Equal(invite.JoinAt) || !r.CreatedAt.Equal(middle) ||
			r.DisplayName != job.DefaultDisplayName || r.AutoLeave != job.DefaultAutoLeave() || r.Webhooks != (job.Webhooks{}) ||
			!r.ByEvent || r.Requested {
			t.Errorf("created %+v", r)
		}
		var metadata map[string]string
		if err := json.Unmarshal(r.Metadata, &metadata); err != nil || len(metadata) != 3 || metadata["subject"] != "Q&A" ||
			metadata["organizerEmail"] != "ada@example.test" || metadata["icalUid"] != invite.ICalUID {
			t.Errorf("metadata %s, %v", r.Metadata, err)
		}
		consumer, err := h.Store.Consumer(t.Context(), result.ConsumerID)
		if err != nil || consumer.Email != "ada@example.test" || consumer.Name != "ada@example.test" || consumer.WebhookVersion != 2 ||
			!strings.HasPrefix(consumer.WebhookSecret, "whsec_") {
			t.Errorf("created the consumer %+v, %v", consumer, err)
		}
		jobs, _, err := h.Jobs(t.Context(), owner(result), job.Filter{}, lifecycle.Page{})
		if err != nil || len(jobs) != 1 || jobs[0].ID != result.JobID {
			t.Errorf("jobs of the consumer: %+v, %v", jobs, err)
		}
		if events := h.outbox(t, result.JobID); len(events) != 0 {
			t.Errorf("delivered %+v", events)
		}
	})
}

// TestScheduleForExistingConsumer checks that the consumer with the organizer's
// e-mail is used, ignoring case.
func TestScheduleForExistingConsumer(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	d.WebhookSecret = "whsec_everybodys"
	known, err := h.Store.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: "acme", Email: "Ada@Example.test", WebhookSecret: "s", WebhookVersion: 2, CreatedAt: middle,
	})
	if err != nil {
		t.Fatal(err)
	}
	if result := d.schedule(t, invitation(), calendar.Scheduled); result.ConsumerID != known.ID {
		t.Errorf("scheduled for %s, want %s", result.ConsumerID, known.ID)
	}
	if err := h.Store.SetConsumerMail(t.Context(), known.ID, []string{"@acme.test", "cleo@elsewhere.test"}); err != nil {
		t.Fatal(err)
	}
	for n, organizer := range []string{"dan@ACME.test", "cleo@elsewhere.test"} {
		theirs := invitation()
		theirs.OrganizerEmail, theirs.ICalUID, theirs.JoinAt = organizer, organizer, middle.Add(time.Duration(48+2*n)*time.Hour)
		if result := d.schedule(t, theirs, calendar.Scheduled); result.ConsumerID != known.ID {
			t.Errorf("an invite of %s is for %s, want the team with its address or domain", organizer, result.ConsumerID)
		}
	}
	other := invitation()
	other.OrganizerEmail = "bob@example.test"
	result := d.schedule(t, other, calendar.Scheduled)
	bob, err := h.Store.Consumer(t.Context(), result.ConsumerID)
	if err != nil || bob.ID == known.ID || bob.WebhookSecret != "whsec_everybodys" {
		t.Errorf("another organizer's consumer: %+v, %v", bob, err)
	}
}

// invitePair is an invite, another one for the same consumer, and what becomes of it.
type invitePair struct {
	First, Second json.RawMessage // what is not as in invitation
	Status        job.Status      // of the first job, when the second invite arrives
	Kind          calendar.Kind
	Old           job.Status // of the first job, afterward
}

// readInvites calls a function with each pair of invites in a file of testdata. Each pair has its
// own consumers.
func readInvites(t *testing.T, file string, check func(name string, p invitePair, first, second calendar.Invite)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var pairs map[string]invitePair
	if err := json.Unmarshal(text, &pairs); err != nil {
		t.Fatal(err)
	}
	for name, p := range pairs {
		host := fmt.Sprintf("%x.test", name)
		own := strings.NewReplacer("example.test", host, "EXAMPLE.TEST", strings.ToUpper(host))
		invites := []calendar.Invite{invitation(), invitation()}
		for i, change := range []json.RawMessage{p.First, p.Second} {
			if change == nil {
				change = json.RawMessage("{}")
			}
			if err := json.Unmarshal(change, &invites[i]); err != nil {
				t.Fatal(err)
			}
			invites[i].OrganizerEmail = own.Replace(invites[i].OrganizerEmail)
		}
		check(name, p, invites[0], invites[1])
	}
}

// TestDedupe checks which invites match the job of an earlier invite.
func TestDedupe(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		readInvites(t, "repeated-invites.json", func(name string, p invitePair, one, other calendar.Invite) {
			first := d.schedule(t, one, calendar.Scheduled)
			second, err := d.Schedule(t.Context(), other)
			if err != nil || second.Kind != p.Kind || (second.JobID == first.JobID) != (p.Kind == calendar.Deduped) {
				t.Errorf("%s: %+v, %v, want %s", name, second, err, p.Kind)
			}
			if again, err := d.Schedule(t.Context(), other); err != nil || again.JobID != second.JobID || again.Kind != calendar.Deduped {
				t.Errorf("%s, again: %+v, %v", name, again, err)
			}
		})
	})
}

// TestScheduleAfterCancellation checks that an invite whose job was cancelled is
// scheduled again once, and that the cancelled job still counts for the free tier.
func TestScheduleAfterCancellation(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	d.FreeTierJobs = 2
	cancelled := invitation()
	cancelled.Cancelled = true
	first := d.schedule(t, invitation(), calendar.Scheduled)
	d.schedule(t, cancelled, calendar.Deduped)
	second := d.schedule(t, invitation(), calendar.Scheduled)
	if second.JobID == first.JobID {
		t.Fatal("the cancelled job was scheduled again")
	}
	if again := d.schedule(t, invitation(), calendar.Deduped); again.JobID != second.JobID {
		t.Errorf("the invite again: %+v, want job %s", again, second.JobID)
	}
	if r := h.Record(t, first.JobID); r.Status != job.Cancelled {
		t.Errorf("the cancelled job is %s", r.Status)
	}
	d.schedule(t, cancelled, calendar.Deduped)
	d.schedule(t, invitation(), calendar.FreeTierExhausted)
}

// TestDismissedMeeting checks that no invite brings back a bot that its consumer has
// cancelled: neither the same one, nor one that moves the meeting, nor the next one after
// a cancellation.
func TestDismissedMeeting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recurrence string
		after      time.Duration // from the arrival of the first invite to that of the moved one
		want       calendar.Kind
	}{
		"an event":                             {"", 0, calendar.Deduped},
		"an event that has just begun":         {"", 24*time.Hour + 30*time.Minute, calendar.Deduped},
		"the next one of a series without IDs": {"", 26 * time.Hour, calendar.Scheduled},
		"an occurrence":                        {"20261116T120000Z", 26 * time.Hour, calendar.Deduped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSQLiteHarness(t)
			d := newInviteHarness(t, h)
			invite := invitation()
			invite.RecurrenceID = test.recurrence
			first := d.schedule(t, invite, calendar.Scheduled)
			if err := h.Cancel(t.Context(), owner(first), first.JobID); err != nil {
				t.Fatal(err)
			}
			cancelled := invite
			cancelled.Cancelled = true
			for _, next := range []calendar.Invite{invite, cancelled, invite} {
				if again := d.schedule(t, next, calendar.Deduped); again.JobID != first.JobID || again.Dismissed == next.Cancelled {
					t.Errorf("the invite again: %+v", again)
				}
			}
			d.clock.Add(test.after.Milliseconds())
			for range 3 {
				invite.JoinAt = invite.JoinAt.Add(48 * time.Hour)
				moved := d.schedule(t, invite, test.want)
				if test.want == calendar.Scheduled {
					return
				}
				r := h.Record(t, first.JobID)
				if moved.JobID != first.JobID || !moved.Dismissed || r.Status != job.Cancelled || !r.WakeAt.IsZero() {
					t.Errorf("the moved invite: %+v, the job %+v", moved, r)
				}
				d.clock.Add((48 * time.Hour).Milliseconds())
			}
		})
	}
}

// TestSchedulePastInvite checks that an invite in the past is scheduled and recorded
// on the timeline.
func TestSchedulePastInvite(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	for late, want := range map[time.Duration]int{400 * 24 * time.Hour: 1, time.Hour: 1, 14 * time.Minute: 0, -time.Hour: 0} {
		invite := invitation()
		invite.JoinAt, invite.ICalUID = middle.Add(-late), late.String()
		result := d.schedule(t, invite, calendar.Scheduled)
		if n := h.count(t, result.JobID, lifecycle.InviteTimePassed); n != want {
			t.Errorf("%v late: %d entries, want %d", late, n, want)
		}
	}
}

// TestDedupeInEveryStatus checks that a repeated invite neither restarts nor changes a
// job that was dispatched or has ended, unless the job was cancelled.
func TestDedupeInEveryStatus(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	result := d.schedule(t, invitation(), calendar.Scheduled)
	changed := invitation()
	changed.MeetingURL = "https://meet.google.com/new-link-new"
	for _, status := range job.Statuses() {
		switch status {
		case job.Cancelled, job.Failed, job.Dispatching, job.Joining, job.EnteringLobby:
			continue // see TestScheduleAfterCancellation and TestCorrectedInvite
		}
		h.setStatus(t, result.JobID, status)
		before := h.Record(t, result.JobID)
		if again := d.schedule(t, changed, calendar.Deduped); again.JobID != result.JobID {
			t.Errorf("job with status %s: %+v", status, again)
		}
		open := status == job.Scheduled || status == job.Pending
		if after := h.Record(t, result.JobID); (after.MeetingURL == changed.MeetingURL) != (open || before.MeetingURL == changed.MeetingURL) {
			t.Errorf("job with status %s: meeting %s, was %s", status, after.MeetingURL, before.MeetingURL)
		}
	}
	if n := h.count(t, result.JobID, lifecycle.JobChanged); n != 1 {
		t.Errorf("the timeline has %d changes, want 1 from before the dispatch", n)
	}
}

// TestInviteMovesJob checks that a changed invite moves a job that is not yet
// dispatched and keeps the consumer's own changes.
func TestInviteMovesJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		first := d.schedule(t, invitation(), calendar.Scheduled)
		_, err := h.Patch(t.Context(), owner(first), first.JobID, lifecycle.Patch{Metadata: json.RawMessage(`{"mine":1,"subject":"Own"}`)})
		if err != nil {
			t.Fatal(err)
		}
		moved := invitation()
		moved.JoinAt = moved.JoinAt.Add(2 * time.Hour)
		moved.MeetingURL, moved.Platform = "https://zoom.us/j/1", job.ZoomWeb
		woken := h.woken.Load()
		if again := d.schedule(t, moved, calendar.Deduped); again.JobID != first.JobID {
			t.Fatalf("moved %+v", again)
		}
		r := h.Record(t, first.JobID)
		if !r.JoinAt.Equal(moved.JoinAt) || !r.WakeAt.Equal(moved.JoinAt) || r.MeetingURL != moved.MeetingURL || r.Platform != job.ZoomWeb ||
			string(r.Metadata) != `{"mine":1,"subject":"Own"}` || r.Status != job.Scheduled || h.woken.Load() == woken {
			t.Errorf("after the move: %+v", r)
		}
		changes := h.Data(t, first.JobID, lifecycle.JobChanged)
		if len(changes) != 2 || changes[1] != `{"by":"calendar invite","changed":["joinAt","meetingUrl","platform"],"joinAt":"2026-11-16T14:00:00.000Z"}` {
			t.Errorf("the timeline: %s", changes)
		}
		if again := d.schedule(t, moved, calendar.Deduped); again.JobID != first.JobID {
			t.Errorf("the moved invite again: %+v", again)
		}

		// The same invite does not replace the consumer's own time.
		own := moved.JoinAt.Add(5 * time.Minute)
		if _, err := h.Patch(t.Context(), owner(first), first.JobID, lifecycle.Patch{JoinAt: &own}); err != nil {
			t.Fatal(err)
		}
		d.schedule(t, moved, calendar.Deduped)
		if r := h.Record(t, first.JobID); !r.JoinAt.Equal(own) {
			t.Errorf("the same invite moved the job to %v from its consumer's %v", r.JoinAt, own)
		}

		// A bot that was launched for the old time is withdrawn.
		h.Update(t, first.JobID, func(_ context.Context, c *lifecycle.Change) error { c.BeginPrelaunch("a"); return nil })
		moved.JoinAt = moved.JoinAt.Add(time.Hour)
		d.schedule(t, moved, calendar.Deduped)
		if r := h.Record(t, first.JobID); r.Prelaunch != job.PrelaunchWithdrawn || !r.JoinAt.Equal(moved.JoinAt) || r.WakeAt.Equal(moved.JoinAt) {
			t.Errorf("the moved job with a prelaunched bot: %+v", r)
		}

		// A job whose bot is in the meeting is not moved.
		h.begin(t, first.JobID)
		h.setStatus(t, first.JobID, job.InMeeting)
		later := moved
		later.JoinAt = moved.JoinAt.Add(24 * time.Hour)
		second := d.schedule(t, later, calendar.Scheduled)
		if r := h.Record(t, first.JobID); second.JobID == first.JobID || !r.JoinAt.Equal(moved.JoinAt) {
			t.Errorf("after the dispatch: %+v, the first job is at %v", second, r.JoinAt)
		}
		if again := d.schedule(t, moved, calendar.Deduped); again.JobID != first.JobID {
			t.Errorf("the first invite again: %+v", again)
		}
		// Of two jobs with one icalUid, the one that is not dispatched is moved.
		latest := moved
		latest.JoinAt = later.JoinAt.Add(time.Hour)
		if third := d.schedule(t, latest, calendar.Deduped); third.JobID != second.JobID {
			t.Errorf("moved %+v, want the second job", third)
		}
	})
}

// TestCorrectedInvite checks that no bot waits at the door of the old time or address,
// and that a failed job with another address is scheduled anew.
func TestCorrectedInvite(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	readInvites(t, "corrected-invites.json", func(name string, p invitePair, invite, corrected calendar.Invite) {
		first := d.schedule(t, invite, calendar.Scheduled)
		h.begin(t, first.JobID)
		h.setStatus(t, first.JobID, p.Status)
		second, err := d.Schedule(t.Context(), corrected)
		if err != nil || second.Kind != p.Kind || (second.JobID != first.JobID) != (p.Kind == calendar.Scheduled) {
			t.Errorf("%s: %+v (%v), want %s", name, second, err, p.Kind)
		}
		old := h.Record(t, first.JobID)
		if old.Status != p.Old {
			t.Errorf("%s: the first job is %s, want %s", name, old.Status, p.Old)
		}
		commands, err := h.Store.PendingCommands(t.Context(), first.JobID)
		if leaves := len(commands) == 1 && commands[0].Kind == ingest.LeaveCall; err != nil || leaves != (p.Old == job.Cancelled) {
			t.Errorf("%s: the first bot has the commands %+v (%v)", name, commands, err)
		}
		if again := d.schedule(t, corrected, calendar.Deduped); again.JobID != second.JobID {
			t.Errorf("%s: the invite again: %+v, want job %s", name, again, second.JobID)
		}
		if r := h.Record(t, second.JobID); p.Kind == calendar.Scheduled &&
			(r.MeetingURL != corrected.MeetingURL || !r.JoinAt.Equal(corrected.JoinAt) || r.Status != job.Scheduled) {
			t.Errorf("%s: the new job %+v", name, r)
		}
		// A cancellation of the event leaves no bot at any of its doors.
		corrected.Cancelled = true
		d.schedule(t, corrected, calendar.Deduped)
		for _, id := range []uuid.UUID{first.JobID, second.JobID} {
			if r := h.Record(t, id); r.Status == job.Scheduled || outsideMeeting(r.Status) {
				t.Errorf("%s: a job is %s after the cancellation", name, r.Status)
			}
		}
	})
}

func outsideMeeting(status job.Status) bool {
	return status == job.Dispatching || status == job.Joining || status == job.EnteringLobby
}

// TestInviteCancelsJob checks that a cancelled invite cancels the job that an invite
// created, makes its bot leave, and changes no other job.
func TestInviteCancelsJob(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	cancelled := invitation()
	cancelled.Cancelled = true
	if _, err := d.Schedule(t.Context(), cancelled); !job.ErrorIs(err, job.NotFound) {
		t.Fatalf("an unknown organizer: %v", err)
	}
	first := d.schedule(t, invitation(), calendar.Scheduled)
	if _, err := h.Store.ConsumerByEmail(t.Context(), cancelled.OrganizerEmail); err != nil {
		t.Fatal(err)
	}
	woken := h.woken.Load()
	for range 2 {
		if again := d.schedule(t, cancelled, calendar.Deduped); again.JobID != first.JobID {
			t.Fatalf("cancelled %+v", again)
		}
	}
	if r := h.Record(t, first.JobID); r.Status != job.Cancelled || !r.WakeAt.IsZero() {
		t.Errorf("after the cancellation: %+v", r)
	}
	if entries := h.Data(t, first.JobID, job.CancelRequested); !slices.Equal(entries, []string{`{"by":"calendar invite"}`}) {
		t.Errorf("the timeline: %s", entries)
	}

	// A bot leaves, also when the cancellation has another time.
	second := d.schedule(t, invitation(), calendar.Scheduled)
	h.begin(t, second.JobID)
	d.schedule(t, cancelled, calendar.Deduped)
	if r := h.Record(t, second.JobID); r.Status != job.Cancelled || r.WakeAt.IsZero() || h.woken.Load() == woken {
		t.Errorf("a running bot after the cancellation: %+v", r)
	}
	third := invitation()
	third.ICalUID = "uid-3"
	moved := d.schedule(t, third, calendar.Scheduled)
	third.JoinAt, third.Cancelled = third.JoinAt.Add(time.Hour), true
	if got := d.schedule(t, third, calendar.Deduped); got.JobID != moved.JobID || h.Record(t, moved.JobID).Status != job.Cancelled {
		t.Errorf("cancelled at another time: %+v", got)
	}

	// The consumer's own job for the same meeting continues.
	own := world.Request("mine")
	own.MeetingURL, own.JoinAt = "https://meet.google.com/own-meet-ing", cancelled.JoinAt
	made, _, err := h.Create(t.Context(), owner(first), own)
	if err != nil {
		t.Fatal(err)
	}
	cancelled.ICalUID, cancelled.MeetingURL = "uid-2", own.MeetingURL
	if _, err := d.Schedule(t.Context(), cancelled); !job.ErrorIs(err, job.NotFound) || h.Record(t, made.ID).Status != job.Scheduled {
		t.Errorf("the consumer's own job: %v", err)
	}
}

// TestSharedJob checks that two events for one meeting at one time have one job, which
// stays as long as one of them does, at its time.
func TestSharedJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		first, second := invitation(), invitation()
		second.ICalUID = "uid-2"
		shared := d.schedule(t, first, calendar.Scheduled)
		if again := d.schedule(t, second, calendar.Deduped); again.JobID != shared.JobID {
			t.Fatalf("the second event has job %s", again.JobID)
		}
		moved := first
		moved.JoinAt = first.JoinAt.Add(time.Hour)
		own := d.schedule(t, moved, calendar.Scheduled)
		if r := h.Record(t, shared.JobID); own.JobID == shared.JobID || r.Status != job.Scheduled || !r.JoinAt.Equal(second.JoinAt) {
			t.Errorf("after the first event was moved, the shared job is %+v", r)
		}
		back := d.schedule(t, first, calendar.Deduped)
		if r := h.Record(t, own.JobID); back.JobID != own.JobID && r.Status != job.Cancelled {
			t.Errorf("moved back: job %s, and job %s is %s", back.JobID, own.JobID, r.Status)
		}
		for _, one := range []calendar.Invite{second, first} {
			one.Cancelled = true
			d.schedule(t, one, calendar.Deduped)
		}
		for _, id := range []uuid.UUID{shared.JobID, own.JobID} {
			if r := h.Record(t, id); r.Status != job.Cancelled {
				t.Errorf("after both were cancelled, job %s is %s", id, r.Status)
			}
		}

		third, fourth := invitation(), invitation()
		third.ICalUID, fourth.ICalUID = "uid-3", "uid-4"
		kept := d.schedule(t, third, calendar.Scheduled)
		d.schedule(t, fourth, calendar.Deduped)
		third.Cancelled = true
		d.schedule(t, third, calendar.Deduped)
		if r := h.Record(t, kept.JobID); r.Status != job.Scheduled {
			t.Errorf("one of two events is cancelled: the job is %s", r.Status)
		}
	})
}

// TestManyShareJob checks that a job that many events share follows those that remain, and that none is left to be settled.
func TestManyShareJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		invites := make([]calendar.Invite, 30)
		for n := range invites {
			invites[n] = invitation()
			invites[n].ICalUID = fmt.Sprint("uid-", n)
			if _, err := d.Schedule(t.Context(), invites[n]); err != nil {
				t.Fatal(err)
			}
		}
		moved := invites[0]
		moved.JoinAt = moved.JoinAt.Add(-5 * time.Minute)
		shared := d.schedule(t, moved, calendar.Deduped)
		if err := d.SettleInvitations(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left, err := h.Store.DirtyInvitations(t.Context(), 1); err != nil || len(left) > 0 {
			t.Errorf("left to be settled: %+v, %v", left, err)
		}
		if r := h.Record(t, shared.JobID); !r.JoinAt.Equal(moved.JoinAt) {
			t.Errorf("the bot comes at %s, and one of its meetings begins at %s", r.JoinAt, moved.JoinAt)
		}
		for _, invite := range append(invites[1:], moved) {
			invite.Cancelled = true
			d.schedule(t, invite, calendar.Deduped)
		}
		if r := h.Record(t, shared.JobID); r.Status != job.Cancelled {
			t.Errorf("without events, the job is %s", r.Status)
		}
	})
}

// TestInviteMatchesConsumerJob checks that an invite to the same meeting at the same
// time as a consumer's own job creates no second job and does not change the first.
func TestInviteMatchesConsumerJob(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	d := newInviteHarness(t, h)
	consumer := owner(d.schedule(t, invitation(), calendar.Scheduled))
	own := world.Request("mine")
	own.MeetingURL, own.JoinAt = "https://meet.google.com/own-meet-ing", invitation().JoinAt
	made, _, err := h.Create(t.Context(), consumer, own)
	if err != nil {
		t.Fatal(err)
	}
	invite := invitation()
	invite.ICalUID, invite.MeetingURL = "uid-2", own.MeetingURL
	before := h.Record(t, made.ID)
	if result := d.schedule(t, invite, calendar.Deduped); result.JobID != made.ID {
		t.Errorf("scheduled %+v", result)
	}
	if after := h.Record(t, made.ID); after.ByEvent || !after.WakeAt.Equal(before.WakeAt) {
		t.Errorf("the consumer's own job became %+v", after)
	}
	invite.JoinAt = invite.JoinAt.Add(time.Hour)
	if result := d.schedule(t, invite, calendar.Scheduled); result.JobID == made.ID {
		t.Errorf("moved the consumer's own job: %+v", result)
	}
}

// TestConcurrentInvites checks that concurrent copies of an invite create one job, and
// that concurrent invites do not exceed the free tier.
func TestConcurrentInvites(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		d.FreeTierJobs = 3
		var mu sync.Mutex
		kinds := make(map[calendar.Kind]int)
		jobs := make(map[uuid.UUID]int)
		var group sync.WaitGroup
		for i := range 18 {
			group.Go(func() {
				invite := invitation()
				invite.ICalUID, invite.MeetingURL = fmt.Sprint("uid-", i%6), fmt.Sprint("https://meet.google.com/room-", i%6)
				result, err := d.Schedule(t.Context(), invite)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				kinds[result.Kind]++
				jobs[result.JobID]++
			})
		}
		group.Wait()
		if kinds[calendar.Scheduled] != 3 || kinds[calendar.Deduped] != 6 || kinds[calendar.FreeTierExhausted] != 9 || len(jobs) != 6 {
			t.Errorf("results %v with %d jobs, want 3 scheduled, 6 deduped, 9 exhausted, 6 jobs", kinds, len(jobs))
		}
	})
}

// TestFreeTier checks that a job beyond the free tier fails immediately with the usual
// webhooks, and that a new month or a plan allows jobs again.
func TestFreeTier(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		d.FreeTierJobs = 2
		numbered := func(n int) calendar.Invite {
			invite := invitation()
			invite.ICalUID, invite.MeetingURL = fmt.Sprint("uid-", n), fmt.Sprint("https://meet.google.com/room-", n)
			return invite
		}
		if _, err := h.Store.EnsureConsumer(t.Context(), account.Consumer{
			ID: uuid.New(), Name: "ada", Email: "ada@example.test", WebhookURL: "https://hooks.test/default",
			WebhookSecret: "s", WebhookVersion: 2, CreatedAt: middle,
		}); err != nil {
			t.Fatal(err)
		}
		d.clock.Store(time.Date(2026, 10, 31, 23, 59, 59, 999e6, time.UTC).UnixMilli())
		for n := range 2 {
			d.schedule(t, numbered(100+n), calendar.Scheduled) // last month's
		}
		d.schedule(t, numbered(102), calendar.FreeTierExhausted)

		d.clock.Store(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		first := d.schedule(t, numbered(1), calendar.Scheduled)
		if err := h.Cancel(t.Context(), owner(first), first.JobID); err != nil { // a cancelled job still counts
			t.Fatal(err)
		}
		moved := numbered(2)
		d.schedule(t, moved, calendar.Scheduled)
		if _, _, err := h.Create(t.Context(), owner(first), world.Request("mine")); err != nil { // jobs without an invite do not count
			t.Fatal(err)
		}
		spent := d.schedule(t, numbered(3), calendar.FreeTierExhausted)
		r := h.Record(t, spent.JobID)
		if r.Status != job.Failed || r.FailureCode != job.QuotaExceeded || r.FailureDetail == "" || !r.WakeAt.IsZero() || r.Attempts != 0 {
			t.Errorf("rejected as %+v", r)
		}
		reported := h.outbox(t, spent.JobID)
		if len(reported) != 2 || reported[0].Event != webhook.JobStatusChanged || reported[0].From != job.Scheduled ||
			reported[1].Event != webhook.JobFailed ||
			reported[1].FailureCode == nil || *reported[1].FailureCode != job.QuotaExceeded {
			t.Errorf("delivered %+v", reported)
		}

		if again := d.schedule(t, numbered(3), calendar.FreeTierExhausted); again.JobID != spent.JobID {
			t.Errorf("the same invite again: %+v, before %+v", again, spent)
		}
		moved.JoinAt = moved.JoinAt.Add(time.Hour)
		d.schedule(t, moved, calendar.Deduped) // moving a job does not count
		other := numbered(4)
		other.OrganizerEmail = "bob@example.test"
		d.schedule(t, other, calendar.Scheduled) // each consumer has a separate free tier

		pay(t, h, first.ConsumerID, "active", 1)
		paid := d.schedule(t, numbered(3), calendar.Scheduled)
		if paid.JobID == spent.JobID {
			t.Error("a job that has failed was scheduled")
		}
		for n := range 3 {
			d.schedule(t, numbered(10+n), calendar.Scheduled)
		}
		d.schedule(t, numbered(3), calendar.Deduped)
		pay(t, h, first.ConsumerID, "canceled", 2)
		d.schedule(t, numbered(20), calendar.FreeTierExhausted)
		d.clock.Store(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
		d.schedule(t, numbered(20), calendar.Scheduled)
	})
}

// pay gives a consumer a subscription with the given status.
func pay(t *testing.T, h *harness, consumer uuid.UUID, status billing.Status, n int) {
	t.Helper()
	err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.SubscriptionEvents(ctx, "sub_1"); err != nil {
			return err
		}
		return tx.SaveSubscription(ctx, billing.Subscription{
			ID: "sub_1", Consumer: consumer.String(), Plan: fmt.Sprint("plan ", n), Status: status,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// brokenPlans fails every request.
type brokenPlans struct{ err error }

func (p brokenPlans) ConsumerPlan(context.Context, uuid.UUID) (billing.Plan, error) {
	return billing.Plan{}, p.err
}

// TestPlansUnavailable checks that an invite fails with an error, not as exhausted, if
// plans cannot be read.
func TestPlansUnavailable(t *testing.T) {
	t.Parallel()
	d := newInviteHarness(t, newSQLiteHarness(t))
	unavailable := errors.New("payments unavailable")
	d.Plans = brokenPlans{unavailable}
	d.schedule(t, invitation(), calendar.Scheduled) // without a limit, plans are not read
	d.FreeTierJobs = 1
	other := invitation()
	other.ICalUID = "uid-2"
	if result, err := d.Schedule(t.Context(), other); !errors.Is(err, unavailable) {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestScheduleRejectsInvalidInvites checks invites that are not valid.
func TestScheduleRejectsInvalidInvites(t *testing.T) {
	t.Parallel()
	d := newInviteHarness(t, newSQLiteHarness(t))
	invite := invitation()
	invite.OrganizerEmail = "nobody"
	if result, err := d.Schedule(t.Context(), invite); !job.ErrorIs(err, job.InvalidInput) || asJobError(err).Path[0] != "organizerEmail" {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestInviteKeepsChanges checks that invites leave what a consumer has changed in the job of two events as it is, and that
// a cancellation counts after the start of a meeting whose end is not known.
func TestInviteKeepsChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d := newInviteHarness(t, h)
		hold, review := invitation(), invitation()
		hold.EndsAt, review.EndsAt = hold.JoinAt.Add(time.Hour), hold.JoinAt.Add(time.Hour)
		review.ICalUID, review.JoinAt = "uid-2@example.test", review.JoinAt.Add(5*time.Minute)
		result := d.schedule(t, hold, calendar.Scheduled)
		d.schedule(t, review, calendar.Deduped)
		at, until, name := hold.JoinAt.Add(5*time.Hour), hold.JoinAt.Add(6*time.Hour), "Own"
		patch := lifecycle.Patch{JoinAt: &at, StartBefore: &until, DisplayName: &name, Title: &name}
		if _, err := d.Jobs.Patch(t.Context(), owner(result), result.JobID, patch); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, invite := range []calendar.Invite{hold, review} {
				if again := d.schedule(t, invite, calendar.Deduped); again.JobID != result.JobID {
					t.Errorf("%s has the job %s, want %s", invite.ICalUID, again.JobID, result.JobID)
				}
			}
		}
		r := h.Record(t, result.JobID)
		if !r.JoinAt.Equal(at) || !r.Options.StartBefore.Time().Equal(until) || r.DisplayName != name || r.Options.Title != name {
			t.Errorf("the job is %q, %q at %s until %s", r.DisplayName, r.Options.Title, r.JoinAt, r.Options.StartBefore.Time())
		}
		started := invitation()
		started.ICalUID, started.MeetingURL, started.JoinAt = "started", "https://meet.google.com/xyz-uvwx-rst", middle.Add(-time.Minute)
		result = d.schedule(t, started, calendar.Scheduled)
		started.Cancelled = true
		d.schedule(t, started, calendar.Deduped)
		if r := h.Record(t, result.JobID); r.Status != job.Cancelled {
			t.Errorf("the job of a cancelled meeting is %s", r.Status)
		}
	})
}
