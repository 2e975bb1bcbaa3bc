package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

const selectDeliveryRecords = `SELECT id, job_id, url, event, sequence, emitted_at, version, state, attempt, due_at, ended_at, end_reason FROM deliveries `

// ListDeliveries returns up to limit of a job's deliveries after a cursor, each
// with its tries, and whether there are more. It uses the index
// deliveries_of_job.
func (q *Queries) ListDeliveries(ctx context.Context, jobID uuid.UUID, after webhook.DeliveryCursor, limit int) (deliveries []webhook.DeliveryRecord, more bool, err error) {
	deliveries, err = list(ctx, q, scanDeliveryRecord, selectDeliveryRecords+`
		WHERE job_id = $1 AND (sequence, id) > ($2, $3) ORDER BY sequence, id LIMIT $4 + 0`,
		jobID, after.Sequence, after.ID, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the deliveries of job %s: %w", jobID, err)
	}
	if more = len(deliveries) > limit; more {
		deliveries = deliveries[:limit]
	}
	return deliveries, more, q.fillTries(ctx, deliveries)
}

// Delivery returns a delivery of a job with its tries, or a *job.Error with
// NotFound.
func (q *Queries) Delivery(ctx context.Context, jobID uuid.UUID, id string) (webhook.DeliveryRecord, error) {
	d, err := one(q.queryRow(ctx, selectDeliveryRecords+`WHERE id = $1 AND job_id = $2`, id, jobID), scanDeliveryRecord, "delivery")
	if err != nil {
		return d, err
	}
	deliveries := []webhook.DeliveryRecord{d}
	err = q.fillTries(ctx, deliveries)
	return deliveries[0], err
}

const (
	tryColumns = `delivery_id, number, started_at, latency_ms, status_code, error, answer`
	// selectDelivering selects the tries that are stored with the deliveries.
	selectDelivering = `SELECT id AS delivery_id, attempt AS number, ended_at - latency_ms AS started_at, latency_ms, status_code, '' AS error,
		COALESCE(answer, '') AS answer FROM deliveries WHERE latency_ms IS NOT NULL`
	// selectTries selects the tries of deliveries. A condition of their IDs follows.
	selectTries = `SELECT ` + tryColumns + ` FROM (SELECT ` + tryColumns + ` FROM delivery_tries UNION ALL ` + selectDelivering + `) AS tries WHERE delivery_id `
)

// fillTries adds the tries of deliveries. It uses the primary keys of delivery_tries
// and deliveries.
func (q *Queries) fillTries(ctx context.Context, deliveries []webhook.DeliveryRecord) error {
	if len(deliveries) == 0 {
		return nil
	}
	index := make(map[string]int, len(deliveries))
	ids := make([]any, len(deliveries))
	placeholders := make([]string, len(deliveries))
	for i, d := range deliveries {
		index[d.ID], ids[i], placeholders[i] = i, d.ID, fmt.Sprintf("$%d", i+1)
	}
	err := q.forEach(ctx, func(row scanner) error {
		t, err := scanTry(row)
		if err != nil {
			return err
		}
		d := &deliveries[index[t.DeliveryID]]
		d.Tries = append(d.Tries, t)
		return nil
	}, selectTries+`IN (`+strings.Join(placeholders, ", ")+`) ORDER BY delivery_id, number`, ids...)
	if err != nil {
		return fmt.Errorf("read the tries of deliveries: %w", err)
	}
	return nil
}

// DeliveryPayload returns the body that the latest try of a delivery sent, or
// that the first will send; a *job.Error with NotFound without such a delivery.
func (q *Queries) DeliveryPayload(ctx context.Context, jobID uuid.UUID, deliveryID string) ([]byte, error) {
	d, err := one(q.queryRow(ctx, `SELECT event, emitted_at, version, attempt, data FROM deliveries WHERE id = $1 AND job_id = $2`, deliveryID, jobID),
		func(row scanner) (webhook.Delivery, error) {
			d := webhook.Delivery{ID: deliveryID}
			err := row.Scan(&d.Event, timeColumn{&d.EmittedAt}, &d.Version, &d.Attempt, (*[]byte)(&d.Data))
			return d, err
		}, "delivery")
	if err != nil {
		return nil, err
	}
	d.Attempt = max(1, d.Attempt)
	return webhook.Body(d)
}

// resetDelivery is the SET clause that makes a delivery wait for a new try.
const resetDelivery = `state = 'waiting', due_at = $1, lease = '', failures = 0, ended_at = NULL, end_reason = '', not_before = NULL,
	latency_ms = NULL, status_code = NULL, answer = NULL`

