package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// ConsumerRetention is how long the recordings and the jobs of a consumer are
// kept.
type ConsumerRetention struct {
	ConsumerID uuid.UUID
	Retention  *time.Duration // nil: the service's default; 0: for ever
	Oldest     time.Time      // when the oldest job with a recording ended; zero when there is none

	JobRetention *time.Duration // nil: the service's default; 0: for ever
	OldestJob    time.Time      // when the oldest job without a recording ended; zero when there is none
}

// ConsumerRetentions returns the retention of every consumer. For each it uses
// the indexes jobs_kept and jobs_erasable, whose conditions it repeats literally.
func (db *Reader) ConsumerRetentions(ctx context.Context) ([]ConsumerRetention, error) {
	retentions, err := list(ctx, db, func(row sqldb.Row) (r ConsumerRetention, err error) {
		var recordings, jobs sql.NullInt64
		err = row.Scan(&r.ConsumerID, &recordings, &jobs, timeColumn{&r.Oldest}, timeColumn{&r.OldestJob})
		r.Retention, r.JobRetention = nullDuration(recordings), nullDuration(jobs)
		return r, err
	}, `SELECT c.id, c.retention_ms, c.job_retention_ms,
			(SELECT j.status_since FROM jobs j WHERE j.consumer_id = c.id
				AND j.recording_deleted_at IS NULL AND j.wake_at IS NULL AND j.attempts > 0
				ORDER BY j.status_since, j.id LIMIT 1),
			(SELECT j.status_since FROM jobs j WHERE j.consumer_id = c.id
				AND j.wake_at IS NULL AND (j.manifest_uri = '' OR j.recording_erased_at IS NOT NULL)
				ORDER BY j.status_since, j.id LIMIT 1)
		FROM consumers c ORDER BY c.id`)
	if err != nil {
		return nil, fmt.Errorf("read the retention of consumers: %w", err)
	}
	return retentions, nil
}

// EndedJob identifies a job that has ended.
type EndedJob struct {
	JobID uuid.UUID
	At    time.Time
}

// ExpiredRecordings returns up to limit of a consumer's jobs after one of them,
// in the order of their end, whose recordings are kept, that ended by a time
// and that are not processed any more. It uses the index jobs_kept.
func (db *Reader) ExpiredRecordings(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob, limit int) ([]EndedJob, error) {
	jobs, err := list(ctx, db, scanEndedJob, `SELECT id, status_since FROM jobs WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND recording_deleted_at IS NULL AND wake_at IS NULL AND attempts > 0
		ORDER BY status_since, id LIMIT $5`, consumer, millis(until), millis(after.At), after.JobID, limit)
	if err != nil {
		return nil, fmt.Errorf("find expired recordings: %w", err)
	}
	return jobs, nil
}

func scanEndedJob(row sqldb.Row) (e EndedJob, err error) {
	err = row.Scan(&e.JobID, timeColumn{&e.At})
	return e, err
}

// PendingErasures returns up to limit jobs whose recordings were deleted before
// a time and not erased from storage yet. It uses the index jobs_erasing.
func (db *Reader) PendingErasures(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error) {
	jobs, err := list(ctx, db, scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE recording_deleted_at IS NOT NULL AND recording_erased_at IS NULL
			AND recording_deleted_at <= $1 ORDER BY recording_deleted_at LIMIT $2`, millis(before), limit)
	if err != nil {
		return nil, fmt.Errorf("find unfinished deletions: %w", err)
	}
	return jobs, nil
}

// RecordedJobs returns up to limit jobs after one of them that have a manifest
// and whose recordings were not deleted, in the order of their creation. Start
// with uuid.Nil.
func (db *Reader) RecordedJobs(ctx context.Context, after uuid.UUID, limit int) ([]job.Job, error) {
	jobs, err := list(ctx, db, func(row sqldb.Row) (job.Job, error) {
		r, err := scanJob(row)
		return r.Job, err
	}, `SELECT `+jobColumns+` FROM jobs WHERE id > $1 AND manifest_uri <> '' AND recording_deleted_at IS NULL
		ORDER BY id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list recorded jobs: %w", err)
	}
	return jobs, nil
}
