package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

const insertEntry = `INSERT INTO timeline (` + entryColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// InsertEntry adds an entry to a timeline.
func (tx *Tx) InsertEntry(ctx context.Context, e job.TimelineEntry) error {
	_, err := tx.exec(ctx, insertEntry, e.ID, e.JobID, e.Attempt, e.Source, e.Kind,
		millis(e.EmittedAt), millis(e.ReceivedAt), boolInt(e.Applied), e.Reason, e.From, e.To, string(e.Data))
	if err != nil {
		return fmt.Errorf("add to the timeline of job %s: %w", e.JobID, err)
	}
	return nil
}

const hasEvent = `SELECT EXISTS (SELECT 1 FROM timeline WHERE job_id = $1 AND attempt = $2 AND kind = $3 AND emitted_at = $4 AND source = 'bot')`

// HasEvent reports whether a bot's event is already on the timeline. It uses the
// index timeline_identity.
func (db *Reader) HasEvent(ctx context.Context, jobID uuid.UUID, attempt int, kind job.Trigger, emittedAt time.Time) (seen bool, err error) {
	if err := db.queryRow(ctx, hasEvent, jobID, attempt, kind, millis(emittedAt)).Scan(&seen); err != nil {
		return false, fmt.Errorf("look for an event on the timeline of job %s: %w", jobID, err)
	}
	return seen, nil
}

// Timeline returns all entries of a job in the order of their arrival. It
// uses the index timeline_order.
func (db *Reader) Timeline(ctx context.Context, jobID uuid.UUID) ([]job.TimelineEntry, error) {
	entries, err := list(ctx, db, scanEntry, `SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 ORDER BY id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the timeline of job %s: %w", jobID, err)
	}
	return entries, nil
}

// ListTimeline returns up to limit entries of a job's timeline after one of
// them, in the order of their arrival, and whether there are more. Start with
// uuid.Nil. It uses the index timeline_order.
func (db *Reader) ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error) {
	entries, more, err = page(ctx, db, limit, scanEntry, func(e job.TimelineEntry) int { return len(e.Data) },
		`SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3`, jobID, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the timeline of job %s: %w", jobID, err)
	}
	return entries, more, nil
}

const entryColumns = `id, job_id, attempt, source, kind, emitted_at, received_at, applied, reason, previous_status, status, data`

func scanEntry(row sqldb.Row) (e job.TimelineEntry, err error) {
	err = row.Scan(&e.ID, &e.JobID, &e.Attempt, &e.Source, &e.Kind, timeColumn{&e.EmittedAt}, timeColumn{&e.ReceivedAt},
		&e.Applied, &e.Reason, &e.From, &e.To, (*[]byte)(&e.Data))
	return e, err
}
