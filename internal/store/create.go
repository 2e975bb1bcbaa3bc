package store

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/internal/job"
)

// CreateJob inserts a job, which is durable when CreateJob returns, and returns
// it and true. If the consumer has or had a job with that externalId in that
// mode, CreateJob returns that one, or what is left of it, and false. Jobs that
// are created at the same time share a transaction.
func (s *Store) CreateJob(ctx context.Context, r job.Record) (j job.Job, inserted bool, err error) {
	if inserted, err = s.engine.insertJob(ctx, r); err != nil {
		return job.Job{}, false, err
	}
	if inserted {
		return r.Job, true, nil
	}
	j, err = s.JobViewByExternalID(ctx, r.ConsumerID, r.Mode, r.ExternalID)
	if job.ErrorIs(err, job.NotFound) {
		return job.Job{}, false, fmt.Errorf("insert job: there is no consumer %s", r.ConsumerID)
	}
	return j, false, err
}

// newJobColumns are the columns of a new job. Their values are those of newJobValues.
const newJobColumns = `id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name,
	join_at, created_at, on_status_change, on_finalize, metadata, auto_leave,
	status, status_since, wake_at, ical_uid, ical_uid_hash, intake_key`

// newJobValues returns the values of a new job. Those of a column have the same
// type for all jobs: string, int64, sql.NullString or sql.NullInt64.
func newJobValues(r job.Record) ([]any, error) {
	autoLeave, err := encodeAutoLeave(r.AutoLeave)
	if err != nil {
		return nil, err
	}
	return []any{
		r.ID.String(), r.ConsumerID.String(), string(r.Mode), escapeNUL(r.ExternalID), hashText(r.ExternalID),
		r.MeetingURL, string(r.Platform), escapeNUL(r.DisplayName),
		millis(r.JoinAt), millis(r.CreatedAt), r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize, string(r.Metadata), autoLeave,
		string(r.Status), millis(r.StatusSince), nullMillis(r.WakeAt), escapeNUL(r.ICalUID), hashICalUID(r.ICalUID), nullText(r.CalendarKey),
	}, nil
}

// externalKey are the columns of the index jobs_external. Queries that use it repeat
// its expressions literally.
const externalKey = `(consumer_id, mode, substr(external_id, 1, 64), (CASE WHEN length(external_id) > 64 THEN external_hash ELSE '' END))`

// hasExternalID is the condition of the consumer's job with an externalId. It uses
// the index jobs_external. Its arguments are those of externalIDArgs.
const hasExternalID = `consumer_id = $1 AND mode = $2 AND ` + externalIDIs + `$3 AND ` + externalHashIs + `$4`

// The two parts of hasExternalID that depend on the externalId.
const (
	externalIDIs   = `substr(external_id, 1, 64) = `
	externalHashIs = `(CASE WHEN length(external_id) > 64 THEN external_hash ELSE '' END) = `
)

// externalIDArgs returns the arguments of hasExternalID.
func externalIDArgs(consumer uuid.UUID, mode job.Mode, externalID string) []any {
	start, hash := externalIDKey(externalID)
	return []any{consumer, mode, start, hash}
}

// externalIDKey returns the values of an externalId in the index jobs_external.
func externalIDKey(externalID string) (start, hash string) {
	start = escapeNUL(externalID)
	if utf8.RuneCountInString(start) <= 64 {
		return start, ""
	}
	return string([]rune(start)[:64]), hashText(externalID)
}

// newJob is a job that waits for its insertion.
type newJob struct {
	values   []any // of newJobColumns
	id       string
	inserted bool
}

func newJobOf(r job.Record) (*newJob, error) {
	values, err := newJobValues(r)
	if err != nil {
		return nil, err
	}
	return &newJob{values: values, id: r.ID.String()}, nil
}

// InsertJob inserts a job and returns true. If the consumer has or had a job
// with that externalId in that mode, it does nothing and returns false.
func (q *Queries) InsertJob(ctx context.Context, r job.Record) (bool, error) {
	n, err := newJobOf(r)
	if err != nil {
		return false, err
	}
	inserted, err := q.exec(ctx, `INSERT INTO jobs (`+newJobColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
		ON CONFLICT `+externalKey+` DO NOTHING`, n.values...)
	if err != nil {
		return false, fmt.Errorf("insert job: %w", err)
	}
	if inserted == 0 {
		return false, nil
	}
	// Only now is it certain that no other transaction is erasing such a job.
	_, err = q.tombstone(ctx, r.ConsumerID, r.Mode, r.ExternalID)
	if job.ErrorIs(err, job.NotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, q.deleteJob(ctx, r.ID)
}

// JobByExternalID returns the consumer's job with that externalId, or what is
// left of it once it was erased. It uses the indexes jobs_external and
// job_tombstones_external.
func (q *Queries) JobByExternalID(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Record, error) {
	r, err := q.oneJob(ctx, `SELECT `+q.selects.record+` FROM jobs WHERE `+hasExternalID,
		externalIDArgs(consumer, mode, externalID)...)
	if job.ErrorIs(err, job.NotFound) {
		return q.tombstone(ctx, consumer, mode, externalID)
	}
	return r, err
}

// JobViewByExternalID is like JobByExternalID without the fields that only the
// service uses.
func (q *Queries) JobViewByExternalID(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Job, error) {
	var found []job.Job
	scan := unpacked(q, scanView)
	err := q.gather(ctx, func(rows rows) error {
		found = nil
		return scanAll(rows, func(row scanner) error {
			j, err := scan(row)
			found = append(found, j)
			return err
		})
	}, `SELECT `+q.selects.view+` FROM jobs WHERE `+hasExternalID, externalIDArgs(consumer, mode, externalID)...)
	if err != nil {
		return job.Job{}, fmt.Errorf("read job: %w", err)
	}
	if len(found) > 0 {
		return found[0], nil
	}
	r, err := q.tombstone(ctx, consumer, mode, externalID)
	return r.Job, err
}
