package store_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// failed changes a job to one that failed without a recording.
func failed(r *job.Record) {
	r.Status, r.ManifestURI, r.FailureCode, r.FailureDetail = job.Failed, "", job.LobbyTimeout, "nobody came"
}

// addHistory adds an entry, a command and a delivery with a try to a job.
func addHistory(t *testing.T, s *store.Store, r job.Record, outcome webhook.Outcome) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		if err := storetest.AddEntry(ctx, tx, job.TimelineEntry{
			ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Source: job.SourceBot, Kind: job.BotJoined, EmittedAt: now, ReceivedAt: now,
		}); err != nil {
			return err
		}
		return tx.InsertCommand(ctx, ingest.QueuedCommand{ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Kind: ingest.LeaveCall, CreatedAt: now})
	})
	post(t, s, newDelivery(r, 1, "https://a.test/"))
	for _, d := range claimDeliveries(t, s, now) {
		tryDelivery(t, s, d, now, webhook.Verdict{Outcome: outcome, RetryAt: now.Add(time.Hour)})
	}
}

// TestErasableJobs checks that ErasableJobs returns pages of the jobs that ended
// before a time and have no recording and no pending webhook, ordered by their end.
func TestErasableJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ada, bob := newConsumer(t, s).ID, newConsumer(t, s).ID
		day := func(n int) time.Time { return now.Add(time.Duration(n) * 24 * time.Hour) }
		second := endedJob(t, s, ada, day(2), failed)
		first := endedJob(t, s, ada, day(1), failed, func(r *job.Record) { r.Status, r.Attempts = job.Cancelled, 0 })
		third := endedJob(t, s, ada, day(3), failed, func(r *job.Record) {
			r.ManifestURI, r.RecordingDeletedAt, r.RecordingErasedAt = "https://a.test/m", day(3), day(3)
		})
		endedJob(t, s, ada, day(4), failed)
		endedJob(t, s, bob, day(1), failed)
		endedJob(t, s, ada, day(0), failed, func(r *job.Record) { r.ManifestURI = "https://a.test/m" })
		endedJob(t, s, ada, day(0), failed, func(r *job.Record) { r.ManifestURI, r.RecordingDeletedAt = "https://a.test/m", day(0) })
		endedJob(t, s, ada, day(0), failed, func(r *job.Record) { r.WakeAt = day(9) })
		addHistory(t, s, endedJob(t, s, ada, day(0), failed), webhook.Retry)
		addHistory(t, s, second, webhook.PermanentFailure)

		got := endedPages(t, func(after store.EndedJob, limit int) ([]store.EndedJob, error) {
			return s.ErasableJobs(t.Context(), ada, day(3), after, limit)
		})
		if want := []uuid.UUID{first.ID, second.ID, third.ID}; !slices.Equal(got, want) {
			t.Errorf("erasable %v, want %v", got, want)
		}
	})
}

// TestEraseJob checks that erasing a job deletes its history, and that inserting its
// externalId again returns the erased job.
func TestEraseJob(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := endedJob(t, s, newConsumer(t, s).ID, now, failed, func(r *job.Record) { r.StartedAt = now })
		addHistory(t, s, r, webhook.Delivered)
		running := newJob(r.ConsumerID)
		insert(t, s, running)
		if err := s.EraseJob(t.Context(), running.ID, now); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("erase a job that has not ended: %v", err)
		}
		for range 2 { // erasing it twice is not an error
			if err := s.EraseJob(t.Context(), r.ID, now); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Job(t.Context(), r.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the erased job: %v", err)
		}
		entries, err := s.Timeline(t.Context(), r.ID)
		deliveries, _, listErr := s.ListDeliveries(t.Context(), r.ID, webhook.DeliveryCursor{}, 10, now)
		commands, commandErr := s.PendingCommands(t.Context(), r.ID)
		if err != nil || listErr != nil || commandErr != nil || len(entries)+len(deliveries)+len(commands) > 0 {
			t.Errorf("history after the erasure: %v %v %v (%v, %v, %v)", entries, deliveries, commands, err, listErr, commandErr)
		}

		again := newJob(r.ConsumerID)
		again.ExternalID = r.ExternalID
		inserted := true
		if err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
			inserted, err = tx.InsertJob(ctx, again)
			return err
		}); err != nil || inserted {
			t.Errorf("insert a job with the erased externalId: %v, %v", inserted, err)
		}
		got, err := s.JobByExternalID(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: r.Mode}, r.ExternalID)
		want := r.Job
		want.MeetingURL, want.DisplayName, want.FailureDetail = "", "", ""
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("erased job:\n     %+v (%v)\nwant %+v", got, err, want)
		}
		if view := job.NewView(got); view.Status != job.Failed || view.FailureCode == nil || *view.FailureDetail != "lobby timeout" {
			t.Errorf("view %+v", view)
		}
		other := newJob(r.ConsumerID)
		other.ExternalID, other.Mode = r.ExternalID, job.Test
		insert(t, s, other) // live and test externalIds are separate
	})
}

