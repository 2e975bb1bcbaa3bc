package store

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// aheadOf is the condition that the delivery ahead blocks the delivery d. Its argument
// is the time until which a delivery that is due blocks (see webhook.BlocksWithin).
const aheadOf = `ahead.subject = d.subject AND ahead.sequence < d.sequence AND ahead.endpoint = d.endpoint
	AND ahead.state = 'waiting' AND (ahead.lease <> '' OR ahead.due_at <= $1)`

// selectDeliveryRecords selects deliveries. For a waiting one it also selects when the last
// one is due that blocks it, and when its endpoint is tried next if that is dead, and whether another
// delivery is due then. It uses the indexes deliveries_ahead and deliveries_waiting for each row.
const selectDeliveryRecords = `
	SELECT id, job_id, url, event, sequence, emitted_at, version, state, attempt, due_at, ended_at, end_reason,
		CASE WHEN state = 'waiting' THEN (SELECT MAX(ahead.due_at) FROM deliveries ahead WHERE ` + aheadOf + `) END,
		CASE WHEN state = 'waiting' AND lease = '' THEN (SELECT e.probe_at FROM webhook_endpoints e WHERE e.key = d.endpoint) END,
		not_before, EXISTS (SELECT 1 FROM deliveries other JOIN webhook_endpoints e ON e.key = other.endpoint
			WHERE other.endpoint = d.endpoint AND other.state = 'waiting' AND (other.due_at <= $1 OR other.due_at <= e.probe_at)
				AND d.state = 'waiting' AND d.lease = '' AND e.probe_at IS NOT NULL)
	FROM deliveries d `

// ListDeliveries returns up to limit of a job's deliveries after a cursor, each
// with its tries, and whether there are more. It uses the index
// deliveries_of_job.
func (db *Reader) ListDeliveries(ctx context.Context, jobID uuid.UUID, after webhook.DeliveryCursor, limit int,
	now time.Time) (deliveries []webhook.DeliveryRecord, more bool, err error) {
	return db.deliveryPage(ctx, limit, now, `WHERE job_id = $2 AND (sequence, id) > ($3, $4) ORDER BY sequence, id LIMIT $5`,
		now.Add(webhook.BlocksWithin), jobID, after.Sequence, after.ID, limit+1)
}

// deliveryPage returns a page of selectDeliveryRecords as of now, with the tries.
func (db *Reader) deliveryPage(ctx context.Context, limit int, now time.Time, which string,
	args ...any) (deliveries []webhook.DeliveryRecord, more bool, err error) {
	deliveries, more, err = page(ctx, db, "list deliveries", limit, scanDeliveryRecord(now), unboundedSize, selectDeliveryRecords+which, args...)
	if err == nil {
		err = db.fillTries(ctx, deliveries)
	}
	return deliveries, more, err
}

// Delivery returns a delivery of a job with its tries, or a *job.Error with
// NotFound.
func (db *Reader) Delivery(ctx context.Context, jobID uuid.UUID, id string, now time.Time) (webhook.DeliveryRecord, error) {
	return db.oneDelivery(ctx, now, `id = $2 AND job_id = $3`, id, jobID)
}

// oneDelivery returns the delivery of a condition, whose arguments start at $2, with its
// tries.
func (db *Reader) oneDelivery(ctx context.Context, now time.Time, condition string, args ...any) (webhook.DeliveryRecord, error) {
	d, err := queryOne(ctx, db, "delivery", scanDeliveryRecord(now), selectDeliveryRecords+`WHERE `+condition,
		append([]any{now.Add(webhook.BlocksWithin)}, args...)...)
	if err != nil {
		return d, err
	}
	deliveries := []webhook.DeliveryRecord{d}
	err = db.fillTries(ctx, deliveries)
	return deliveries[0], err
}

// fillTries adds the tries of deliveries. It uses the primary key of delivery_tries.
func (db *Reader) fillTries(ctx context.Context, deliveries []webhook.DeliveryRecord) error {
	index, ids := make(map[string]int, len(deliveries)), make([]string, len(deliveries))
	for i, d := range deliveries {
		index[d.ID], ids[i] = i, d.ID
	}
	return db.forEach(ctx, "read the tries of deliveries", func(r row) error {
		var t webhook.Try
		var body string
		if err := r.Scan(&t.DeliveryID, &t.Number, &t.StartedAt, &t.Latency, &t.StatusCode, &t.Error, &body); err != nil {
			return err
		}
		var err error
		t.ResponseBody, err = base64.StdEncoding.DecodeString(body)
		d := &deliveries[index[t.DeliveryID]]
		d.Tries = append(d.Tries, t)
		return err
	}, `SELECT delivery_id, number, started_at, latency_ms, status_code, error, response_body FROM delivery_tries
		WHERE delivery_id `+db.dialect.In(1)+` ORDER BY delivery_id, number`, jsonArray(ids))
}

