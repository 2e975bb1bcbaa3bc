package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// ErasableJobs returns up to limit of a consumer's jobs after one of them, in
// the order of their end, that ended by a time and that can be erased: they are
// not processed any more, nothing of a recording is stored, and no webhook is
// waiting. It uses the index jobs_erasable, whose condition it repeats
// literally.
func (db *Reader) ErasableJobs(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob, limit int) ([]EndedJob, error) {
	return List(ctx, db, "find erasable jobs", scanEndedJob, `SELECT id, status_since FROM jobs WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND wake_at IS NULL AND (manifest_uri = '' OR recording_erased_at IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.job_id = jobs.id AND d.state = 'waiting')
		ORDER BY status_since, id LIMIT $5`, consumer, until, after.At, after.JobID, limit)
}

// EraseJob erases a job that has ended, with its timeline, texts, commands,
// deliveries and tries. A tombstone remains, so that its externalId stays taken. A job that
// does not exist is not an error.
func (s *Store) EraseJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		r, err := tx.LockJob(ctx, id)
		if job.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !r.Status.Terminal() || !r.WakeAt.IsZero() {
			return job.NewInvalidState("the job has not ended")
		}
		err = tx.exec(ctx, "insert the tombstone of a job", `
			INSERT INTO job_tombstones (id, consumer_id, mode, external_hash, platform, join_at, created_at, auto_leave,
				status, attempts, started_at, finalized_at, failure_code, erased_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			r.ID, r.ConsumerID, r.Mode, hashText(r.ExternalID), r.Platform, r.JoinAt, r.CreatedAt, jsonValue{r.AutoLeave},
			r.Status, r.Attempts, NullTime(r.StartedAt), NullTime(r.FinalizedAt), r.FailureCode, now)
		if err != nil {
			return err
		}
		return tx.exec(ctx, "delete a job", deleteJob, id)
	})
}

// ConsumerJobs returns the IDs of up to limit of a consumer's jobs after one of them.
func (db *Reader) ConsumerJobs(ctx context.Context, consumer, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	return List(ctx, db, "list the jobs of a consumer", scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE consumer_id = $1 AND id > $2
		ORDER BY id LIMIT $3`, consumer, after, limit)
}

// deleteJob deletes a job and everything that refers to it, after the transactions that change it.
const deleteJob = `DELETE FROM jobs WHERE id = $1`

// DeleteJob deletes a job and everything that refers to it, without a tombstone. A job that does not exist is not an
// error.
func (s *Store) DeleteJob(ctx context.Context, id uuid.UUID) error {
	return s.exec(ctx, "delete a job", deleteJob, id)
}
