package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/webhook"
)

// dueDelivery is a candidate for a claim.
type dueDelivery struct {
	webhook.Delivery
	blocked bool // waits for an earlier delivery
}

// ClaimDeliveries implements webhook.Outbox.
func (s *Store) ClaimDeliveries(ctx context.Context, claim webhook.Claim) (claimed []webhook.Delivery, more bool, err error) {
	err = s.Write(ctx, func(q *Queries) error {
		if err := q.preferIndexes(ctx); err != nil {
			return err
		}
		due, err := q.dueDeliveries(ctx, claim)
		if err != nil {
			return err
		}
		more = len(due) == claim.Limit
		var deferred map[time.Duration][]string
		claimed, deferred = admit(due, claim, more)
		if err := q.deferDeliveries(ctx, claim.Now, deferred); err != nil {
			return err
		}
		if err := q.leaseDeliveries(ctx, claimed); err != nil {
			return err
		}
		return q.fillSecrets(ctx, claimed)
	})
	if err != nil {
		return nil, false, err
	}
	return claimed, more, nil
}

// dueDeliveries returns the due deliveries, the longest due first. It uses the
// index deliveries_due, and deliveries_ahead for each row.
func (q *Queries) dueDeliveries(ctx context.Context, claim webhook.Claim) ([]dueDelivery, error) {
	due, err := list(ctx, q, func(row scanner) (d dueDelivery, err error) {
		d.Delivery, err = scanDelivery(extraColumns{row, []any{&d.blocked}})
		return d, err
	}, `
		SELECT `+deliveryColumns+`, EXISTS (
			SELECT 1 FROM deliveries ahead
			WHERE ahead.endpoint = d.endpoint AND ahead.job_id = d.job_id AND ahead.sequence < d.sequence
				AND ahead.state = 'waiting' AND ahead.failures < $2)
		FROM deliveries d WHERE d.due_at <= $1 ORDER BY d.due_at LIMIT $3 + 0`+q.skip,
		millis(claim.Now), webhook.ReorderAfterFailures, claim.Limit)
	if err != nil {
		return nil, fmt.Errorf("find due deliveries: %w", err)
	}
	return due, nil
}

// deferStep is the precision of deferred due times. Few distinct times need few
// statements.
const deferStep = 250 * time.Millisecond

// admit divides due deliveries into those that the claim leases and those that
// it defers, by the delay.
func admit(due []dueDelivery, claim webhook.Claim, more bool) (admitted []webhook.Delivery, deferred map[time.Duration][]string) {
	admission := func(webhook.Delivery) (bool, time.Duration) { return true, 0 }
	if claim.Admit != nil {
		admission = claim.Admit()
	}
	lease, until := uuid.NewString(), claim.Now.Add(claim.Lease)
	deferred = make(map[time.Duration][]string)
	for _, d := range due {
		ok, wait := false, time.Duration(0)
		if !d.blocked {
			ok, wait = admission(d.Delivery)
		}
		if ok {
			d.Lease, d.LeasedTo = lease, until
			d.Attempt++
			admitted = append(admitted, d.Delivery)
		} else if delay := webhook.DeferFor(wait, more); delay > 0 {
			delay = (delay + deferStep - 1).Truncate(deferStep)
			deferred[delay] = append(deferred[delay], d.ID)
		}
	}
	return admitted, deferred
}

// deferDeliveries moves the due times of deliveries to now plus a delay.
func (q *Queries) deferDeliveries(ctx context.Context, now time.Time, deferred map[time.Duration][]string) error {
	for delay, ids := range deferred {
		err := q.update(ctx, ids, []any{millis(now.Add(delay))}, func(placeholders string) string {
			return `UPDATE deliveries SET due_at = $1 WHERE id IN (` + placeholders + `)`
		})
		if err != nil {
			return fmt.Errorf("defer deliveries: %w", err)
		}
	}
	return nil
}

// leaseDeliveries stores the lease of deliveries that admit has returned.
func (q *Queries) leaseDeliveries(ctx context.Context, deliveries []webhook.Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	ids := make([]string, len(deliveries))
	for i, d := range deliveries {
		ids[i] = d.ID
	}
	err := q.update(ctx, ids, []any{deliveries[0].Lease, millis(deliveries[0].LeasedTo)}, func(placeholders string) string {
		return `UPDATE deliveries SET lease = $1, attempt = attempt + 1, due_at = $2 WHERE id IN (` + placeholders + `)`
	})
	if err != nil {
		return fmt.Errorf("lease deliveries: %w", err)
	}
	return nil
}

// fillSecrets adds the secrets of its consumer to each delivery, at the latest
// when the transaction ends.
func (q *Queries) fillSecrets(ctx context.Context, deliveries []webhook.Delivery) error {
	ofConsumer := make(map[uuid.UUID][]int) // indexes of deliveries
	for i, d := range deliveries {
		ofConsumer[d.ConsumerID] = append(ofConsumer[d.ConsumerID], i)
	}
	for id, indexes := range ofConsumer {
		err := q.forEachLater(ctx, func(row scanner) error {
			consumer, err := scanConsumer(row)
			if err != nil {
				return err
			}
			secrets := SecretsOf(consumer)
			for _, i := range indexes {
				deliveries[i].Secrets = secrets
			}
			return nil
		}, doing("find the secrets of consumer %s", id), `SELECT `+consumerColumns+` FROM consumers WHERE id = $1`, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// SecretsOf returns the secrets of a consumer, the current one first.
func SecretsOf(consumer account.Consumer) []webhook.Secret {
	secrets := []webhook.Secret{{Value: consumer.WebhookSecret}}
	if consumer.PreviousWebhookSecret != "" {
		secrets = append(secrets, webhook.Secret{Value: consumer.PreviousWebhookSecret, ExpiresAt: consumer.PreviousSecretExpires})
	}
	return secrets
}

// ReleaseDeliveries implements webhook.Outbox.
func (s *Store) ReleaseDeliveries(ctx context.Context, deliveries []webhook.Delivery) error {
	byLease := make(map[string][]string)
	for _, d := range deliveries {
		byLease[d.Lease] = append(byLease[d.Lease], d.ID)
	}
	return s.Write(ctx, func(q *Queries) error {
		for lease, ids := range byLease {
			err := q.update(ctx, ids, []any{lease}, func(placeholders string) string {
				return `UPDATE deliveries SET lease = '', attempt = attempt - 1, due_at = emitted_at WHERE lease = $1 AND id IN (` + placeholders + `)`
			})
			if err != nil {
				return fmt.Errorf("release deliveries: %w", err)
			}
		}
		return nil
	})
}