// DeliveryOf returns a delivery of a consumer with its tries, or a *job.Error with NotFound.
func (db *Reader) DeliveryOf(ctx context.Context, caller account.Caller, id string,
	now time.Time) (webhook.DeliveryRecord, error) {
	return db.oneDelivery(ctx, now, `id = $2 AND consumer_id = $3 AND mode = $4`, id, caller.ConsumerID, caller.Mode)
}

// DeliveryLog returns up to limit deliveries of a consumer that match a filter, newest first,
// after a position, with their tries, and whether there are more. It uses the index
// deliveries_log, or deliveries_of_job.
func (db *Reader) DeliveryLog(ctx context.Context, caller account.Caller, filter webhook.LogFilter, after webhook.LogCursor,
	limit int, now time.Time) (deliveries []webhook.DeliveryRecord, more bool, err error) {
	c := conditions{args: []any{now.Add(webhook.BlocksWithin), caller.ConsumerID, caller.Mode}}
	if filter.Event != "" {
		c.and("d.event = %s", filter.Event)
	}
	if filter.State == webhook.DeliveryEnded {
		c.and("d.state <> 'waiting'")
	} else if filter.State != "" {
		c.and("d.state = %s", filter.State)
	}
	if filter.Endpoint != uuid.Nil {
		c.and("d.endpoint = (SELECT key FROM webhook_endpoints WHERE id = %s)", filter.Endpoint)
	}
	owned := `d.consumer_id = $2 AND d.mode = $3`
	if filter.JobID != uuid.Nil {
		owned = `d.job_id = (SELECT id FROM jobs WHERE id = ` + c.arg(filter.JobID) + ` AND consumer_id = $2 AND mode = $3)`
	}
	c.within("d.emitted_at", filter.From, filter.To)
	if after != (webhook.LogCursor{}) {
		c.and("(d.emitted_at, d.id) < (%s, %s)", after.EmittedAt, after.ID)
	}
	newest := ` LIMIT ` + c.arg(limit+1)
	return db.deliveryPage(ctx, limit, now, `WHERE `+owned+c.text+` ORDER BY d.emitted_at DESC, d.id DESC`+newest, c.args...)
}

// TryHours returns what came of the tries of a consumer since a time, by hour: of those to an endpoint, or of all
// with an empty key. Tries of events that are more than a week older are left out. It uses the index deliveries_log.
func (db *Reader) TryHours(ctx context.Context, caller account.Caller, key string, since time.Time) ([]webhook.HourTries, error) {
	return List(ctx, db, "count the tries of each hour", func(r row, h *webhook.HourTries) error {
		return r.Scan(&h.Hour, &h.Delivered, &h.Failed, &h.Latency)
	}, `SELECT t.started_at / 3600000 * 3600000 AS hour, CAST(SUM(CASE WHEN t.status_code BETWEEN 200 AND 299 THEN 1 ELSE 0 END) AS BIGINT),
			CAST(SUM(CASE WHEN t.status_code BETWEEN 200 AND 299 THEN 0 ELSE 1 END) AS BIGINT), CAST(AVG(t.latency_ms) AS BIGINT)
		FROM deliveries d JOIN delivery_tries t ON t.delivery_id = d.id
		WHERE d.consumer_id = $1 AND d.mode = $2 AND d.emitted_at >= $3 AND ($4 = '' OR d.endpoint = $4) AND t.started_at >= $5
		GROUP BY t.started_at / 3600000`, caller.ConsumerID, caller.Mode, since.AddDate(0, 0, -7), key, since)
}