// TestEraseJobWhileReplaying erases jobs while their externalIds are inserted again,
// and checks that each externalId still has one job or tombstone.
func TestEraseJobWhileReplaying(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		var group sync.WaitGroup
		for range 30 {
			r := endedJob(t, s, consumer, now, failed)
			group.Go(func() {
				if err := s.EraseJob(t.Context(), r.ID, now); err != nil {
					t.Error(err)
				}
			})
			group.Go(func() {
				again := newJob(consumer)
				again.ExternalID = r.ExternalID
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					inserted, err := tx.InsertJob(ctx, again)
					if err != nil {
						return err
					}
					got, err := tx.JobByExternalID(ctx, live(consumer), r.ExternalID)
					if err == nil && (inserted || got.ID != r.ID) {
						t.Errorf("inserted %v, found %s, want %s", inserted, got.ID, r.ID)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

// TestReferences checks that nothing can refer to a job that does not exist.
func TestReferences(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		missing, existing := newJob(newConsumer(t, s).ID), newJob(newConsumer(t, s).ID)
		insert(t, s, existing)
		for name, fn := range map[string]func(ctx context.Context, tx *store.Tx) error{
			"timeline entry": func(ctx context.Context, tx *store.Tx) error {
				return tx.SaveJob(ctx, store.JobChange{Record: existing, Entries: []job.TimelineEntry{{
					ID: uuid.New(), JobID: missing.ID, Source: job.SourceBot, Kind: job.BotJoined, EmittedAt: now, ReceivedAt: now,
				}}})
			},
			"delivery": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertDelivery(ctx, newDelivery(missing, 1, "https://a.test/"))
			},
			"command": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertCommand(ctx, ingest.QueuedCommand{ID: uuid.New(), JobID: missing.ID, Kind: ingest.LeaveCall, CreatedAt: now})
			},
			"transcription": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertRecordingTask(ctx, missing.ID, job.TranscriptTask, now)
			},
		} {
			if err := s.Write(t.Context(), fn); err == nil {
				t.Errorf("a %s of a missing job was inserted", name)
			}
		}
	})
}

// TestDeleteConsumer checks that deleting a consumer deletes all of its data and no
// data of another consumer.
func TestDeleteConsumer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		users, _ := newUsers(s)
		ada := createFirstUser(t, users)
		other := newConsumer(t, s)
		if err := s.RetireConsumer(t.Context(), ada.ConsumerID, now); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("delete the consumer of the only operator: %v", err)
		}
		c, err := s.EnsureConsumer(t.Context(), account.Consumer{
			ID: uuid.New(), Name: "acme", Email: "Ops@acme.test", WebhookSecret: "s", WebhookVersion: 2, CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		key, _ := account.NewKey(c.ID, job.Live, account.CommandLine, now)
		if err := s.InsertKey(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		running := newJob(c.ID)
		insert(t, s, running)
		if err := s.RetireConsumer(t.Context(), c.ID, now); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("delete a consumer with a running job: %v", err)
		}
		if k, err := s.KeyByHash(t.Context(), key.Hash); err != nil || !k.RevokedAt.IsZero() {
			t.Errorf("the key after a refused deletion: %+v, %v", k, err)
		}
		running.Status, running.WakeAt = job.Cancelled, time.Time{}
		saveJob(t, s, running)
		addHistory(t, s, running, webhook.PermanentFailure)
		erased := endedJob(t, s, c.ID, now, failed)
		if err := s.EraseJob(t.Context(), erased.ID, now); err != nil {
			t.Fatal(err)
		}
		kept := endedJob(t, s, other.ID, now, failed)
		addHistory(t, s, kept, webhook.PermanentFailure)
		named := change(c, "sub_named", 1, billing.Began, billing.ActiveStatus)
		byEmail := billing.Event{ID: "evt_mail", Type: "t", Created: at(1), Customer: "cus_mail", Email: "ops@acme.test"}
		others := change(other, "sub_other", 1, billing.Began, billing.ActiveStatus)
		receive(t, s, named, byEmail, others)

		if err := s.RetireConsumer(t.Context(), c.ID, now); err != nil {
			t.Fatal(err)
		}
		ids, err := s.ConsumerJobs(t.Context(), c.ID, uuid.Nil, 10)
		if err != nil || !slices.Equal(ids, []uuid.UUID{running.ID}) {
			t.Fatalf("jobs %v, %v", ids, err)
		}
		if err := s.DeleteJob(t.Context(), running.ID); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteConsumer(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Consumer(t.Context(), c.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the deleted consumer: %v", err)
		}
		if _, err := s.KeyByHash(t.Context(), key.Hash); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the deleted consumer's key: %v", err)
		}
		if _, err := s.JobByExternalID(t.Context(), live(c.ID), erased.ExternalID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("the deleted consumer's tombstone: %v", err)
		}
		if plan := planOf(t, s, other.ID); !plan.Active() {
			t.Errorf("the other consumer's plan: %+v", plan)
		}
		if deliveries, _, err := s.ListDeliveries(t.Context(), kept.ID, webhook.DeliveryCursor{}, 10, now); err != nil || len(deliveries) != 1 {
			t.Errorf("the other consumer's deliveries: %v, %v", deliveries, err)
		}
	})
}
