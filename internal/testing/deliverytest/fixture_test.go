package deliverytest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// secret is the secret of all consumers in these tests.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// newConsumer inserts a consumer.
func newConsumer(tb testing.TB, s *store.Store) account.Consumer {
	tb.Helper()
	kept, err := s.EnsureConsumer(tb.Context(), account.Consumer{
		ID: uuid.New(), Name: uuid.NewString(), WebhookSecret: secret, WebhookVersion: webhook.Version2, CreatedAt: time.Now(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return kept
}

// newJob inserts a job in a transaction.
func newJob(ctx context.Context, tx *store.Tx, consumer uuid.UUID) (job.Job, error) {
	now := time.Now()
	r := job.Record{
		Job: job.Job{
			ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: job.Live, ExternalID: uuid.NewString(),
			MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
			JoinAt: now, CreatedAt: now, Metadata: json.RawMessage(`{"customer":"ada","room":7}`), AutoLeave: job.DefaultAutoLeave(),
			State: job.New(),
		},
		StatusSince: now,
		WakeAt:      now,
	}
	_, err := tx.InsertJob(ctx, r)
	return r.Job, err
}

// insertEvent inserts an event of a job into the outbox.
func insertEvent(ctx context.Context, tx *store.Tx, j job.Job, sequence int64, url string) (webhook.Delivery, error) {
	event := webhook.StatusChanged(j, job.Scheduled, job.Dispatching)
	data, err := event.Data(sequence)
	if err != nil {
		return webhook.Delivery{}, err
	}
	d := webhook.Delivery{
		ID: webhook.NewDeliveryID(), JobID: j.ID, ConsumerID: j.ConsumerID, Mode: j.Mode, URL: url, Event: event.Name,
		Sequence: sequence, EmittedAt: time.Now(), Data: data, Version: webhook.Version2,
		Secrets: []webhook.Secret{{Value: secret}},
	}
	return d, tx.InsertDelivery(ctx, d)
}
