package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// ConsumerRetention is how long a consumer's recordings are kept, and which is the next
// whose time is up.
type ConsumerRetention struct {
	ConsumerID uuid.UUID
	Retention  *time.Duration // nil: the service's own; 0: for ever
	Oldest     time.Time      // when the first of the jobs ended whose recordings are kept; zero when there is none
}

// ConsumerRetentions lists the consumers. It uses the index jobs_kept, whose condition
// it repeats word for word, once for each.
func (q *Queries) ConsumerRetentions(ctx context.Context) ([]ConsumerRetention, error) {
	var keepings []ConsumerRetention
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var keeping ConsumerRetention
		var retention, oldest sql.NullInt64
		err := rows.Scan(&keeping.ConsumerID, &retention, &oldest)
		keeping.Retention, keeping.Oldest = fromNullPeriod(retention), fromNull(oldest)
		keepings = append(keepings, keeping)
		return err
	}, `SELECT c.id, c.retention_ms,
			(SELECT j.status_since FROM jobs j WHERE j.consumer_id = c.id
				AND j.recording_deleted_at IS NULL AND j.wake_at IS NULL AND j.attempts > 0
				ORDER BY j.status_since, j.id LIMIT 1)
		FROM consumers c ORDER BY c.id`)
	if err != nil {
		return nil, fmt.Errorf("read how long recordings are kept: %w", err)
	}
	return keepings, nil
}

// EndedJob names a job that has ended.
type EndedJob struct {
	JobID uuid.UUID
	At    time.Time
}

// ExpiredRecordings lists up to limit of a consumer's jobs, behind one of them, that
// ended until a moment, that nobody works on any more and whose recordings are
// kept: the first to end first. It uses the index jobs_kept.
func (q *Queries) ExpiredRecordings(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob, limit int) ([]EndedJob, error) {
	var jobs []EndedJob
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var one EndedJob
		var ended int64
		err := rows.Scan(&one.JobID, &ended)
		one.At = fromMillis(ended)
		jobs = append(jobs, one)
		return err
	}, `SELECT id, status_since FROM jobs WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND recording_deleted_at IS NULL AND wake_at IS NULL AND attempts > 0
		ORDER BY status_since, id LIMIT $5`, consumer, millis(until), millis(after.At), after.JobID, limit)
	if err != nil {
		return nil, fmt.Errorf("find the recordings whose time is up: %w", err)
	}
	return jobs, nil
}

// PendingErasures lists up to limit jobs whose recordings were to be deleted
// before a moment, and of which that is not known to be done. It uses the index
// jobs_erasing.
func (q *Queries) PendingErasures(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error) {
	var jobs []uuid.UUID
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var id uuid.UUID
		err := rows.Scan(&id)
		jobs = append(jobs, id)
		return err
	}, `SELECT id FROM jobs WHERE recording_deleted_at IS NOT NULL AND recording_erased_at IS NULL
			AND recording_deleted_at <= $1 ORDER BY recording_deleted_at LIMIT $2`, millis(before), limit)
	if err != nil {
		return nil, fmt.Errorf("find the deletions that are not finished: %w", err)
	}
	return jobs, nil
}

// RecordedJobs lists up to limit jobs behind one of them that have a manifest
// which was not deleted, in the order in which they were made. uuid.Nil is
// before the first.
func (q *Queries) RecordedJobs(ctx context.Context, after uuid.UUID, limit int) ([]job.Job, error) {
	var jobs []job.Job
	err := q.collect(ctx, func(rows *sql.Rows) error {
		r, err := scanJob(rows)
		jobs = append(jobs, r.Job)
		return err
	}, `SELECT `+jobColumns+` FROM jobs WHERE id > $1 AND manifest_uri <> '' AND recording_deleted_at IS NULL
		ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list the jobs that have recordings: %w", err)
	}
	return jobs, nil
}

// SetRetention sets how long a consumer's recordings are kept: nil for as long
// as the service keeps them, 0 for ever. Without such a consumer it is a
// *job.Error with NotFound.
func (s *Store) SetRetention(ctx context.Context, name string, retention *time.Duration) error {
	kept := sql.NullInt64{Valid: retention != nil}
	if retention != nil {
		kept.Int64 = retention.Milliseconds()
	}
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, `UPDATE consumers SET retention_ms = $2 WHERE name = $1`, name, kept)
		if err != nil {
			return fmt.Errorf("set the consumer's retention: %w", err)
		}
		if n == 0 {
			return &job.Error{Code: job.NotFound, Message: "no such consumer"}
		}
		return nil
	})
}

// fromNullPeriod is a length of time as it is kept, in milliseconds.
func fromNullPeriod(ms sql.NullInt64) *time.Duration {
	if !ms.Valid {
		return nil
	}
	period := time.Duration(ms.Int64) * time.Millisecond
	return &period
}
