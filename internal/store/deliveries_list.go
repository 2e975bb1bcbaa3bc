package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

const deliveryRecordColumns = `id, job_id, url, event, sequence, emitted_at, version, state, attempt, due_at, ended_at, end_reason`

// ListDeliveries returns up to limit of a job's deliveries behind a place, each
// with its tries, and whether there are more. It uses the index
// deliveries_of_job.
func (q *Queries) ListDeliveries(ctx context.Context, jobID uuid.UUID, after webhook.DeliveryCursor, limit int) (page []webhook.DeliveryRecord, more bool, err error) {
	err = q.collect(ctx, func(rows *sql.Rows) error {
		d, err := scanDeliveryRecord(rows)
		page = append(page, d)
		return err
	}, `SELECT `+deliveryRecordColumns+` FROM deliveries
		WHERE job_id = $1 AND (sequence, id) > ($2, $3) ORDER BY sequence, id LIMIT $4`,
		jobID, after.Sequence, after.ID, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the deliveries of job %s: %w", jobID, err)
	}
	if more = len(page) > limit; more {
		page = page[:limit]
	}
	return page, more, q.fillTries(ctx, page)
}

// Delivery returns one delivery of a job with its tries, or a *job.Error with
// NotFound.
func (q *Queries) Delivery(ctx context.Context, jobID uuid.UUID, id string) (webhook.DeliveryRecord, error) {
	d, err := scanDeliveryRecord(q.queryRow(ctx,
		`SELECT `+deliveryRecordColumns+` FROM deliveries WHERE id = $1 AND job_id = $2`, id, jobID))
	if errors.Is(err, sql.ErrNoRows) {
		return webhook.DeliveryRecord{}, &job.Error{Code: job.NotFound, Message: "no such delivery"}
	}
	if err != nil {
		return webhook.DeliveryRecord{}, fmt.Errorf("read a delivery of job %s: %w", jobID, err)
	}
	page := []webhook.DeliveryRecord{d}
	err = q.fillTries(ctx, page)
	return page[0], err
}

// fillTries adds their tries to deliveries. It uses the primary key of
// delivery_tries.
func (q *Queries) fillTries(ctx context.Context, deliveries []webhook.DeliveryRecord) error {
	if len(deliveries) == 0 {
		return nil
	}
	at := make(map[string]int, len(deliveries))
	args := make([]any, len(deliveries))
	places := make([]string, len(deliveries))
	for i, d := range deliveries {
		at[d.ID], args[i], places[i] = i, d.ID, fmt.Sprintf("$%d", i+1)
	}
	err := q.collect(ctx, func(rows *sql.Rows) error {
		t, err := scanTry(rows)
		if err != nil {
			return err
		}
		d := &deliveries[at[t.DeliveryID]]
		d.Tries = append(d.Tries, t)
		return nil
	}, `SELECT delivery_id, number, started_at, latency_ms, status_code, error, answer
		FROM delivery_tries WHERE delivery_id IN (`+strings.Join(places, ", ")+`) ORDER BY delivery_id, number`, args...)
	if err != nil {
		return fmt.Errorf("read the tries of deliveries: %w", err)
	}
	return nil
}

// Redeliver makes a delivery that is final wait for one more try, due now. It
// keeps its id, its place in the order of its job's events and its count of
// tries, so all that webhook.Outbox promises goes on to hold: later events of
// the job wait for it as for any other. Should it fail, it is retried like any
// other, so its failures are counted anew. A *job.Error tells
// that there is no such delivery, or that it cannot be tried again.
func (q *Queries) Redeliver(ctx context.Context, jobID uuid.UUID, id string, now time.Time) error {
	n, err := q.exec(ctx, `
		UPDATE deliveries SET state = 'waiting', due_at = $3, lease = '', failures = 0, ended_at = NULL, end_reason = '', not_before = NULL
		WHERE id = $1 AND job_id = $2 AND state <> 'waiting' AND attempt < $4`,
		id, jobID, millis(now), webhook.MaxTries)
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
		return &job.Error{Code: job.InvalidState, Message: "the delivery is still on its way"}
	}
	return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("the delivery was tried %d times, which is the most", d.Attempt)}
}

func scanDeliveryRecord(row interface{ Scan(...any) error }) (webhook.DeliveryRecord, error) {
	var d webhook.DeliveryRecord
	var emitted int64
	var due, ended sql.NullInt64
	err := row.Scan(&d.ID, &d.JobID, &d.URL, &d.Event, &d.Sequence, &emitted, &d.Version, &d.State, &d.Attempt,
		&due, &ended, &d.EndReason)
	d.EmittedAt, d.DueAt, d.EndedAt, d.EndReason = fromMillis(emitted), fromNull(due), fromNull(ended), fromKeptText(d.EndReason)
	return d, err
}

// scanTry reads a row of delivery_tries.
func scanTry(row interface{ Scan(...any) error }) (webhook.Try, error) {
	var t webhook.Try
	var started, latency int64
	var answer string
	if err := row.Scan(&t.DeliveryID, &t.Number, &started, &latency, &t.StatusCode, &t.Error, &answer); err != nil {
		return webhook.Try{}, err
	}
	t.StartedAt, t.Latency, t.Error = fromMillis(started), time.Duration(latency)*time.Millisecond, fromKeptText(t.Error)
	var err error
	t.ResponseBody, err = base64.StdEncoding.DecodeString(answer)
	return t, err
}