// DeliveryRequest returns a delivery of a consumer as its latest try sent it, or as the
// first will, with the secrets of now; a *job.Error with NotFound without such a delivery.
func (db *Reader) DeliveryRequest(ctx context.Context, caller account.Caller, id string) (webhook.Delivery, error) {
	d, err := queryOne(ctx, db, "delivery", scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries d
		WHERE d.id = $1 AND d.consumer_id = $2 AND d.mode = $3`, id, caller.ConsumerID, caller.Mode)
	if err != nil {
		return d, err
	}
	of, err := db.Consumer(ctx, caller.ConsumerID)
	if err != nil {
		return d, err
	}
	d.Attempt, d.Secrets = max(1, d.Attempt), of.WebhookSecrets()
	return d, nil
}

// resetDelivery is the SET clause that makes a delivery wait for a new try.
const resetDelivery = `state = 'waiting', due_at = $1, lease = '', failures = 0, ended_at = NULL, end_reason = '', not_before = NULL`

// Redeliver schedules one more try, due now, of a delivery of a consumer in a final state.
// The caller has locked its job, if it has one. The delivery keeps its ID, its sequence and
// its tries, so later events wait for it like for any other. If the try fails, the full retry
// schedule applies again. The error is a *job.Error without such a delivery, or when it
// cannot be tried again.
func (tx *Tx) Redeliver(ctx context.Context, caller account.Caller, id string, now time.Time) error {
	n, err := tx.Affected(ctx, "redeliver", `UPDATE deliveries SET `+resetDelivery+`
		WHERE id = $2 AND consumer_id = $3 AND mode = $4 AND state <> 'waiting' AND attempt < $5`,
		now, id, caller.ConsumerID, caller.Mode, webhook.MaxTries)
	if err != nil || n == 1 {
		return err
	}
	d, err := tx.DeliveryOf(ctx, caller, id, now)
	switch {
	case err != nil:
		return err
	case d.State == webhook.DeliveryWaiting:
		return job.NewInvalidState("the delivery is still waiting for a try")
	}
	return job.NewInvalidState("the delivery has been tried %d times, which is the maximum", d.Attempt)
}

// redeliverBatch is how many deliveries one transaction resets, so that other
// writes can run in between.
const redeliverBatch = 1000

// RedeliverFailed schedules a try, due now, of each matching failed delivery,
// as Redeliver does, and returns their number. It skips deliveries that have
// reached webhook.MaxTries. It uses the index deliveries_log, or
// deliveries_of_job for the deliveries of a job.
func (s *Store) RedeliverFailed(ctx context.Context, caller account.Caller, filter webhook.FailedFilter,
	now time.Time) (count int, err error) {
	c := conditions{args: []any{caller.ConsumerID, caller.Mode, webhook.MaxTries, now, redeliverBatch}}
	if filter.JobID != uuid.Nil {
		c.and("d.job_id = %s", filter.JobID)
	}
	if filter.URL != "" {
		c.and("d.endpoint = %s", webhook.EndpointKey(caller.ConsumerID, caller.Mode, filter.URL))
	}
	c.within("d.emitted_at", filter.From, filter.To)
	for {
		var ids []string
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			// Those that failed after now are skipped, because this redelivery may have been their last try.
			ids, err = List(ctx, tx.Reader, "find failed deliveries", scanColumn[string], `
				SELECT d.id FROM deliveries d
				WHERE d.consumer_id = $1 AND d.mode = $2 AND d.state = 'failed' AND d.attempt < $3 AND d.ended_at <= $4`+c.text+`
				ORDER BY d.emitted_at, d.id LIMIT $5`, c.args...)
			if err != nil {
				return err
			}
			return tx.exec(ctx, "redeliver failed deliveries", `UPDATE deliveries SET `+resetDelivery+` WHERE state = 'failed' AND id `+
				tx.dialect.In(2), now, jsonArray(ids))
		})
		if err != nil {
			return count, err
		}
		count += len(ids)
		if len(ids) < redeliverBatch {
			return count, nil
		}
	}
}

// scanDeliveryRecord returns a function that scans selectDeliveryRecords as of now.
func scanDeliveryRecord(now time.Time) func(row, *webhook.DeliveryRecord) error {
	return func(r row, d *webhook.DeliveryRecord) error {
		var blockedTo, notBefore time.Time
		var otherDue bool
		err := r.Scan(&d.ID, &d.JobID, &d.URL, &d.Event, &d.Sequence, &d.EmittedAt, &d.Version, &d.State, &d.Attempt,
			&d.NextTryAt, &d.EndedAt, &d.EndReason, &blockedTo, &d.ProbeAt, &notBefore, &otherDue)
		if d.State == webhook.DeliveryWaiting {
			d.NextTryAt = webhook.NextTry(d.NextTryAt, blockedTo, notBefore, d.ProbeAt, now, otherDue)
		}
		return err
	}
}

// EraseConsumerDeliveries deletes the deliveries of a consumer's events without a job that
// happened by a time and are not waiting. It uses the index deliveries_of_consumer.
func (s *Store) EraseConsumerDeliveries(ctx context.Context, consumer uuid.UUID, until time.Time) error {
	const batch = 1000
	for {
		var ids []string
		err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
			if ids, err = List(ctx, tx.Reader, "find the deliveries of a consumer", scanColumn[string], `SELECT id FROM deliveries
				WHERE consumer_id = $1 AND job_id IS NULL AND emitted_at <= $2 AND state <> 'waiting' ORDER BY emitted_at, id LIMIT $3`,
				consumer, until, batch); err != nil {
				return err
			}
			return tx.exec(ctx, "erase deliveries", `DELETE FROM deliveries WHERE id `+tx.dialect.In(1), jsonArray(ids))
		})
		if err != nil {
			return err
		}
		if len(ids) < batch {
			return nil
		}
	}
}
