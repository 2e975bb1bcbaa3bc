package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/store/sqldb"
	"standin/internal/webhook"
)

// WriteClaim implements webhook.Outbox.
func (s *Store) WriteClaim(ctx context.Context, fn func(context.Context, webhook.ClaimTx) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return fn(ctx, tx) })
}

// selectDueDeliveries selects the due deliveries, the longest due first. A delivery is
// blocked by an earlier one of its subject and URL that is being sent, or is due soon.
const selectDueDeliveries = `
	SELECT ` + deliveryColumns + `,
		EXISTS (SELECT 1 FROM deliveries ahead WHERE ` + aheadOf + `),
		COALESCE((SELECT failures FROM webhook_endpoints WHERE key = d.endpoint), 0) >= $3,
		(SELECT probe_at FROM webhook_endpoints WHERE key = d.endpoint)
	FROM deliveries d WHERE d.due_at <= $2 ORDER BY d.due_at LIMIT $4`

// DueDeliveries implements webhook.ClaimTx. It uses the index deliveries_due, and
// deliveries_ahead for each row.
func (tx *Tx) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]webhook.DueDelivery, error) {
	due, err := list(ctx, &tx.Reader, func(row sqldb.Row) (d webhook.DueDelivery, err error) {
		var probeAt time.Time
		d.Delivery, err = scanDelivery(extraColumns{row, []any{&d.Blocked, &d.Dead, timeColumn{&probeAt}}})
		d.ProbeAt = probeAt
		return d, err
	}, selectDueDeliveries+tx.dialect.SkipLocked, millis(now.Add(webhook.BlocksWithin)), millis(now), webhook.DeadAfterFailures, limit)
	if err != nil {
		return nil, fmt.Errorf("find due deliveries: %w", err)
	}
	return due, nil
}

// OldestWaiting implements webhook.ClaimTx. It uses the index deliveries_waiting.
func (tx *Tx) OldestWaiting(ctx context.Context, d webhook.Delivery, now time.Time) (webhook.Delivery, bool, error) {
	oldest, err := tx.firstText(ctx, `SELECT id FROM deliveries
		WHERE endpoint = $1 AND state = 'waiting' AND (not_before IS NULL OR not_before <= $2)
			AND NOT EXISTS (SELECT 1 FROM deliveries ahead WHERE ahead.subject = deliveries.subject AND ahead.sequence < deliveries.sequence
				AND ahead.endpoint = $1 AND ahead.state = 'waiting' AND ahead.not_before > $2 AND ahead.due_at <= $3)
		ORDER BY emitted_at, sequence, id LIMIT 1`, webhook.EndpointKey(d.ConsumerID, d.URL), millis(now), millis(now.Add(webhook.BlocksWithin)))
	if err != nil {
		return webhook.Delivery{}, false, fmt.Errorf("find the oldest delivery of an endpoint: %w", err)
	}
	free, err := list(ctx, &tx.Reader, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d
		WHERE d.id = $1 AND (d.lease = '' OR d.due_at <= $2)`+tx.dialect.SkipLocked, oldest, millis(now))
	if err != nil {
		return webhook.Delivery{}, false, fmt.Errorf("read the oldest delivery of an endpoint: %w", err)
	}
	if len(free) == 0 {
		return webhook.Delivery{}, false, nil
	}
	return free[0], true, nil
}

const (
	deferDelivery    = `UPDATE deliveries SET due_at = $1 WHERE id = $2`
	leaseDelivery    = `UPDATE deliveries SET lease = $1, attempt = attempt + 1, due_at = $2 WHERE id = $3`
	expireDeliveries = `UPDATE deliveries SET state = 'failed', due_at = NULL, lease = '', ended_at = $1, end_reason = '` + webhook.ReasonExpired + `' WHERE id `
)

// ExpireDeliveries implements webhook.ClaimTx.
func (tx *Tx) ExpireDeliveries(ctx context.Context, ids []string, now time.Time) error {
	if _, err := tx.exec(ctx, expireDeliveries+tx.dialect.In(2), millis(now), jsonArray(ids)); err != nil {
		return fmt.Errorf("expire deliveries: %w", err)
	}
	return nil
}

// SaveClaim implements webhook.ClaimTx.
func (tx *Tx) SaveClaim(ctx context.Context, taken []webhook.Delivery, deferred []webhook.Deferral) ([]webhook.Delivery, error) {
	moved, leased := make([][]any, len(deferred)), make([][]any, len(taken))
	for i, d := range deferred {
		moved[i] = []any{millis(d.DueAt), d.ID}
	}
	for i, d := range taken {
		leased[i] = []any{d.Lease, millis(d.LeasedTo), d.ID}
	}
	if _, err := tx.conn.ExecBatch(ctx, deferDelivery, moved); err != nil {
		return nil, fmt.Errorf("defer deliveries: %w", err)
	}
	if _, err := tx.conn.ExecBatch(ctx, leaseDelivery, leased); err != nil {
		return nil, fmt.Errorf("lease deliveries: %w", err)
	}
	secrets := make(map[uuid.UUID][]webhook.Secret)
	for i, d := range taken {
		if _, known := secrets[d.ConsumerID]; !known {
			consumer, err := tx.Consumer(ctx, d.ConsumerID)
			if err != nil {
				return nil, fmt.Errorf("find the secrets of consumer %s: %w", d.ConsumerID, err)
			}
			secrets[d.ConsumerID] = consumer.WebhookSecrets()
		}
		taken[i].Secrets = secrets[d.ConsumerID]
	}
	return taken, nil
}

// ReleaseDeliveries implements webhook.Outbox.
func (s *Store) ReleaseDeliveries(ctx context.Context, deliveries []webhook.Delivery) error {
	rows := make([][]any, len(deliveries))
	for i, d := range deliveries {
		rows[i] = []any{d.Lease, d.ID}
	}
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.conn.ExecBatch(ctx, `UPDATE deliveries SET lease = '', attempt = attempt - 1, due_at = emitted_at WHERE lease = $1 AND id = $2`, rows)
		if err != nil {
			return fmt.Errorf("release deliveries: %w", err)
		}
		return nil
	})
}
