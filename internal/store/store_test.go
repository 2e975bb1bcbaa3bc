package store_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/outboxtest"
	"standin/internal/testing/storetest"
)

// randomText returns text that does not compress.
func randomText(length int) string {
	random := make([]byte, length/2)
	_, _ = rand.Read(random)
	return hex.EncodeToString(random)
}

// TestJobRoundTrip checks that every field of a stored job is read back, including
// texts with special characters, and that it can be reset.
func TestJobRoundTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		created := newJob(newConsumer(t, s).ID)
		created.ExternalID = "backslash \\0, quotes ' \", bidi \u202e, emoji 🎥" + randomText(100_000) // longer than the maximum index entry
		created.DisplayName = "Bot 🎥 \\"
		created.Webhooks = job.Webhooks{OnStatusChange: "https://a.test/s", OnFinalize: "https://a.test/f"}
		created.Metadata = json.RawMessage(`{"k":"\u202e 🎥 \\","n":1.5}`)
		created.AutoLeave.OnBotDetected = true
		created.Options.Recording.Layout = job.LayoutGallery
		created.ByEvent = true
		insert(t, s, created)

		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertCommand(ctx, ingest.QueuedCommand{ID: uuid.New(), JobID: created.ID, Kind: ingest.LeaveCall, CreatedAt: now})
		})
		created.HasCommands = true
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.RequestJob(ctx, created.ID) })
		created.Requested = true
		r := created
		r.State = job.State{
			Status: job.PermissionRequested, PreviousStatus: job.RecordingPaused, Attempts: 3, Attempt: 2,
			StartedAt: now.Add(1 * time.Second), FinalizedAt: now.Add(2 * time.Second), ManifestURI: "https://a.test/m",
			FailureCode: job.NetworkLoss, FailureDetail: "why ' \" \\",
		}
		r.StatusSince, r.Sequence, r.Lease = now.Add(3*time.Second), 17, "lease"
		r.WakeAt, r.AttemptStartedAt, r.LaunchedAt = now.Add(4*time.Second), now.Add(5*time.Second), now.Add(6*time.Second)
		r.LaunchFailures, r.LaunchError, r.HeartbeatAt = 4, "no browser", now.Add(7*time.Second)
		r.Stats = json.RawMessage(`{"bytesRecorded":1}`)
		r.Node, r.Prelaunch, r.BotEvents, r.BotEventBytes, r.BotLost = "node", job.Prelaunched, 2, 30, "stopped"
		r.RecordingDeletedAt, r.RecordingDeletedBy, r.RecordingErasedAt = now.Add(9*time.Second), "consumer", now.Add(10*time.Second)
		wantNoZero(t, reflect.ValueOf(r))
		for i, want := range []job.Record{created, r, created} {
			if i > 0 {
				saveJob(t, s, want)
			}
			got, err := s.Job(t.Context(), r.ID)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v\ngot  %+.1000v\nwant %+.1000v", err, got, want)
			}
			if view, err := s.JobByExternalID(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: r.Mode}, r.ExternalID); err != nil || !reflect.DeepEqual(view, want.Job) {
				t.Errorf("by externalId: %v\ngot  %+.1000v\nwant %+.1000v", err, view, want.Job)
			}
		}
		r = created
		r.MeetingURL, r.Platform, r.DisplayName = "https://zoom.us/j/1", job.ZoomWeb, "Ada"
		r.Webhooks, r.Metadata, r.AutoLeave = job.Webhooks{}, json.RawMessage(`{}`), job.AutoLeave{AfterSilenceSeconds: 2, AfterSoloSeconds: 3}
		r.Requested, r.JoinAt = false, now.Add(8*time.Second)
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveJobRequest(ctx, r) })
		if got, err := s.Job(t.Context(), r.ID); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%v\ngot  %+.1000v\nwant %+.1000v", err, got, r)
		}
		r.Status, r.WakeAt = job.InMeeting, time.Time{}
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, store.JobChange{Record: r}) }); err == nil {
			t.Error("a job in a meeting was stored without a wake time")
		}
		missing := newJob(r.ConsumerID)
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.SaveJob(ctx, store.JobChange{Record: missing})
		}); err == nil {
			t.Error("a job was saved that does not exist")
		}
	})
}

// wantNoZero checks that every field of a struct is set.
func wantNoZero(t *testing.T, value reflect.Value) {
	t.Helper()
	for field, content := range value.Fields() {
		if field.Anonymous {
			wantNoZero(t, content)
		} else if content.IsZero() {
			t.Errorf("the test does not set %s", field.Name)
		}
	}
}

// TestLeases checks that only the holder extends a lease, that WakeJob skips leased
// jobs, and that ReleaseLeases ends all leases.
func TestLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		write := func(fn func(ctx context.Context, tx *store.Tx) error) {
			t.Helper()
			write(t, s, fn)
		}
		wake := func() time.Time {
			t.Helper()
			got, err := s.Job(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got.WakeAt
		}
		write(func(ctx context.Context, tx *store.Tx) error {
			claimed, err := tx.ClaimJobs(ctx, job.Claim{Now: now, Limit: 1, Lease: time.Minute})
			r.Lease = claimed.Jobs[0].Lease
			return err
		})
		write(func(ctx context.Context, tx *store.Tx) error {
			if ok, err := tx.ExtendLease(ctx, r.ID, "another", now.Add(time.Hour)); ok || err != nil {
				t.Errorf("the lease of another holder was extended: %v, %v", ok, err)
			}
			if ok, err := tx.ExtendLease(ctx, r.ID, r.Lease, now.Add(2*time.Minute)); !ok || err != nil {
				t.Errorf("the holder's lease was not extended: %v, %v", ok, err)
			}
			return tx.WakeJob(ctx, r.ID, now)
		})
		if got := wake(); !got.Equal(now.Add(2 * time.Minute)) {
			t.Errorf("after the lease was extended and the job woken: %v", got)
		}
		write(func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseLeases(ctx, now.Add(time.Second)) })
		if got := wake(); !got.Equal(now.Add(time.Second)) {
			t.Errorf("after all leases were ended: %v", got)
		}
	})
}

