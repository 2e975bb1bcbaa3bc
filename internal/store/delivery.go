package store

import (
	"context"
	"fmt"
	"time"

	"standin/internal/webhook"
)

var intoDeliveries = newInsertion("deliveries", `id text, job_id text, consumer_id text, url text, host text, endpoint text, event text,
	sequence bigint, emitted_at bigint, version bigint, data text, due_at bigint`)

// InsertDelivery adds a delivery to the outbox, due at once.
func (q *Queries) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	return q.insertLater(ctx, intoDeliveries, d.ID, d.JobID.String(), d.ConsumerID.String(), d.URL, webhook.HostOf(d.URL),
		webhook.EndpointKey(d.ConsumerID, d.URL), d.Event, d.Sequence, millis(d.EmittedAt), d.Version, string(d.Data), millis(d.EmittedAt))
}

// NextDelivery implements webhook.Outbox. It uses the index deliveries_due.
func (q *Queries) NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error) {
	var next time.Time
	if err := q.queryRow(ctx, `SELECT MIN(due_at) FROM deliveries WHERE due_at > $1`, millis(after)).Scan(timeColumn{&next}); err != nil {
		return time.Time{}, false, fmt.Errorf("find the next due delivery: %w", err)
	}
	return next, !next.IsZero(), nil
}

// Backlog implements webhook.Outbox. It uses the index deliveries_due.
func (q *Queries) Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	err = q.queryRow(ctx, `SELECT COUNT(*), MIN(emitted_at) FROM deliveries WHERE due_at IS NOT NULL`).Scan(&waiting, timeColumn{&oldest})
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count the waiting deliveries: %w", err)
	}
	return waiting, oldest, nil
}

const deliveryColumns = `d.id, d.job_id, d.consumer_id, d.url, d.event, d.sequence, d.emitted_at, d.version, d.data, d.attempt, d.failures`

func scanDelivery(row scanner) (d webhook.Delivery, err error) {
	err = row.Scan(&d.ID, &d.JobID, &d.ConsumerID, &d.URL, &d.Event, &d.Sequence, timeColumn{&d.EmittedAt}, &d.Version,
		(*[]byte)(&d.Data), &d.Attempt, &d.Failures)
	return d, err
}
