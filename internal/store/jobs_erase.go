package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// ErasableJobs returns up to limit of a consumer's jobs after one of them, in
// the order of their end, that ended by a time and that can be erased: they are
// not processed any more, nothing of a recording is stored, and no webhook is
// waiting. It uses the index jobs_erasable, whose condition it repeats
// literally.
func (db *Reader) ErasableJobs(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob, limit int) ([]EndedJob, error) {
	return list(ctx, db, "find erasable jobs", scanEndedJob, `SELECT id, status_since FROM jobs WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND wake_at IS NULL AND (manifest_uri = '' OR recording_erased_at IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.job_id = jobs.id AND d.state = 'waiting')
		ORDER BY status_since, id LIMIT $5`, consumer, millis(until), millis(after.At), after.JobID, limit)
}

// EraseJob erases a job that has ended, with its timeline, texts, commands,
// deliveries and tries. A tombstone remains, so that its externalId stays taken. A job that
// does not exist is not an error.
func (s *Store) EraseJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		r, err := tx.LockJob(ctx, id)
		if job.ErrorIs(err, job.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !r.Status.Terminal() || !r.WakeAt.IsZero() {
			return &job.Error{Code: job.InvalidState, Message: "the job has not ended"}
		}
		if err := tx.insertTombstone(ctx, r, now); err != nil {
			return err
		}
		return tx.deleteJob(ctx, id)
	})
}

func (tx *Tx) insertTombstone(ctx context.Context, r job.Record, now time.Time) error {
	return tx.exec(ctx, "insert the tombstone of a job", `
		INSERT INTO job_tombstones (id, consumer_id, mode, external_hash, platform, join_at, created_at, auto_leave,
			status, attempts, started_at, finalized_at, failure_code, erased_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		r.ID, r.ConsumerID, r.Mode, hashText(r.ExternalID), r.Platform, millis(r.JoinAt), millis(r.CreatedAt), jsonValue{r.AutoLeave},
		r.Status, r.Attempts, nullMillis(r.StartedAt), nullMillis(r.FinalizedAt), r.FailureCode, millis(now))
}

// tombstone returns the remains of an erased job, or a *job.Error with NotFound.
// Its meeting URL, display name, metadata, manifest and failure detail are
// erased. It uses the index job_tombstones_external.
func (db *Reader) tombstone(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Job, error) {
	return one(ctx, db, "job", func(row sqldb.Row) (job.Job, error) {
		j := job.Job{ConsumerID: consumer, Mode: mode, ExternalID: externalID, Metadata: json.RawMessage(`{}`)}
		err := row.Scan(&j.ID, &j.Platform, timeColumn{&j.JoinAt}, timeColumn{&j.CreatedAt}, jsonColumn{&j.AutoLeave}, &j.Status, &j.Attempts,
			timeColumn{&j.StartedAt}, timeColumn{&j.FinalizedAt}, &j.FailureCode)
		return j, err
	}, `SELECT id, platform, join_at, created_at, auto_leave, status, attempts, started_at, finalized_at, failure_code FROM job_tombstones
		WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`, consumer, mode, hashText(externalID))
}

// deleteJob deletes a job and everything that refers to it. It locks the job first, so
// that no other transaction changes it. A job that does not exist is not an error.
func (tx *Tx) deleteJob(ctx context.Context, id uuid.UUID) error {
	if _, err := tx.oneJob(ctx, selectJob+tx.dialect.ForDelete, id); err != nil {
		if job.ErrorIs(err, job.NotFound) {
			return nil
		}
		return err
	}
	if err := tx.DeleteSearchTexts(ctx, id); err != nil {
		return err
	}
	return tx.execAll(ctx, "delete job "+id.String(), []string{
		`SELECT id FROM deliveries WHERE job_id = $1` + tx.dialect.ForDelete, // waits for tries that are being recorded
		`DELETE FROM delivery_tries WHERE delivery_id IN (SELECT id FROM deliveries WHERE job_id = $1)`,
		`DELETE FROM deliveries WHERE job_id = $1`,
		`DELETE FROM commands WHERE job_id = $1`,
		`DELETE FROM timeline WHERE job_id = $1`,
		`DELETE FROM job_invites WHERE job_id = $1`,
		`DELETE FROM meeting_texts WHERE job_id = $1`,
		`DELETE FROM meeting_text_totals WHERE job_id = $1`,
		`DELETE FROM jobs WHERE id = $1`,
	}, id)
}

// ConsumerJobs returns the IDs of up to limit of a consumer's jobs.
func (db *Reader) ConsumerJobs(ctx context.Context, consumer uuid.UUID, limit int) ([]uuid.UUID, error) {
	return list(ctx, db, "list the jobs of a consumer", scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE consumer_id = $1 LIMIT $2`, consumer, limit)
}

