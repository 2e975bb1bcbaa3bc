package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/webhook"
)

// newDeliveryColumns are the columns of a new delivery, with their types.
const newDeliveryColumns = `id text, job_id text, consumer_id text, url text, host text, endpoint text, event text,
	sequence bigint, emitted_at bigint, version bigint, data text, due_at bigint, lease text, attempt bigint`

var intoDeliveries = newInsertion("deliveries", newDeliveryColumns)

// newDeliveryValues returns the values of newDeliveryColumns.
func newDeliveryValues(d webhook.Delivery, due time.Time) []any {
	return []any{d.ID, d.JobID.String(), d.ConsumerID.String(), d.URL, webhook.HostOf(d.URL), webhook.EndpointKey(d.ConsumerID, d.URL),
		d.Event, d.Sequence, millis(d.EmittedAt), d.Version, string(d.Data), millis(due), d.Lease, d.Attempt}
}

// InsertDelivery adds a delivery to the outbox, due at once and without a lease.
func (q *Queries) InsertDelivery(ctx context.Context, d webhook.Delivery) error {
	d.Lease, d.Attempt = "", 0
	return q.insertLater(ctx, intoDeliveries, newDeliveryValues(d, d.EmittedAt)...)
}

// aheadOf is the condition of the deliveries for which new ones wait, those with the
// highest sequence of their job. It uses the index deliveries_ahead.
var aheadOf = fmt.Sprintf(`state = 'waiting' AND failures < %d`, webhook.ReorderAfterFailures)

var aheadOfNew = newLookup("deliveries", `endpoint text, job_id text`, aheadOf)

// InsertLeasedDelivery is like InsertDelivery for a delivery with a lease, and calls
// withLease by the end of the next Flush or of the commit. If the delivery has to wait
// for an earlier one, it gets no lease, and withLease is not called.
//
// The caller has locked the job, and has inserted no other delivery of the job to
// the same URL since the last Flush.
func (q *Queries) InsertLeasedDelivery(ctx context.Context, d webhook.Delivery, withLease func()) error {
	if q.takesArrays() {
		return q.findLater(ctx, leasedDeliveries, withLease, newDeliveryValues(d, d.LeasedTo)...)
	}
	ahead := false
	err := q.findLater(ctx, aheadOfNew, func() { ahead = true }, webhook.EndpointKey(d.ConsumerID, d.URL), d.JobID.String())
	if err != nil {
		return err
	}
	if ahead {
		return q.InsertDelivery(ctx, d)
	}
	withLease()
	return q.insertLater(ctx, intoDeliveries, newDeliveryValues(d, d.LeasedTo)...)
}

// leasedDeliveries inserts deliveries and finds those that get their lease. It is
// PostgreSQL's, which would read all waiting deliveries for an EXISTS instead of a
// LIMIT if it planned the statement while there were few.
var leasedDeliveries = newLeasedDeliveries()

func newLeasedDeliveries() *lookup {
	var names, values, arrays []string
	for i, c := range columnsOf(newDeliveryColumns) {
		names = append(names, c.name)
		values = append(values, fmt.Sprintf("$%d::%s", i+1, c.kind))
		arrays = append(arrays, fmt.Sprintf("(SELECT $%d::%s[])", i+2, c.kind))
	}
	columns := strings.Join(names, ", ")
	statement := func(rows string) string {
		return `WITH new AS (SELECT v.*, (
				SELECT 1 FROM deliveries ahead WHERE ahead.endpoint = v.endpoint AND ahead.job_id = v.job_id AND ahead.` + aheadOf + ` LIMIT 1) IS NULL AS free
			FROM ` + rows + `), inserted AS (INSERT INTO deliveries (` + columns + `)
				SELECT ` + strings.Join(names[:len(names)-3], ", ") + `, CASE WHEN free THEN due_at ELSE emitted_at END,
					CASE WHEN free THEN lease ELSE '' END, CASE WHEN free THEN attempt ELSE 0 END FROM new)
			SELECT number FROM new WHERE free`
	}
	return &lookup{
		table: "deliveries",
		one:   statement(`(VALUES (0, ` + strings.Join(values, ", ") + `)) AS v (number, ` + columns + `)`),
		many:  statement(`unnest((SELECT $1::bigint[]), ` + strings.Join(arrays, ", ") + `) AS v (number, ` + columns + `)`),
	}
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
