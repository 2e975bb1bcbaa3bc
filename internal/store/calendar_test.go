package store_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/store"
)

// ensureConsumer returns the consumer with the e-mail, or creates one with the given
// name.
func ensureConsumer(t *testing.T, s *store.Store, name, email string) account.Consumer {
	t.Helper()
	var kept account.Consumer
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		kept, err = tx.EnsureConsumerByEmail(ctx, account.Consumer{
			ID: uuid.New(), Name: name, Email: email, WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestEnsureConsumerByEmail finds the oldest consumer with an e-mail, ignoring
// case, and inserts one otherwise.
func TestEnsureConsumerByEmail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		for i, name := range []string{"older", "newer"} {
			_, err := s.EnsureConsumer(t.Context(), account.Consumer{
				ID: uuid.New(), Name: name, Email: "Ada@Example.TEST", WebhookSecret: "s", WebhookVersion: 2, CreatedAt: now.Add(time.Duration(i) * time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := ensureConsumer(t, s, "ada@example.test", "ada@example.test"); got.Name != "older" {
			t.Errorf("got consumer %q of two with the same e-mail, want the older one", got.Name)
		}

		// A consumer whose name is an e-mail address does not own the address.
		namesake, err := s.EnsureConsumer(t.Context(), account.Consumer{
			ID: uuid.New(), Name: "bob@example.test", WebhookSecret: "s", WebhookVersion: 2, CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		bob := ensureConsumer(t, s, "bob@example.test", "bob@example.test")
		if bob.ID == namesake.ID || bob.Name != "bob@example.test (2)" || bob.Email != "bob@example.test" {
			t.Errorf("created %+v for an e-mail that is the name of another consumer", bob)
		}

		var group sync.WaitGroup
		found := make([]account.Consumer, 20)
		for i := range found {
			group.Go(func() { found[i] = ensureConsumer(t, s, "eve@example.test", "eve@example.test") })
		}
		group.Wait()
		for _, c := range found {
			if c.ID != found[0].ID || c.Name != "eve@example.test" {
				t.Errorf("concurrent calls returned %s %q and %s %q", c.ID, c.Name, found[0].ID, found[0].Name)
			}
		}
	})
}

// TestCalendarJobs finds and counts the jobs that invites created.
func TestCalendarJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer, other := newConsumer(t, s), newConsumer(t, s)
		invited := func(key, uid string) job.Record {
			r := newJob(consumer.ID)
			r.CalendarKey, r.ICalUID = key, uid
			return r
		}
		uid := "uid 🎥 \\0 \" \u202e " + randomText(100_000) // longer than the maximum index entry
		named, bare, plain := invited("a", uid), invited("b", ""), newJob(consumer.ID)
		foreign := newJob(other.ID)
		foreign.CalendarKey, foreign.ICalUID = "a", uid // keys are unique per consumer
		bare.CreatedAt = now.Add(-time.Hour)
		plain.MeetingURL = "https://zoom.us/j/1"
		plain.CreatedAt = now.Add(time.Hour)
		insert(t, s, named, bare, plain, foreign)

		want := func(what string, want job.Record, find func(ctx context.Context, tx *store.Tx) (job.Record, error)) {
			t.Helper()
			var got job.Record
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
				got, err = find(ctx, tx)
				return err
			})
			switch {
			case want.ID == uuid.Nil && !job.ErrorIs(err, job.NotFound):
				t.Errorf("%s: %s, %v, want none", what, got.ID, err)
			case want.ID != uuid.Nil && (err != nil || got.ID != want.ID || got.ICalUID != want.ICalUID || got.CalendarKey != want.CalendarKey):
				t.Errorf("%s: job %s with key %q, %v, want %s with key %q", what, got.ID, got.CalendarKey, err, want.ID, want.CalendarKey)
			}
		}
		byKey := func(key string) func(ctx context.Context, tx *store.Tx) (job.Record, error) {
			return func(ctx context.Context, tx *store.Tx) (job.Record, error) {
				return tx.LockJobByCalendarKey(ctx, consumer.ID, key)
			}
		}
		byUID := func(uid string) func(ctx context.Context, tx *store.Tx) (job.Record, error) {
			return func(ctx context.Context, tx *store.Tx) (job.Record, error) {
				return tx.LockJobAheadByICalUID(ctx, consumer.ID, uid)
			}
		}
		byMeeting := func(url string, anonymous bool) func(ctx context.Context, tx *store.Tx) (job.Record, error) {
			return func(ctx context.Context, tx *store.Tx) (job.Record, error) {
				return tx.LockJobByMeeting(ctx, consumer.ID, url, now, anonymous)
			}
		}
		want("by key", named, byKey("a"))
		want("by an unknown key", job.Record{}, byKey("c"))
		want("by icalUid", named, byUID(uid))
		want("by another icalUid", job.Record{}, byUID(uid+"x"))
		want("by meeting, the newest", named, byMeeting(named.MeetingURL, false))
		want("by meeting, without an icalUid", bare, byMeeting(named.MeetingURL, true))
		want("by meeting, a job without an invite", plain, byMeeting(plain.MeetingURL, true))
		want("by another meeting", job.Record{}, byMeeting("https://zoom.us/j/2", false))

		count := func(from, to time.Time) int {
			t.Helper()
			n, err := s.CountCalendarJobs(t.Context(), consumer.ID, from, to)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count(now.Add(-time.Hour), now); n != 1 {
			t.Errorf("%d jobs were created by invites in the last hour, want 1", n)
		}
		if n := count(now.Add(-time.Hour), now.Add(2*time.Hour)); n != 2 {
			t.Errorf("%d jobs were created by invites, want 2", n)
		}

		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.LockConsumer(ctx, consumer.ID) })
		if err != nil {
			t.Errorf("lock the consumer: %v", err)
		}
		twin := invited("a", "another")
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InsertJob(ctx, twin)
			return err
		})
		if err == nil {
			t.Error("two jobs of one consumer have the same calendar key")
		}
	})
}

