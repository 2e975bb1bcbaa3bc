package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

const dayMillis = 24 * 60 * 60 * 1000

const addUsage = `INSERT INTO usage_days (consumer_id, mode, day, completed, failed, cancelled, recorded_ms, bot_ms, stored_bytes, deleted_bytes)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
	ON CONFLICT (consumer_id, mode, day) DO UPDATE SET
		completed = usage_days.completed + excluded.completed, failed = usage_days.failed + excluded.failed,
		cancelled = usage_days.cancelled + excluded.cancelled, recorded_ms = usage_days.recorded_ms + excluded.recorded_ms,
		bot_ms = usage_days.bot_ms + excluded.bot_ms, stored_bytes = usage_days.stored_bytes + excluded.stored_bytes,
		deleted_bytes = usage_days.deleted_bytes + excluded.deleted_bytes`

// AddUsage adds to the usage of a consumer on the day of a time.
func (tx *Tx) AddUsage(ctx context.Context, consumer uuid.UUID, mode job.Mode, at time.Time, u job.Usage) error {
	_, err := tx.exec(ctx, addUsage, consumer, mode, millis(at)/dayMillis, u.Completed, u.Failed, u.Cancelled,
		u.Recorded.Milliseconds(), u.Bots.Milliseconds(), u.StoredBytes, u.DeletedBytes)
	if err != nil {
		return fmt.Errorf("add to the usage of consumer %s: %w", consumer, err)
	}
	return nil
}

// Usage returns the usage of a consumer from one day to another, both included. It uses the
// primary key of usage_days.
func (db *Reader) Usage(ctx context.Context, consumer uuid.UUID, mode job.Mode, from, to time.Time) (job.UsageReport, error) {
	report := job.UsageReport{From: from, To: to}
	days, err := list(ctx, db, func(row sqldb.Row) (d job.UsageDay, err error) {
		var day int64
		err = row.Scan(&day, &d.Completed, &d.Failed, &d.Cancelled, durationColumn{&d.Recorded}, durationColumn{&d.Bots}, &d.StoredBytes, &d.DeletedBytes)
		d.Day = fromMillis(day * dayMillis)
		return d, err
	}, `SELECT day, completed, failed, cancelled, recorded_ms, bot_ms, stored_bytes, deleted_bytes FROM usage_days
		WHERE consumer_id = $1 AND mode = $2 AND day >= $3 AND day <= $4 ORDER BY day`, consumer, mode, millis(from)/dayMillis, millis(to)/dayMillis)
	if err != nil {
		return report, fmt.Errorf("read the usage of consumer %s: %w", consumer, err)
	}
	report.Days = days
	for _, d := range days {
		report.Total = report.Total.Plus(d.Usage)
	}
	err = db.queryRow(ctx, `SELECT CAST(COALESCE(SUM(stored_bytes - deleted_bytes), 0) AS BIGINT) FROM usage_days WHERE consumer_id = $1 AND mode = $2`,
		consumer, mode).Scan(&report.Kept)
	if err != nil {
		return report, fmt.Errorf("read what is stored for consumer %s: %w", consumer, err)
	}
	return report, nil
}

// TeamUsage returns the usage of each consumer from one day to another, both included, by
// name, without consumers that have none and of which nothing is stored.
func (db *Reader) TeamUsage(ctx context.Context, mode job.Mode, from, to time.Time) ([]job.TeamUsage, error) {
	within := func(column string) string {
		return `CAST(SUM(CASE WHEN u.day >= $2 AND u.day <= $3 THEN u.` + column + ` ELSE 0 END) AS BIGINT)`
	}
	teams, err := list(ctx, db, func(row sqldb.Row) (t job.TeamUsage, err error) {
		err = row.Scan(&t.ConsumerID, &t.Consumer, &t.Completed, &t.Failed, &t.Cancelled, durationColumn{&t.Recorded}, durationColumn{&t.Bots},
			&t.StoredBytes, &t.DeletedBytes, &t.Kept)
		return t, err
	}, `SELECT c.id, c.name, `+within("completed")+`, `+within("failed")+`, `+within("cancelled")+`, `+within("recorded_ms")+`, `+within("bot_ms")+`,
			`+within("stored_bytes")+`, `+within("deleted_bytes")+`, CAST(SUM(u.stored_bytes - u.deleted_bytes) AS BIGINT)
		FROM usage_days u JOIN consumers c ON c.id = u.consumer_id
		WHERE u.mode = $1 GROUP BY c.id, c.name
		HAVING MAX(CASE WHEN u.day >= $2 AND u.day <= $3 THEN 1 ELSE 0 END) = 1 OR SUM(u.stored_bytes - u.deleted_bytes) > 0
		ORDER BY c.name`, mode, millis(from)/dayMillis, millis(to)/dayMillis)
	if err != nil {
		return nil, fmt.Errorf("read the usage of consumers: %w", err)
	}
	return teams, nil
}
