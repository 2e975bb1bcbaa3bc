package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// ErasableJobs returns up to limit of a consumer's jobs after one of them, in
// the order of their end, that ended by a time and that can be erased: they are
// not processed any more, nothing of a recording is stored, and no webhook is
// waiting. It uses the index jobs_erasable, whose condition it repeats
// literally.
func (q *Queries) ErasableJobs(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob, limit int) ([]EndedJob, error) {
	jobs, err := list(ctx, q, scanEndedJob, `SELECT id, status_since FROM jobs WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND wake_at IS NULL AND (manifest_uri = '' OR recording_erased_at IS NOT NULL)
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.job_id = jobs.id AND d.state = 'waiting')
		ORDER BY status_since, id LIMIT $5`, consumer, millis(until), millis(after.At), after.JobID, limit)
	if err != nil {
		return nil, fmt.Errorf("find erasable jobs: %w", err)
	}
	return jobs, nil
}

// EraseJob erases a job that has ended, with its timeline, texts, commands,
// deliveries and tries. A tombstone remains, so that its externalId stays taken. A job that
// does not exist is not an error.
func (s *Store) EraseJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		r, err := q.LockJob(ctx, id)
		if job.ErrorIs(err, job.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !r.Status.Terminal() || !r.WakeAt.IsZero() {
			return &job.Error{Code: job.InvalidState, Message: "the job has not ended"}
		}
		if err := q.insertTombstone(ctx, r, now); err != nil {
			return err
		}
		return q.deleteJob(ctx, id)
	})
}

func (q *Queries) insertTombstone(ctx context.Context, r job.Record, now time.Time) error {
	autoLeave, err := json.Marshal(r.AutoLeave)
	if err != nil {
		return fmt.Errorf("encode autoLeave: %w", err)
	}
	_, err = q.exec(ctx, `
		INSERT INTO job_tombstones (id, consumer_id, mode, external_hash, platform, join_at, created_at, auto_leave,
			status, attempts, started_at, finalized_at, failure_code, erased_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		r.ID, r.ConsumerID, r.Mode, hashText(r.ExternalID), r.Platform, millis(r.JoinAt), millis(r.CreatedAt), string(autoLeave),
		r.Status, r.Attempts, nullMillis(r.StartedAt), nullMillis(r.FinalizedAt), r.FailureCode, millis(now))
	if err != nil {
		return fmt.Errorf("insert the tombstone of job %s: %w", r.ID, err)
	}
	return nil
}

// tombstone returns the remains of an erased job, or a *job.Error with NotFound.
// Its meeting URL, display name, metadata, manifest and failure detail are
// erased. It uses the index job_tombstones_external.
func (q *Queries) tombstone(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Record, error) {
	return one(q.queryRow(ctx, `
		SELECT id, platform, join_at, created_at, auto_leave, status, attempts, started_at, finalized_at, failure_code FROM job_tombstones
		WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`, consumer, mode, hashText(externalID)), func(row scanner) (job.Record, error) {
		r := job.Record{Job: job.Job{ConsumerID: consumer, Mode: mode, ExternalID: externalID, Metadata: json.RawMessage(`{}`)}}
		var autoLeave []byte
		err := row.Scan(&r.ID, &r.Platform, timeColumn{&r.JoinAt}, timeColumn{&r.CreatedAt}, &autoLeave, &r.Status, &r.Attempts,
			timeColumn{&r.StartedAt}, timeColumn{&r.FinalizedAt}, &r.FailureCode)
		if err != nil {
			return job.Record{}, err
		}
		return r, json.Unmarshal(autoLeave, &r.AutoLeave)
	}, "job")
}

// deleteJob deletes a job and everything that refers to it. It locks the job first,
// so that no other transaction inserts such rows: see unchecked. A job that does not
// exist is not an error.
func (q *Queries) deleteJob(ctx context.Context, id uuid.UUID) error {
	if _, err := q.LockJob(ctx, id); err != nil {
		if job.ErrorIs(err, job.NotFound) {
			return nil
		}
		return err
	}
	if err := q.DeleteSpoken(ctx, id); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM delivery_tries WHERE delivery_id IN (SELECT id FROM deliveries WHERE job_id = $1)`,
		`DELETE FROM deliveries WHERE job_id = $1`,
		`DELETE FROM commands WHERE job_id = $1`,
		`DELETE FROM timeline WHERE job_id = $1`,
		`DELETE FROM meeting_texts WHERE job_id = $1`,
		`DELETE FROM meeting_text_totals WHERE job_id = $1`,
		`DELETE FROM jobs WHERE id = $1`,
	} {
		if _, err := q.exec(ctx, statement, id); err != nil {
			return fmt.Errorf("delete job %s: %w", id, err)
		}
	}
	return nil
}

