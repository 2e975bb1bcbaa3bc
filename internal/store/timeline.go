package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// InsertEntry adds a line to a timeline.
func (q *Queries) InsertEntry(ctx context.Context, e job.TimelineEntry) error {
	applied := 0
	if e.Applied {
		applied = 1
	}
	_, err := q.exec(ctx, `
		INSERT INTO timeline (id, job_id, attempt, source, kind, emitted_at, received_at, applied, reason,
			status_from, status_to, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		e.ID, e.JobID, e.Attempt, e.Source, e.Kind, millis(e.EmittedAt), millis(e.ReceivedAt), applied, e.Reason,
		e.From, e.To, string(e.Data))
	if err != nil {
		return fmt.Errorf("add to the timeline of job %s: %w", e.JobID, err)
	}
	return nil
}

// EventExists reports whether the bot's event is on the timeline already. It
// uses the index timeline_identity.
func (q *Queries) EventExists(ctx context.Context, jobID uuid.UUID, attempt int, kind job.Trigger, emittedAt time.Time) (bool, error) {
	var n int
	err := q.queryRow(ctx, `
		SELECT COUNT(*) FROM timeline
		WHERE job_id = $1 AND attempt = $2 AND kind = $3 AND emitted_at = $4 AND source = 'bot'`,
		jobID, attempt, kind, millis(emittedAt)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look an event of job %s up: %w", jobID, err)
	}
	return n > 0, nil
}

// Timeline returns all entries of a job in the order of their arrival. It
// uses the index timeline_order.
func (q *Queries) Timeline(ctx context.Context, jobID uuid.UUID) ([]job.TimelineEntry, error) {
	var entries []job.TimelineEntry
	err := q.collect(ctx, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		entries = append(entries, e)
		return err
	}, `SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 ORDER BY id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the timeline of job %s: %w", jobID, err)
	}
	return entries, nil
}

// ListTimeline returns up to limit entries of a job's timeline behind one of
// them, in the order of their arrival, and whether there are more. uuid.Nil is
// before the first. It uses the index timeline_order.
func (q *Queries) ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (page []job.TimelineEntry, more bool, err error) {
	size := 0
	err = q.collect(ctx, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		if err != nil {
			return err
		}
		size += len(e.Data)
		if len(page) == limit || len(page) > 0 && size > maxPageBytes {
			return errPageFull
		}
		page = append(page, e)
		return nil
	}, `SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3`, jobID, after, limit+1)
	if errors.Is(err, errPageFull) {
		return page, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the timeline of job %s: %w", jobID, err)
	}
	return page, false, nil
}

const entryColumns = `id, job_id, attempt, source, kind, emitted_at, received_at, applied, reason, status_from, status_to, data`

func scanEntry(row interface{ Scan(...any) error }) (job.TimelineEntry, error) {
	var (
		e                 job.TimelineEntry
		emitted, received int64
		applied           int
		data              string
	)
	err := row.Scan(&e.ID, &e.JobID, &e.Attempt, &e.Source, &e.Kind, &emitted, &received, &applied, &e.Reason,
		&e.From, &e.To, &data)
	e.EmittedAt, e.ReceivedAt = fromMillis(emitted), fromMillis(received)
	e.Applied, e.Data = applied == 1, json.RawMessage(data)
	return e, err
}