// RetireConsumer prepares a consumer for deletion: it revokes its keys and ends
// the sessions of its users, so that it cannot create jobs. The error is a
// *job.Error with InvalidState while jobs of the team have not ended, and
// when one of its users is the only operator.
func (s *Store) RetireConsumer(ctx context.Context, consumer uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.LockConsumer(ctx, consumer); err != nil {
			return err
		}
		var running, operators, others int
		err := tx.queryRow(ctx, "count jobs and operators", `SELECT
			(SELECT COUNT(*) FROM jobs WHERE consumer_id = $1 AND wake_at IS NOT NULL),
			(SELECT COUNT(*) FROM users WHERE consumer_id = $1 AND operator = 1),
			(SELECT COUNT(*) FROM users WHERE consumer_id <> $1 AND operator = 1)`, consumer).Scan(&running, &operators, &others)
		if err != nil {
			return err
		}
		if running > 0 {
			return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("%d jobs of the team have not ended; cancel them, or wait until they have", running)}
		}
		if operators > 0 && others == 0 {
			return &job.Error{Code: job.InvalidState, Message: "the only operators are users of this consumer"}
		}
		if err := tx.exec(ctx, "revoke the consumer's keys", `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE consumer_id = $1`, consumer, millis(now)); err != nil {
			return err
		}
		return tx.exec(ctx, "end the sessions of the consumer's users", `DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE consumer_id = $1)`, consumer)
	})
}

// DeleteJob deletes a job and everything that refers to it, without a tombstone.
func (s *Store) DeleteJob(ctx context.Context, id uuid.UUID) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.deleteJob(ctx, id) })
}

// DeleteConsumer deletes a consumer and everything of it except its jobs, which
// must have been deleted before: users, invitations, keys, endpoints,
// tombstones, and the payment events, subscriptions and customers that name it
// or have its e-mail.
func (s *Store) DeleteConsumer(ctx context.Context, consumer uuid.UUID) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		c, err := tx.oneConsumer(ctx, selectConsumer+tx.dialect.ForDelete, consumer) // after new jobs
		if err != nil {
			return err
		}
		var hasJobs bool
		if err := tx.queryRow(ctx, "look for jobs of a consumer", `SELECT EXISTS (SELECT 1 FROM jobs WHERE consumer_id = $1)`, consumer).Scan(&hasJobs); err != nil {
			return err
		}
		if hasJobs {
			return &job.Error{Code: job.InvalidState, Message: "the team has jobs"}
		}
		if err := tx.deletePayments(ctx, c); err != nil {
			return err
		}
		return tx.execAll(ctx, "delete consumer "+consumer.String(), []string{
			`DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE consumer_id = $1)`,
			`DELETE FROM users WHERE consumer_id = $1`,
			`DELETE FROM invitations WHERE consumer_id = $1`,
			`DELETE FROM api_keys WHERE consumer_id = $1`,
			`DELETE FROM audit_log WHERE consumer_id = $1`,
			`DELETE FROM delivery_tries WHERE delivery_id IN (SELECT id FROM deliveries WHERE consumer_id = $1)`,
			`DELETE FROM deliveries WHERE consumer_id = $1`,
			`DELETE FROM webhook_endpoints WHERE consumer_id = $1`,
			`DELETE FROM calendar_events WHERE consumer_id = $1`,
			`DELETE FROM calendars WHERE consumer_id = $1`,
			`DELETE FROM job_tombstones WHERE consumer_id = $1`,
			`DELETE FROM usage_days WHERE consumer_id = $1`,
			`DELETE FROM consumer_rotation WHERE consumer_id = $1`,
			`DELETE FROM consumers WHERE id = $1`,
		}, consumer)
	})
}