// Redeliver schedules one more try, due now, of a delivery in a final state. The
// caller has locked the job. The delivery keeps its ID, its sequence and its tries,
// so later events of the job wait for it like for any other. If the try fails, the
// full retry schedule applies again. The error is a *job.Error without such a
// delivery, or when it cannot be tried again.
func (q *Queries) Redeliver(ctx context.Context, jobID uuid.UUID, id string, now time.Time) error {
	_, err := q.exec(ctx, `INSERT INTO delivery_tries (`+tryColumns+`) `+selectDelivering+` AND id = $1 AND job_id = $2 AND attempt < $3`,
		id, jobID, webhook.MaxTries)
	if err != nil {
		return fmt.Errorf("keep the last try of delivery %s: %w", id, err)
	}
	n, err := q.exec(ctx, `UPDATE deliveries SET `+resetDelivery+` WHERE id = $2 AND job_id = $3 AND state <> 'waiting' AND attempt < $4`,
		millis(now), id, jobID, webhook.MaxTries)
	if err != nil {
		return fmt.Errorf("redeliver a delivery of job %s: %w", jobID, err)
	}
	if n == 1 {
		return nil
	}
	d, err := q.Delivery(ctx, jobID, id)
	switch {
	case err != nil:
		return err
	case d.State == webhook.DeliveryWaiting:
		return &job.Error{Code: job.InvalidState, Message: "the delivery is still waiting for a try"}
	}
	return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("the delivery has been tried %d times, which is the maximum", d.Attempt)}
}

// redeliverBatch is how many deliveries one transaction resets, so that other
// writes can run in between.
const redeliverBatch = 1000

// RedeliverFailed schedules a try, due now, of each matching failed delivery,
// as Redeliver does, and returns their number. It skips deliveries that have
// reached webhook.MaxTries. It uses the index deliveries_gave_up, or
// deliveries_of_job for the deliveries of a job.
func (s *Store) RedeliverFailed(ctx context.Context, consumer uuid.UUID, mode job.Mode, filter webhook.FailedFilter, now time.Time) (count int, err error) {
	for {
		var ids []string
		err := s.Write(ctx, func(q *Queries) (err error) {
			if ids, err = q.failedDeliveries(ctx, consumer, mode, filter, now); err != nil {
				return err
			}
			return q.update(ctx, ids, []any{millis(now)}, func(placeholders string) string {
				return `UPDATE deliveries SET ` + resetDelivery + ` WHERE state = 'gave_up' AND id IN (` + placeholders + `)`
			})
		})
		if err != nil {
			return count, fmt.Errorf("redeliver failed deliveries: %w", err)
		}
		count += len(ids)
		if len(ids) < redeliverBatch {
			return count, nil
		}
	}
}

// failedDeliveries returns the next batch of failed deliveries that match the
// filter. It skips those that failed after now, because this redelivery may
// have been their last try.
func (q *Queries) failedDeliveries(ctx context.Context, consumer uuid.UUID, mode job.Mode, filter webhook.FailedFilter, now time.Time) ([]string, error) {
	args := []any{consumer, string(mode), webhook.MaxTries, millis(now), redeliverBatch}
	conditions := ""
	and := func(condition string, arg any) {
		args = append(args, arg)
		conditions += fmt.Sprintf(" AND "+condition, len(args))
	}
	if filter.JobID != uuid.Nil {
		and("d.job_id = $%d", filter.JobID)
	}
	if filter.URL != "" {
		and("d.endpoint = $%d", webhook.EndpointKey(consumer, filter.URL))
	}
	if !filter.From.IsZero() {
		and("d.emitted_at >= $%d", millis(filter.From))
	}
	if !filter.To.IsZero() {
		and("d.emitted_at < $%d", millis(filter.To))
	}
	return list(ctx, q, scanColumn[string], `
		SELECT d.id FROM deliveries d
		WHERE d.consumer_id = $1 AND d.state = 'gave_up' AND d.attempt < $3 AND d.ended_at <= $4`+conditions+`
			AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = d.job_id AND j.mode = $2)
		ORDER BY d.emitted_at, d.id LIMIT $5`, args...)
}

func scanDeliveryRecord(row scanner) (d webhook.DeliveryRecord, err error) {
	err = row.Scan(&d.ID, &d.JobID, &d.URL, &d.Event, &d.Sequence, timeColumn{&d.EmittedAt}, &d.Version, &d.State, &d.Attempt,
		timeColumn{&d.DueAt}, timeColumn{&d.EndedAt}, escapedColumn{&d.EndReason})
	return d, err
}

func scanTry(row scanner) (t webhook.Try, err error) {
	var body string
	err = row.Scan(&t.DeliveryID, &t.Number, timeColumn{&t.StartedAt}, durationColumn{&t.Latency}, &t.StatusCode, escapedColumn{&t.Error}, &body)
	if err != nil {
		return t, err
	}
	t.ResponseBody, err = base64.StdEncoding.DecodeString(body)
	return t, err
}
