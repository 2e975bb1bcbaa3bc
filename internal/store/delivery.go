package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// claimSurplus is how many times the claim's limit is looked at, so that a
// crowd for one host does not hide the deliveries of others.
const claimSurplus = 8

// InsertDelivery puts a delivery into the outbox, due at once.
func (q *Queries) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	_, err := q.exec(ctx, `
		INSERT INTO deliveries (id, job_id, consumer_id, url, host, event, sequence, emitted_at, version, data, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $8)`,
		d.ID, d.JobID, d.ConsumerID, d.URL, webhook.HostOf(d.URL), d.Event, d.Sequence, millis(d.EmittedAt), d.Version, string(d.Data))
	if err != nil {
		return fmt.Errorf("put %s of job %s into the outbox: %w", d.Event, d.JobID, err)
	}
	return nil
}

// ClaimDeliveries implements webhook.Outbox. It uses the indexes
// deliveries_due and deliveries_ahead.
func (s *Store) ClaimDeliveries(ctx context.Context, claim webhook.Claim) ([]webhook.Delivery, error) {
	var claimed []webhook.Delivery
	err := s.Write(ctx, func(q *Queries) error {
		due, err := q.dueDeliveries(ctx, claim)
		if err != nil {
			return err
		}
		claimed = claimed[:0]
		perHost := make(map[string]int)
		for _, d := range due {
			host := webhook.HostOf(d.URL)
			if perHost[host] == claim.PerHost || len(claimed) == claim.Limit {
				continue
			}
			perHost[host]++
			d.Lease = uuid.NewString()
			d.Attempt++
			if _, err := q.exec(ctx, `UPDATE deliveries SET lease = $2, attempt = $3, due_at = $4 WHERE id = $1`,
				d.ID, d.Lease, d.Attempt, millis(claim.Now.Add(claim.Lease))); err != nil {
				return fmt.Errorf("lease delivery %s: %w", d.ID, err)
			}
			claimed = append(claimed, d)
		}
		return q.fillSecrets(ctx, claimed)
	})
	return claimed, err
}

// dueDeliveries returns the deliveries that may be claimed, longest due first.
func (q *Queries) dueDeliveries(ctx context.Context, claim webhook.Claim) ([]webhook.Delivery, error) {
	args := []any{millis(claim.Now), webhook.FailuresBeforeOvertaking, claim.Limit * claimSurplus}
	others := ""
	if len(claim.Busy) > 0 {
		places := make([]string, len(claim.Busy))
		for i, host := range claim.Busy {
			args = append(args, host)
			places[i] = fmt.Sprintf("$%d", len(args))
		}
		others = " AND d.host NOT IN (" + strings.Join(places, ", ") + ")"
	}
	var due []webhook.Delivery
	err := q.collect(ctx, func(rows *sql.Rows) error {
		d, err := scanDelivery(rows)
		due = append(due, d)
		return err
	}, `
		SELECT `+deliveryColumns+` FROM deliveries d
		WHERE d.due_at <= $1`+others+` AND NOT EXISTS (
			SELECT 1 FROM deliveries ahead
			WHERE ahead.job_id = d.job_id AND ahead.url = d.url AND ahead.sequence < d.sequence
				AND ahead.state = 'waiting' AND ahead.failures < $2)
		ORDER BY d.due_at, d.job_id, d.sequence LIMIT $3`+q.skip, args...)
	if err != nil {
		return nil, fmt.Errorf("find due deliveries: %w", err)
	}
	return due, nil
}

// fillSecrets gives each delivery its consumer's secrets.
func (q *Queries) fillSecrets(ctx context.Context, deliveries []webhook.Delivery) error {
	known := make(map[uuid.UUID][]webhook.Secret)
	for i, d := range deliveries {
		secrets, ok := known[d.ConsumerID]
		if !ok {
			consumer, err := q.Consumer(ctx, d.ConsumerID)
			if err != nil {
				return fmt.Errorf("find the secrets for delivery %s: %w", d.ID, err)
			}
			secrets = []webhook.Secret{{Value: consumer.WebhookSecret}}
			if consumer.PreviousWebhookSecret != "" {
				secrets = append(secrets, webhook.Secret{Value: consumer.PreviousWebhookSecret, ExpiresAt: consumer.PreviousSecretExpires})
			}
			known[d.ConsumerID] = secrets
		}
		deliveries[i].Secrets = secrets
	}
	return nil
}

// ReleaseDeliveries implements webhook.Outbox.
func (s *Store) ReleaseDeliveries(ctx context.Context, deliveries []webhook.Delivery) error {
	return s.Write(ctx, func(q *Queries) error {
		for _, d := range deliveries {
			if _, err := q.exec(ctx, `UPDATE deliveries SET lease = '', attempt = attempt - 1, due_at = emitted_at WHERE id = $1 AND lease = $2`,
				d.ID, d.Lease); err != nil {
				return fmt.Errorf("release delivery %s: %w", d.ID, err)
			}
		}
		return nil
	})
}

