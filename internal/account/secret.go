package account

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// SecretOverlap is how long webhooks are also signed with the old secret after a
// rotation.
const SecretOverlap = 24 * time.Hour

// SecretStore is the part of the database that RotateSecret uses.
type SecretStore interface {
	// RotateWebhookSecret sets the consumer's secret. The secret before remains
	// valid until previousUntil; older ones do not. The error is a *job.Error
	// with NotFound for an unknown consumer.
	RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error
}

// RotateSecret replaces the webhook secret of a consumer. It returns the new
// secret, and until when the old one also signs.
func RotateSecret(ctx context.Context, store SecretStore, consumer uuid.UUID, now time.Time) (secret string, previousUntil time.Time, err error) {
	secret, previousUntil = webhook.NewSecret(), now.Add(SecretOverlap)
	if err := store.RotateWebhookSecret(ctx, consumer, secret, previousUntil); err != nil {
		return "", time.Time{}, fmt.Errorf("rotate the webhook secret: %w", err)
	}
	return secret, previousUntil, nil
}
