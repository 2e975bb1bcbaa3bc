package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// RotateWebhookSecret implements account.SecretStore. What is claimed before it
// is signed with the secrets of its claim.
func (s *Store) RotateWebhookSecret(ctx context.Context, consumer uuid.UUID, secret string, previousUntil time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, `
			UPDATE consumers SET previous_secret = webhook_secret, previous_secret_expires = $3, webhook_secret = $2 WHERE id = $1`,
			consumer, secret, millis(previousUntil))
		if err != nil {
			return fmt.Errorf("keep the new webhook secret: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such consumer"}
		}
		return nil
	})
}

// SetWebhookVersion sets the version of the payloads of a consumer's events
// from now on (specification, Versioning).
func (s *Store) SetWebhookVersion(ctx context.Context, consumer uuid.UUID, version int) error {
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, `UPDATE consumers SET webhook_version = $2 WHERE id = $1`, consumer, version)
		if err != nil {
			return fmt.Errorf("keep the version of webhooks: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such consumer"}
		}
		return nil
	})
}