// RecordTry implements webhook.Outbox.
func (s *Store) RecordTry(ctx context.Context, d webhook.Delivery, try webhook.Try, verdict webhook.Verdict) error {
	return s.Write(ctx, func(q *Queries) error {
		if err := q.applyVerdict(ctx, d, try, verdict); err != nil {
			return err
		}
		_, err := q.exec(ctx, `
			INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, answer)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			try.DeliveryID, try.Number, millis(try.StartedAt), try.Latency.Milliseconds(), try.StatusCode,
			keptText(try.Error), base64.StdEncoding.EncodeToString(try.Answer))
		if err != nil {
			return fmt.Errorf("keep try %d of delivery %s: %w", try.Number, d.ID, err)
		}
		return nil
	})
}

// applyVerdict moves a delivery by the outcome of its try.
func (q *Queries) applyVerdict(ctx context.Context, d webhook.Delivery, try webhook.Try, verdict webhook.Verdict) error {
	ended := try.StartedAt.Add(try.Latency)
	var n int64
	var err error
	switch verdict.Outcome {
	case webhook.Retry:
		n, err = q.exec(ctx, `UPDATE deliveries SET lease = '', failures = failures + 1, due_at = $3 WHERE id = $1 AND lease = $2`,
			d.ID, d.Lease, millis(verdict.RetryAt))
	case webhook.Delivered:
		n, err = q.exec(ctx, `UPDATE deliveries SET lease = '', state = 'delivered', due_at = NULL, ended_at = $3 WHERE id = $1 AND lease = $2`,
			d.ID, d.Lease, millis(ended))
	case webhook.GaveUp:
		n, err = q.exec(ctx, `
			UPDATE deliveries SET lease = '', state = 'gave_up', failures = failures + 1, due_at = NULL, ended_at = $3, end_reason = $4
			WHERE id = $1 AND lease = $2`, d.ID, d.Lease, millis(ended), keptText(verdict.Reason))
	default:
		return fmt.Errorf("a try of delivery %s ended in the unknown outcome %q", d.ID, verdict.Outcome)
	}
	if err != nil {
		return fmt.Errorf("keep what became of delivery %s: %w", d.ID, err)
	}
	if n == 0 {
		return webhook.ErrLeaseLost
	}
	return nil
}

// NextDelivery implements webhook.Outbox. It uses the index deliveries_due.
func (q *Queries) NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error) {
	var next sql.NullInt64
	if err := q.queryRow(ctx, `SELECT MIN(due_at) FROM deliveries WHERE due_at > $1`, millis(after)).Scan(&next); err != nil {
		return time.Time{}, false, fmt.Errorf("find the next due delivery: %w", err)
	}
	return fromNull(next), next.Valid, nil
}

// DeliveryTries returns the tries of a delivery in their order.
func (q *Queries) DeliveryTries(ctx context.Context, id string) ([]webhook.Try, error) {
	var tries []webhook.Try
	err := q.collect(ctx, func(rows *sql.Rows) error {
		t, err := scanTry(rows)
		tries = append(tries, t)
		return err
	}, `SELECT delivery_id, number, started_at, latency_ms, status_code, error, answer
		FROM delivery_tries WHERE delivery_id = $1 ORDER BY number`, id)
	if err != nil {
		return nil, fmt.Errorf("read the tries of delivery %s: %w", id, err)
	}
	return tries, nil
}

// DeliveriesOfJob returns a job's deliveries in the order of their events. It
// uses the index deliveries_of_job.
func (q *Queries) DeliveriesOfJob(ctx context.Context, jobID uuid.UUID) ([]webhook.Delivery, error) {
	var deliveries []webhook.Delivery
	err := q.collect(ctx, func(rows *sql.Rows) error {
		d, err := scanDelivery(rows)
		deliveries = append(deliveries, d)
		return err
	}, `SELECT `+deliveryColumns+` FROM deliveries d WHERE d.job_id = $1 ORDER BY d.sequence, d.url`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the deliveries of job %s: %w", jobID, err)
	}
	return deliveries, nil
}

const deliveryColumns = `d.id, d.job_id, d.consumer_id, d.url, d.event, d.sequence, d.emitted_at, d.version, d.data, d.attempt, d.failures`

func scanDelivery(row interface{ Scan(...any) error }) (webhook.Delivery, error) {
	var d webhook.Delivery
	var emitted int64
	var data string
	err := row.Scan(&d.ID, &d.JobID, &d.ConsumerID, &d.URL, &d.Event, &d.Sequence, &emitted, &d.Version, &data, &d.Attempt, &d.Failures)
	d.EmittedAt, d.Data = fromMillis(emitted), json.RawMessage(data)
	return d, err
}
