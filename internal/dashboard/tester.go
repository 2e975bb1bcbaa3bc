package dashboard

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/text"
	"standin/internal/webhook"
)

// EndpointTester posts a test event in the same way as any webhook.
type EndpointTester struct {
	Poster interface {
		Post(ctx context.Context, delivery webhook.Delivery) webhook.Try
	}
	Now func() time.Time
}

// Test posts the event once. It follows no redirect.
func (t *EndpointTester) Test(ctx context.Context, consumer account.Consumer, address string) TestResult {
	delivery, err := t.delivery(consumer, address)
	if err != nil {
		return TestResult{Error: err.Error()}
	}
	try := t.Poster.Post(ctx, delivery)
	result := TestResult{StatusCode: try.StatusCode, Latency: try.Latency, ResponseBody: strings.ToValidUTF8(string(try.ResponseBody), "\uFFFD")}
	if try.Error != "" {
		result.Error = text.Sentence(try.Error)
	}
	return result
}

// delivery composes the event: a job that is scheduled and then dispatched. The
// job does not exist, which its metadata states.
func (t *EndpointTester) delivery(consumer account.Consumer, address string) (webhook.Delivery, error) {
	now := t.Now()
	made := job.Job{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer.ID, Mode: job.Test, ExternalID: "test-event",
		MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
		JoinAt: now, CreatedAt: now, Metadata: json.RawMessage(`{"testEvent":true}`), AutoLeave: job.DefaultAutoLeave(),
		State: job.State{Status: job.Dispatching, Attempts: 1},
	}
	data, err := webhook.StatusChanged(made, job.Scheduled, job.Dispatching).Data(1)
	if err != nil {
		return webhook.Delivery{}, err
	}
	secrets := []webhook.Secret{{Value: consumer.WebhookSecret}}
	if consumer.PreviousWebhookSecret != "" {
		secrets = append(secrets, webhook.Secret{Value: consumer.PreviousWebhookSecret, ExpiresAt: consumer.PreviousSecretExpires})
	}
	return webhook.Delivery{
		ID: webhook.NewDeliveryID(), JobID: made.ID, ConsumerID: consumer.ID, URL: address, Event: webhook.JobStatusChanged, Sequence: 1,
		EmittedAt: now, Data: data, Version: consumer.WebhookVersion, Secrets: secrets, Attempt: 1,
	}, nil
}
