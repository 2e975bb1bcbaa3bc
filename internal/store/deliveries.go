package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/webhook"
)

// InsertDelivery adds a delivery to the outbox, due at once.
func (tx *Tx) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	var statements batch
	statements.addDelivery(d)
	_, err := tx.execBatch(ctx, "insert a delivery", statements)
	return err
}

func (b *batch) addDelivery(d webhook.Delivery) {
	b.add(`INSERT INTO deliveries (id, job_id, consumer_id, url, endpoint, event, sequence, emitted_at, version, data, due_at, subject, mode,
			by_endpoint)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $8, $11, $12, $13)`,
		d.ID, nullID(d.JobID), d.ConsumerID, d.URL, d.EndpointKey(), d.Event, d.Sequence,
		d.EmittedAt, d.Version, d.Data, d.Subject(), d.Mode, d.ByEndpoint)
}

// NextDelivery implements webhook.Outbox. It uses the index deliveries_due.
func (db *Reader) NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error) {
	const query = `SELECT MIN(due_at) FROM deliveries WHERE due_at > $1`
	next, err := queryValue[time.Time](ctx, db, "find the next due delivery", query, after)
	return next, !next.IsZero(), err
}

// Backlog implements webhook.Outbox. It uses the index deliveries_due.
func (db *Reader) Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	err = db.queryRow(ctx, "count the waiting deliveries", `SELECT COUNT(*), MIN(emitted_at) FROM deliveries
		WHERE due_at IS NOT NULL`).Scan(&waiting, &oldest)
	return waiting, oldest, err
}

const deliveryColumns = `d.id, d.job_id, d.consumer_id, d.mode, d.url, d.event, d.sequence, d.emitted_at, d.version, d.data, d.attempt, d.failures, d.due_at`

func scanDelivery(r row, d *webhook.Delivery) error {
	return r.Scan(&d.ID, &d.JobID, &d.ConsumerID, &d.Mode, &d.URL, &d.Event, &d.Sequence, &d.EmittedAt, &d.Version,
		&d.Data, &d.Attempt, &d.Failures, &d.DueAt)
}

// WriteClaim implements webhook.Outbox.
func (s *Store) WriteClaim(ctx context.Context, fn func(context.Context, webhook.ClaimTx) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return fn(ctx, tx) })
}

// DueDeliveries implements webhook.ClaimTx: the longest due come first. A delivery is blocked by an
// earlier one of its subject and URL that is being sent, or is due soon. It uses the index
// deliveries_due, and deliveries_ahead for each row.
func (tx *Tx) DueDeliveries(ctx context.Context, now time.Time, limit int) ([]webhook.DueDelivery, error) {
	return List(ctx, tx.Reader, "find due deliveries", func(r row, d *webhook.DueDelivery) error {
		return scanDelivery(r.with(&d.Blocked, &d.Dead, &d.ProbeAt), &d.Delivery)
	}, `SELECT `+deliveryColumns+`,
			EXISTS (SELECT 1 FROM deliveries ahead WHERE `+aheadOf+`),
			COALESCE((SELECT failures FROM webhook_endpoints WHERE key = d.endpoint), 0) >= $3,
			(SELECT probe_at FROM webhook_endpoints WHERE key = d.endpoint)
		FROM deliveries d WHERE d.due_at <= $2 ORDER BY d.due_at LIMIT $4`+tx.dialect.SkipLocked,
		now.Add(webhook.BlocksWithin), now, webhook.DeadAfterFailures, limit)
}

