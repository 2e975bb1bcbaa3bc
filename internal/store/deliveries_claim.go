package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/store/sqldb"
	"standin/internal/webhook"
)

// dueDelivery is a candidate for a claim.
type dueDelivery struct {
	webhook.Delivery
	blocked bool // waits for an earlier delivery
	dead    bool // its endpoint is dead, and is tried at ProbeAt
}

// ClaimDeliveries implements webhook.Outbox.
func (s *Store) ClaimDeliveries(ctx context.Context, claim webhook.Claim) (claimed []webhook.Delivery, more bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		due, err := tx.dueDeliveries(ctx, claim)
		if err != nil {
			return err
		}
		more = len(due) == claim.Limit
		c := newDeliveryClaim(claim, more)
		if due, err = c.expire(ctx, tx, due); err != nil {
			return err
		}
		for _, d := range due {
			if err := c.examine(ctx, tx, d); err != nil {
				return err
			}
		}
		claimed = c.claimed
		return c.save(ctx, tx)
	})
	if err != nil {
		return nil, false, err
	}
	return claimed, more, nil
}

// selectDueDeliveries selects the due deliveries, the longest due first. A delivery is
// blocked by an earlier one of its subject and URL that is being sent, or is due soon.
const selectDueDeliveries = `
	SELECT ` + deliveryColumns + `,
		EXISTS (SELECT 1 FROM deliveries ahead WHERE ` + aheadOf + `),
		COALESCE((SELECT failures FROM webhook_endpoints WHERE key = d.endpoint), 0) >= $3,
		(SELECT probe_at FROM webhook_endpoints WHERE key = d.endpoint)
	FROM deliveries d WHERE d.due_at <= $2 ORDER BY d.due_at LIMIT $4`

// dueDeliveries returns due deliveries. It uses the index deliveries_due, and
// deliveries_ahead for each row.
func (tx *Tx) dueDeliveries(ctx context.Context, claim webhook.Claim) ([]dueDelivery, error) {
	due, err := list(ctx, &tx.Reader, func(row sqldb.Row) (d dueDelivery, err error) {
		var probeAt time.Time
		d.Delivery, err = scanDelivery(extraColumns{row, []any{&d.blocked, &d.dead, timeColumn{&probeAt}}})
		d.ProbeAt = probeAt
		return d, err
	}, selectDueDeliveries+tx.dialect.SkipLocked, millis(claim.Now.Add(webhook.BlocksWithin)), millis(claim.Now), webhook.DeadAfterFailures, claim.Limit)
	if err != nil {
		return nil, fmt.Errorf("find due deliveries: %w", err)
	}
	return due, nil
}

// deliveryClaim collects the result of a claim.
type deliveryClaim struct {
	webhook.Claim
	more     bool
	lease    string
	admit    webhook.AdmitFunc
	claimed  []webhook.Delivery
	deferred [][]any // new due times and IDs
}

func newDeliveryClaim(claim webhook.Claim, more bool) *deliveryClaim {
	c := &deliveryClaim{Claim: claim, more: more, lease: uuid.NewString()}
	c.admit = func(webhook.Delivery) (bool, time.Duration) { return true, 0 }
	if claim.Admit != nil {
		c.admit = claim.Admit()
	}
	return c
}

// examine decides about a due delivery.
func (c *deliveryClaim) examine(ctx context.Context, tx *Tx, d dueDelivery) error {
	switch {
	case d.dead && d.ProbeAt.After(c.Now):
		c.deferFor(d.Delivery, d.ProbeAt.Sub(c.Now))
		return nil
	case d.dead:
		return c.probe(ctx, tx, d.Delivery)
	case d.blocked:
		c.deferFor(d.Delivery, 0)
		return nil
	}
	admitted, wait := c.admit(d.Delivery)
	if admitted {
		c.take(d.Delivery)
	} else {
		c.deferFor(d.Delivery, wait)
	}
	return nil
}

// expire fails the deliveries that have waited for a dead endpoint for too long, and
// returns the others. It comes first, so that none of them is tried as a probe.
func (c *deliveryClaim) expire(ctx context.Context, tx *Tx, due []dueDelivery) (rest []dueDelivery, err error) {
	var expired [][]any // ends and IDs
	for _, d := range due {
		if d.dead && c.tooOld(d.Delivery) {
			expired = append(expired, []any{millis(c.Now), d.ID})
		} else {
			rest = append(rest, d)
		}
	}
	if _, err := tx.conn.ExecBatch(ctx, expireDelivery, expired); err != nil {
		return nil, fmt.Errorf("expire deliveries: %w", err)
	}
	return rest, nil
}

// tooOld reports whether a delivery has waited for a dead endpoint for as long as all
// tries of the schedule take. A delivery that is sent again has failed no try yet.
func (c *deliveryClaim) tooOld(d webhook.Delivery) bool {
	return c.MaxAge > 0 && d.EmittedAt.Before(c.Now.Add(-c.MaxAge)) && (d.Attempt == 0 || d.Failures > 0)
}

