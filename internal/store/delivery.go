package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/webhook"
)

// InsertDelivery puts a delivery into the outbox, due at once.
func (q *Queries) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	_, err := q.exec(ctx, `
		INSERT INTO deliveries (id, job_id, consumer_id, url, host, endpoint, event, sequence, emitted_at, version, data, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $9)`,
		d.ID, d.JobID, d.ConsumerID, d.URL, webhook.HostOf(d.URL), webhook.EndpointKey(d.ConsumerID, d.URL),
		d.Event, d.Sequence, millis(d.EmittedAt), d.Version, string(d.Data))
	if err != nil {
		return fmt.Errorf("put %s of job %s into the outbox: %w", d.Event, d.JobID, err)
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

// Backlog implements webhook.Outbox. It uses the index deliveries_due.
func (q *Queries) Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	var emitted sql.NullInt64
	err = q.queryRow(ctx, `SELECT COUNT(*), MIN(emitted_at) FROM deliveries WHERE due_at IS NOT NULL`).Scan(&waiting, &emitted)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count the waiting deliveries: %w", err)
	}
	return waiting, fromNull(emitted), nil
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
