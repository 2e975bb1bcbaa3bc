package lifecycle

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/webhook"
)

// EndpointTester posts test events in the same way as any webhook.
type EndpointTester struct {
	Poster interface {
		Post(ctx context.Context, delivery webhook.Delivery) webhook.Try
	}
	Consumers interface {
		Consumer(ctx context.Context, id uuid.UUID) (account.Consumer, error)
	}
	Now func() time.Time
}

// Test posts an example of an event to an address once, without the outbox. It follows no
// redirect. The error is a *job.Error with InvalidInput without such an event.
func (t *EndpointTester) Test(ctx context.Context, consumer uuid.UUID, address, event string) (webhook.Try, error) {
	example, err := webhook.Example(event)
	if err != nil {
		return webhook.Try{}, err
	}
	of, err := t.Consumers.Consumer(ctx, consumer)
	if err != nil {
		return webhook.Try{}, err
	}
	data, err := example.Data(1)
	if err != nil {
		return webhook.Try{}, err
	}
	return t.Poster.Post(ctx, webhook.Delivery{
		ID: webhook.NewDeliveryID(), ConsumerID: consumer, Mode: job.Test, URL: address, Event: event, Sequence: 1,
		EmittedAt: t.Now(), Data: data, Version: of.WebhookVersion, Secrets: of.WebhookSecrets(), Attempt: 1,
	}), nil
}