// OldestWaiting implements webhook.ClaimTx. It uses the index deliveries_waiting.
func (tx *Tx) OldestWaiting(ctx context.Context, d webhook.Delivery, now time.Time) (webhook.Delivery, bool, error) {
	return first(ctx, tx.Reader, "find the oldest delivery of an endpoint", scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d
		WHERE (d.lease = '' OR d.due_at <= $2) AND d.id = (SELECT id FROM deliveries
			WHERE endpoint = $1 AND state = 'waiting' AND (not_before IS NULL OR not_before <= $2)
				AND NOT EXISTS (SELECT 1 FROM deliveries ahead WHERE ahead.subject = deliveries.subject AND ahead.sequence < deliveries.sequence
					AND ahead.endpoint = $1 AND ahead.state = 'waiting' AND ahead.not_before > $2 AND ahead.due_at <= $3)
			ORDER BY emitted_at, sequence, id LIMIT 1)`+tx.dialect.SkipLocked,
		d.EndpointKey(), now, now.Add(webhook.BlocksWithin))
}

// ExpireDeliveries implements webhook.ClaimTx.
func (tx *Tx) ExpireDeliveries(ctx context.Context, ids []string, now time.Time) error {
	return tx.exec(ctx, "expire deliveries", `UPDATE deliveries SET state = 'failed', due_at = NULL, lease = '', ended_at = $1,
		end_reason = '`+webhook.ReasonExpired+`' WHERE id `+tx.dialect.In(2), now, jsonArray(ids))
}

// SaveClaim implements webhook.ClaimTx.
func (tx *Tx) SaveClaim(ctx context.Context, taken []webhook.Delivery, deferred []webhook.Deferral) ([]webhook.Delivery, error) {
	var statements batch
	for _, d := range deferred {
		statements.add(`UPDATE deliveries SET due_at = $1 WHERE id = $2`, d.DueAt, d.ID)
	}
	ids, owners := make([]string, len(taken)), make([]uuid.UUID, len(taken))
	for i, d := range taken {
		ids[i], owners[i] = d.ID, d.ConsumerID
	}
	if len(taken) > 0 { // they have the lease of their claim
		statements.add(`UPDATE deliveries SET lease = $1, attempt = attempt + 1, due_at = $2 WHERE id `+tx.dialect.In(3),
			taken[0].Lease, taken[0].LeasedTo, jsonArray(ids))
	}
	if _, err := tx.execBatch(ctx, "lease and defer deliveries", statements); err != nil {
		return nil, err
	}
	consumers, err := List(ctx, tx.Reader, "read the consumers of deliveries", scanConsumer, selectConsumers+`WHERE id `+tx.dialect.In(1), jsonArray(owners))
	secrets := make(map[uuid.UUID][]webhook.Secret, len(consumers))
	for _, c := range consumers {
		secrets[c.ID] = c.WebhookSecrets()
	}
	for i, d := range taken {
		taken[i].Secrets = secrets[d.ConsumerID]
	}
	return taken, err
}

// ReleaseDelivery implements webhook.Outbox.
func (s *Store) ReleaseDelivery(ctx context.Context, d webhook.Delivery) error {
	return s.exec(ctx, "release a delivery", `UPDATE deliveries SET lease = '', attempt = attempt - 1, due_at = emitted_at
		WHERE lease = $1 AND id = $2`, d.Lease, d.ID)
}

// RecordTry implements webhook.Outbox. Before the try is recorded, it makes deliveries to a recovered endpoint due: all
// deliveries of an endpoint that is stored as dead and acknowledged a try now, and those that have not failed yet where
// the sender requests it (Result.Resume). After a crash in between, the endpoint is still stored as dead, and the next
// acknowledgment resumes it.
func (s *Store) RecordTry(ctx context.Context, r webhook.Result) (lost bool, err error) {
	d, try, key, acknowledged := r.Delivery, r.Try, r.Delivery.EndpointKey(), r.Verdict.Outcome == webhook.Delivered
	// Each is in milliseconds, as they are stored.
	ended := try.StartedAt.Truncate(time.Millisecond).Add(try.Latency.Truncate(time.Millisecond))
	state, failures := webhook.DeliveryWaiting, 1
	var due, endedAt, notBefore sql.NullInt64
	switch r.Verdict.Outcome {
	case webhook.Retry:
		due, notBefore = NullTime(r.Verdict.RetryAt), NullTime(r.Verdict.NotBefore)
		if r.Verdict.Uncounted {
			failures = 0
		}
	case webhook.Delivered:
		state, failures, endedAt = webhook.DeliveryDelivered, 0, NullTime(ended)
	case webhook.PermanentFailure:
		state, endedAt = webhook.DeliveryFailed, NullTime(ended)
	default:
		return false, fmt.Errorf("record a try of delivery %s: unknown outcome %q", d.ID, r.Verdict.Outcome)
	}
	dead := false
	if r.UpdateEndpoint && acknowledged {
		dead, err = queryValue[bool](ctx, s.Reader, "find out whether a webhook endpoint is dead",
			`SELECT EXISTS (SELECT 1 FROM webhook_endpoints WHERE key = $1 AND failures >= $2)`, key, webhook.DeadAfterFailures)
	}
	switch {
	case err != nil:
	case dead:
		err = s.resume(ctx, key, math.MaxInt32, ended)
	case r.Resume:
		err = s.resume(ctx, key, 0, ended)
	}
	if err != nil {
		return false, err
	}
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		applied, err := tx.Affected(ctx, "save the outcome of a try", `UPDATE deliveries SET lease = '', state = $3,
			failures = failures + $4, due_at = $5, ended_at = $6, end_reason = $7, not_before = $8 WHERE id = $1 AND lease = $2`,
			d.ID, d.Lease, state, failures, due, endedAt, r.Verdict.Reason, notBefore)
		if lost = err == nil && applied == 0; err != nil || lost {
			return err
		}
		var statements batch
		statements.add(`INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, response_body)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, try.DeliveryID, try.Number, try.StartedAt, try.Latency, try.StatusCode, try.Error,
			base64.StdEncoding.EncodeToString(try.ResponseBody))
		if r.UpdateEndpoint || !acknowledged {
			failures, since, probeAt, delivered, status, problem := 1, try.StartedAt, r.ProbeAt, time.Time{}, try.StatusCode, try.Error
			if acknowledged {
				failures, since, probeAt, delivered, status, problem = 0, time.Time{}, time.Time{}, ended, 0, ""
			}
			statements.add(saveEndpoint, key, webhook.EndpointID(d.ConsumerID, d.Mode, d.URL), d.ConsumerID, d.URL, d.Mode, failures,
				NullTime(since), NullTime(probeAt), ended, try.Latency, status, problem, NullTime(delivered))
		}
		_, err = tx.execBatch(ctx, "save a try", statements)
		return err
	})
	return lost, err
}
