package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/store/sqldb"
	"standin/internal/webhook"
)

const insertDelivery = `INSERT INTO deliveries (id, job_id, consumer_id, url, endpoint, event, sequence, emitted_at, version, data, due_at, subject, mode)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $8, $11, $12)`

// InsertDelivery adds a delivery to the outbox, due at once.
func (tx *Tx) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	_, err := tx.exec(ctx, insertDelivery, d.ID, uuid.NullUUID{UUID: d.JobID, Valid: d.JobID != uuid.Nil}, d.ConsumerID, d.URL,
		webhook.EndpointKey(d.ConsumerID, d.URL), d.Event, d.Sequence, millis(d.EmittedAt), d.Version, string(d.Data), d.Subject(), d.Mode)
	if err != nil {
		return fmt.Errorf("insert delivery %s: %w", d.ID, err)
	}
	return nil
}

const nextDelivery = `SELECT MIN(due_at) FROM deliveries WHERE due_at > $1`

// NextDelivery implements webhook.Outbox. It uses the index deliveries_due.
func (db *Reader) NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error) {
	var next time.Time
	if err := db.queryRow(ctx, nextDelivery, millis(after)).Scan(timeColumn{&next}); err != nil {
		return time.Time{}, false, fmt.Errorf("find the next due delivery: %w", err)
	}
	return next, !next.IsZero(), nil
}

// Backlog implements webhook.Outbox. It uses the index deliveries_due.
func (db *Reader) Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	err = db.queryRow(ctx, `SELECT COUNT(*), MIN(emitted_at) FROM deliveries WHERE due_at IS NOT NULL`).Scan(&waiting, timeColumn{&oldest})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count the waiting deliveries: %w", err)
	}
	return waiting, oldest, nil
}

const deliveryColumns = `d.id, d.job_id, d.consumer_id, d.mode, d.url, d.event, d.sequence, d.emitted_at, d.version, d.data, d.attempt, d.failures, d.due_at`

func scanDelivery(row sqldb.Row) (d webhook.Delivery, err error) {
	err = row.Scan(&d.ID, &d.JobID, &d.ConsumerID, &d.Mode, &d.URL, &d.Event, &d.Sequence, timeColumn{&d.EmittedAt}, &d.Version,
		(*[]byte)(&d.Data), &d.Attempt, &d.Failures, timeColumn{&d.DueAt})
	return d, err
}