// probe tries the oldest delivery that waits for a dead endpoint in place of the due
// one, so that the order holds when the endpoint responds again.
func (c *deliveryClaim) probe(ctx context.Context, tx *Tx, d webhook.Delivery) error {
	oldest, err := tx.oldestWaiting(ctx, webhook.EndpointKey(d.ConsumerID, d.URL), c.Now)
	if err != nil {
		return err
	}
	if len(oldest) == 0 || c.has(oldest[0]) {
		c.deferFor(d, webhook.MinDefer) // it is being tried
		return nil
	}
	oldest[0].ProbeAt = d.ProbeAt
	admitted, wait := c.admit(oldest[0])
	if !admitted {
		c.deferFor(d, wait)
		return nil
	}
	c.take(oldest[0])
	if oldest[0].ID != d.ID {
		c.deferFor(d, webhook.MinDefer)
	}
	return nil
}

// oldestWaiting returns the oldest delivery that waits for an endpoint and whose
// receiver has not asked to wait for longer; none while it is being sent. It uses the
// index deliveries_waiting.
func (tx *Tx) oldestWaiting(ctx context.Context, endpoint string, now time.Time) ([]webhook.Delivery, error) {
	oldest, err := list(ctx, &tx.Reader, scanColumn[string], `SELECT id FROM deliveries
		WHERE endpoint = $1 AND state = 'waiting' AND (not_before IS NULL OR not_before <= $2)
			AND NOT EXISTS (SELECT 1 FROM deliveries ahead WHERE ahead.subject = deliveries.subject AND ahead.sequence < deliveries.sequence
				AND ahead.endpoint = $1 AND ahead.state = 'waiting' AND ahead.not_before > $2 AND ahead.due_at <= $3)
		ORDER BY emitted_at, sequence, id LIMIT 1`, endpoint, millis(now), millis(now.Add(webhook.BlocksWithin)))
	if err == nil && len(oldest) > 0 {
		var free []webhook.Delivery
		free, err = list(ctx, &tx.Reader, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d
			WHERE d.id = $1 AND (d.lease = '' OR d.due_at <= $2)`+tx.dialect.SkipLocked, oldest[0], millis(now))
		if err == nil {
			return free, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find the oldest delivery of an endpoint: %w", err)
	}
	return nil, nil
}

func (c *deliveryClaim) has(d webhook.Delivery) bool {
	for _, claimed := range c.claimed {
		if claimed.ID == d.ID {
			return true
		}
	}
	return false
}

// take leases a delivery.
func (c *deliveryClaim) take(d webhook.Delivery) {
	d.Lease, d.LeasedTo = c.lease, c.Now.Add(c.Lease)
	d.Attempt++
	c.claimed = append(c.claimed, d)
}

// deferFor moves the due time of a delivery that was not taken.
func (c *deliveryClaim) deferFor(d webhook.Delivery, wait time.Duration) {
	if delay := webhook.DeferFor(wait, c.more); delay > 0 {
		c.deferred = append(c.deferred, []any{millis(c.Now.Add(delay)), d.ID})
	}
}

const (
	deferDelivery  = `UPDATE deliveries SET due_at = $1 WHERE id = $2`
	leaseDelivery  = `UPDATE deliveries SET lease = $1, attempt = attempt + 1, due_at = $2 WHERE id = $3`
	expireDelivery = `UPDATE deliveries SET state = 'failed', due_at = NULL, lease = '', ended_at = $1, end_reason = '` + webhook.ReasonExpired + `' WHERE id = $2`
)

// save stores what was decided, and adds the secrets of the consumers.
func (c *deliveryClaim) save(ctx context.Context, tx *Tx) error {
	leased := make([][]any, len(c.claimed))
	for i, d := range c.claimed {
		leased[i] = []any{d.Lease, millis(d.LeasedTo), d.ID}
	}
	for _, update := range []struct {
		query string
		rows  [][]any
	}{{deferDelivery, c.deferred}, {leaseDelivery, leased}} {
		if _, err := tx.conn.ExecBatch(ctx, update.query, update.rows); err != nil {
			return fmt.Errorf("claim deliveries: %w", err)
		}
	}
	secrets := make(map[uuid.UUID][]webhook.Secret)
	for i, d := range c.claimed {
		if _, known := secrets[d.ConsumerID]; !known {
			consumer, err := tx.Consumer(ctx, d.ConsumerID)
			if err != nil {
				return fmt.Errorf("find the secrets of consumer %s: %w", d.ConsumerID, err)
			}
			secrets[d.ConsumerID] = consumer.WebhookSecrets()
		}
		c.claimed[i].Secrets = secrets[d.ConsumerID]
	}
	return nil
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