// TestTimelineAndCommands checks that timeline entries are read as they were stored,
// and commands until they are acknowledged.
func TestTimelineAndCommands(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		entry := job.TimelineEntry{
			ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Attempt: 1, Source: job.SourceBot, Kind: job.BotJoined,
			EmittedAt: now, ReceivedAt: now.Add(time.Second), Applied: true, From: job.Dispatching, To: job.Joining,
			Data: json.RawMessage(`{"x":"🎥 \\"}`),
		}
		first := ingest.QueuedCommand{ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Kind: ingest.LeaveCall, CreatedAt: now}
		second := first
		second.ID, second.CreatedAt = uuid.Must(uuid.NewV7()), now.Add(time.Second)
		chat := ingest.QueuedCommand{
			ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Kind: ingest.SendChatMessage, Args: json.RawMessage(`{"text":"hi"}`), CreatedAt: now,
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, c := range []ingest.QueuedCommand{first, chat, second} {
				if err := tx.InsertCommand(ctx, c); err != nil {
					return err
				}
			}
			return storetest.AddEntry(ctx, tx, entry)
		})
		entries, err := s.Timeline(t.Context(), r.ID)
		if err != nil || len(entries) != 1 || !reflect.DeepEqual(entries[0], entry) {
			t.Errorf("timeline: %+v, %v\nwant %+v", entries, err, entry)
		}
		for kind, want := range map[job.Trigger]bool{job.BotJoined: true, job.BotInMeeting: false} {
			if seen, err := s.HasEvent(t.Context(), r.ID, 1, kind, now); seen != want || err != nil {
				t.Errorf("event %s received before: %v, %v", kind, seen, err)
			}
			if seen, err := s.HasEvent(t.Context(), r.ID, 1, kind, now.Add(time.Millisecond)); seen || err != nil {
				t.Errorf("event %s of another time received before: %v, %v", kind, seen, err)
			}
		}
		for id, want := range map[uuid.UUID]int{r.ID: 3, uuid.New(): 0} {
			if commands, err := s.PendingCommands(t.Context(), id); len(commands) != want || err != nil {
				t.Errorf("job %s has the pending commands %v, %v", id, commands, err)
			}
		}
		for _, want := range []uuid.UUID{first.ID, second.ID} {
			if got, ok, err := s.PendingCommand(t.Context(), r.ID, ingest.LeaveCall); err != nil || !ok || got != want {
				t.Errorf("pending command %s, %v, %v, want %s", got, ok, err, want)
			}
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, _, err := tx.AckCommand(ctx, r.ID, want.String(), now)
				return err
			})
		}
		if got, ok, err := s.PendingCommand(t.Context(), r.ID, ingest.LeaveCall); err != nil || ok {
			t.Errorf("pending command %s, %v", got, err)
		}
		waiting, err := s.PendingCommands(t.Context(), r.ID)
		if err != nil || len(waiting) != 1 || waiting[0].ID != chat.ID.String() || string(waiting[0].Args) != `{"text":"hi"}` {
			t.Errorf("pending commands after the acknowledgements: %+v, %v", waiting, err)
		}
		if got, err := s.CommandsOfKind(t.Context(), r.ID, ingest.LeaveCall); err != nil ||
			!reflect.DeepEqual(got, []ingest.QueuedCommand{first, second}) {
			t.Errorf("commands to leave: %+v, %v", got, err)
		}
	})
}

// outbox adapts a store to the conformance suite.
type outbox struct {
	*store.Store
	jobs *sync.Map // job IDs by delivery
}

// Tries returns the recorded tries of a delivery.
func (o outbox) Tries(ctx context.Context, deliveryID string) ([]webhook.Try, error) {
	jobID, _ := o.jobs.Load(deliveryID)
	d, err := o.Delivery(ctx, jobID.(uuid.UUID), deliveryID, now)
	return d.Tries, err
}

// Put inserts deliveries with their jobs and consumers.
func (o outbox) Put(ctx context.Context, deliveries ...webhook.Delivery) error {
	known := make(map[uuid.UUID]bool)
	for _, d := range deliveries {
		o.jobs.Store(d.ID, d.JobID)
		consumer := account.Consumer{
			ID: d.ConsumerID, Name: d.ConsumerID.String(), WebhookSecret: d.Secrets[0].Value, WebhookVersion: 2, CreatedAt: now,
		}
		if len(d.Secrets) > 1 {
			consumer.PreviousWebhookSecret, consumer.PreviousSecretExpires = d.Secrets[1].Value, d.Secrets[1].ExpiresAt
		}
		if known[d.ConsumerID] {
			continue
		}
		if _, err := o.EnsureConsumer(ctx, consumer); err != nil {
			return err
		}
		known[d.ConsumerID] = true
	}
	return o.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, d := range deliveries {
			r := newJob(d.ConsumerID)
			r.ID, r.ExternalID = d.JobID, d.JobID.String()
			if _, err := tx.InsertJob(ctx, r); err != nil {
				return err
			}
			if err := tx.InsertDelivery(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestOutbox runs the conformance suite of webhook.Outbox on both databases.
func TestOutbox(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		outboxtest.Run(t, func(t *testing.T) outboxtest.Outbox { return outbox{openSQLite(t), &sync.Map{}} })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		outboxtest.Run(t, func(t *testing.T) outboxtest.Outbox { return outbox{openPostgres(t), &sync.Map{}} })
	})
}
