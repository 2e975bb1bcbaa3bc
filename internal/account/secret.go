package account

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// SecretOverlap is how long the old webhook secret signs beside the new one
// after a rotation (contract, Webhooks).
const SecretOverlap = 24 * time.Hour

// SecretStore is what a rotation needs of the database.
type SecretStore interface {
	// RotateWebhookSecret makes secret the consumer's, and the one before its
	// previous one until then. The one before that signs no more. An unknown
	// consumer is a *job.Error with NotFound.
	RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error
}

// RotateSecret gives a consumer a new webhook secret. It is returned this once;
// the old one signs too until the time returned.
func RotateSecret(ctx context.Context, store SecretStore, consumer uuid.UUID, now time.Time) (secret string, previousUntil time.Time, err error) {
	secret, previousUntil = webhook.NewSecret(), now.Add(SecretOverlap)
	if err := store.RotateWebhookSecret(ctx, consumer, secret, previousUntil); err != nil {
		return "", time.Time{}, fmt.Errorf("rotate the webhook secret: %w", err)
	}
	return secret, previousUntil, nil
}