// TestSaveJobRequest updates the requested fields of a job.
func TestSaveJobRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		r.MeetingURL, r.Platform, r.DisplayName = "https://zoom.us/j/1", job.ZoomWeb, "🎥 \\ \"quoted\" '"
		r.Webhooks = job.Webhooks{OnStatusChange: "https://a.test/s", OnFinalize: "https://a.test/f"}
		r.Metadata = []byte(`{"k":"\ud83c\udfa5 \\0"}`)
		r.AutoLeave = job.AutoLeave{AfterEntryDelaySeconds: 1, AfterSilenceSeconds: 2, AfterSoloSeconds: 3, AfterMaxSeconds: 4, OnBotDetected: true}
		r.ICalUID, r.CalendarKey = "uid", "key"
		for range 2 {
			if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.SaveJobRequest(ctx, r) }); err != nil {
				t.Fatal(err)
			}
			got, err := s.Job(t.Context(), r.ID)
			if got.Stats = nil; err != nil || !reflect.DeepEqual(got, r) {
				t.Errorf("stored %+v, %v\nwant %+v", got, err, r)
			}
			r.ICalUID, r.CalendarKey = "", "" // clears the key
		}
		r.RecordingDeletedAt, r.Status, r.WakeAt = now, job.Cancelled, time.Time{}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, r) }); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Job(t.Context(), r.ID); err != nil || !got.RecordingDeletedAt.Equal(now) {
			t.Errorf("the recording was deleted at %v, %v", got.RecordingDeletedAt, err)
		}
	})
}

// TestCommandsOfKind lists the commands of a kind, and finds the oldest pending
// one.
func TestCommandsOfKind(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		var all []ingest.QueuedCommand
		for i, kind := range []ingest.CommandKind{ingest.RequestRecordingPermission, ingest.SendChatMessage, ingest.RequestRecordingPermission} {
			all = append(all, ingest.QueuedCommand{ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Kind: kind, CreatedAt: now.Add(time.Duration(i) * time.Second)})
		}
		all[1].Args = []byte(`{"text":"hi"}`)
		waits := func(want uuid.UUID) {
			t.Helper()
			got, ok, err := s.PendingCommand(t.Context(), r.ID, ingest.RequestRecordingPermission)
			if err != nil || ok != (want != uuid.Nil) || got != want {
				t.Errorf("pending command %s, %v, %v, want %s", got, ok, err, want)
			}
		}
		waits(uuid.Nil)
		for _, c := range all {
			if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertCommand(ctx, c) }); err != nil {
				t.Fatal(err)
			}
		}
		waits(all[0].ID)
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.AckCommand(ctx, r.ID, all[0].ID.String(), now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		waits(all[2].ID)
		got, err := s.CommandsOfKind(t.Context(), r.ID, ingest.RequestRecordingPermission)
		if err != nil || !reflect.DeepEqual(got, []ingest.QueuedCommand{all[0], all[2]}) {
			t.Errorf("requests: %+v, %v", got, err)
		}
		got, err = s.CommandsOfKind(t.Context(), r.ID, ingest.SendChatMessage)
		if err != nil || !reflect.DeepEqual(got, all[1:2]) {
			t.Errorf("chat messages: %+v, %v", got, err)
		}
	})
}