// ConsumerJobs returns the IDs of up to limit of a consumer's jobs.
func (q *Queries) ConsumerJobs(ctx context.Context, consumer uuid.UUID, limit int) ([]uuid.UUID, error) {
	ids, err := list(ctx, q, scanColumn[uuid.UUID], `SELECT id FROM jobs WHERE consumer_id = $1 LIMIT $2`, consumer, limit)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of a consumer: %w", err)
	}
	return ids, nil
}

// RetireConsumer prepares a consumer for deletion: it revokes its keys and ends
// the sessions of its users, so that it cannot create jobs. The error is a
// *job.Error with InvalidState while jobs of the consumer have not ended, and
// when one of its users is the only operator.
func (s *Store) RetireConsumer(ctx context.Context, consumer uuid.UUID, now time.Time) error {
	return s.Write(ctx, func(q *Queries) error {
		if err := q.LockConsumer(ctx, consumer); err != nil {
			return err
		}
		var running, operators, others int
		err := q.queryRow(ctx, `SELECT
			(SELECT COUNT(*) FROM jobs WHERE consumer_id = $1 AND wake_at IS NOT NULL),
			(SELECT COUNT(*) FROM users WHERE consumer_id = $1 AND operator = 1),
			(SELECT COUNT(*) FROM users WHERE consumer_id <> $1 AND operator = 1)`, consumer).Scan(&running, &operators, &others)
		if err != nil {
			return fmt.Errorf("count jobs and operators: %w", err)
		}
		if running > 0 {
			return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("%d jobs of the consumer have not ended; cancel them, or wait until they have", running)}
		}
		if operators > 0 && others == 0 {
			return &job.Error{Code: job.InvalidState, Message: "the only operators are users of this consumer"}
		}
		if _, err := q.exec(ctx, `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $2) WHERE consumer_id = $1`, consumer, millis(now)); err != nil {
			return fmt.Errorf("revoke the consumer's keys: %w", err)
		}
		if _, err := q.exec(ctx, `DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE consumer_id = $1)`, consumer); err != nil {
			return fmt.Errorf("end the sessions of the consumer's users: %w", err)
		}
		return nil
	})
}

// DeleteJob deletes a job and everything that refers to it, without a tombstone.
func (s *Store) DeleteJob(ctx context.Context, id uuid.UUID) error {
	return s.Write(ctx, func(q *Queries) error { return q.deleteJob(ctx, id) })
}

// DeleteConsumer deletes a consumer and everything of it except its jobs, which
// must have been deleted before: users, invitations, keys, endpoints,
// tombstones, and the payment events, subscriptions and customers that name it
// or have its e-mail.
func (s *Store) DeleteConsumer(ctx context.Context, consumer uuid.UUID) error {
	return s.Write(ctx, func(q *Queries) error {
		if q.forUpdate != "" {
			// Groups of new jobs are committed before this statement ends, or find no consumer.
			if _, err := q.exec(ctx, `SELECT pg_advisory_xact_lock($1)`, consumersLock); err != nil {
				return fmt.Errorf("wait for new jobs: %w", err)
			}
		}
		c, err := q.Consumer(ctx, consumer)
		if err != nil {
			return err
		}
		// So do jobs of invitations, for which LockConsumer is called.
		if _, err := q.exec(ctx, `SELECT id FROM consumers WHERE id = $1`+q.forUpdate, consumer); err != nil {
			return fmt.Errorf("lock consumer %s: %w", consumer, err)
		}
		var hasJobs bool
		if err := q.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM jobs WHERE consumer_id = $1)`, consumer).Scan(flagColumn{&hasJobs}); err != nil {
			return fmt.Errorf("look for jobs of consumer %s: %w", consumer, err)
		}
		if hasJobs {
			return &job.Error{Code: job.InvalidState, Message: "the consumer has jobs"}
		}
		for _, statement := range []string{
			`DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE consumer_id = $1)`,
			`DELETE FROM users WHERE consumer_id = $1`,
			`DELETE FROM invitations WHERE consumer_id = $1`,
			`DELETE FROM api_keys WHERE consumer_id = $1`,
			`DELETE FROM webhook_endpoints WHERE consumer_id = $1`,
			`DELETE FROM job_tombstones WHERE consumer_id = $1`,
			`DELETE FROM dispatch_turns WHERE consumer_id = $1`,
		} {
			if _, err := q.exec(ctx, statement, consumer); err != nil {
				return fmt.Errorf("delete consumer %s: %w", consumer, err)
			}
		}
		if err := q.deletePayments(ctx, c); err != nil {
			return err
		}
		if _, err := q.exec(ctx, `DELETE FROM consumers WHERE id = $1`, consumer); err != nil {
			return fmt.Errorf("delete consumer %s: %w", consumer, err)
		}
		return nil
	})
}
