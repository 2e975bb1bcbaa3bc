package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/webhook"
)

// ConsumerKeys returns the keys of a consumer, newest first. It uses the index
// api_keys_consumer.
func (q *Queries) ConsumerKeys(ctx context.Context, consumerID uuid.UUID) ([]account.Key, error) {
	var keys []account.Key
	err := q.collect(ctx, func(rows *sql.Rows) error {
		k, err := scanKey(rows)
		keys = append(keys, k)
		return err
	}, `SELECT `+keyColumns+` FROM api_keys k JOIN consumers c ON c.id = k.consumer_id WHERE k.consumer_id = $1 ORDER BY k.id DESC`, consumerID)
	if err != nil {
		return nil, fmt.Errorf("read the keys of a consumer: %w", err)
	}
	return keys, nil
}

// RevokeConsumerKey revokes a key of the consumer, and reports whether there is one.
// Revoking twice keeps the first time.
func (s *Store) RevokeConsumerKey(ctx context.Context, consumerID, id uuid.UUID, now time.Time) (bool, error) {
	var n int64
	err := s.Write(ctx, func(q *Queries) (err error) {
		n, err = q.exec(ctx, `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE id = $1 AND consumer_id = $2`, id, consumerID, millis(now))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("revoke key %s: %w", id, err)
	}
	return n == 1, nil
}

// SetWebhookURL sets where the events of a consumer's jobs go that name no
// address; nowhere when it is empty (contract, Webhooks).
func (s *Store) SetWebhookURL(ctx context.Context, consumer uuid.UUID, address string) error {
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, `UPDATE consumers SET webhook_url = $2 WHERE id = $1`, consumer, address)
		if err != nil {
			return fmt.Errorf("set the default endpoint: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such consumer"}
		}
		return nil
	})
}

// DeliveryPayload returns what is posted at the latest try of a delivery of a
// job, or would be at the first, as it goes over the wire; a *job.Error with
// NotFound when there is no such delivery.
func (q *Queries) DeliveryPayload(ctx context.Context, jobID uuid.UUID, deliveryID string) ([]byte, error) {
	d := webhook.Delivery{ID: deliveryID}
	var emitted int64
	var data string
	err := q.queryRow(ctx, `SELECT event, emitted_at, version, attempt, data FROM deliveries WHERE id = $1 AND job_id = $2`, deliveryID, jobID).
		Scan(&d.Event, &emitted, &d.Version, &d.Attempt, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, &job.Error{Code: job.NotFound, Message: "no such delivery"}
	}
	if err != nil {
		return nil, fmt.Errorf("read the payload of a delivery: %w", err)
	}
	d.EmittedAt, d.Data, d.Attempt = fromMillis(emitted), []byte(data), max(1, d.Attempt)
	return webhook.Body(d)
}
