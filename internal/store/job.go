package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

const jobColumns = `id, consumer_id, mode, external_id, meeting_url, platform, display_name,
	join_at, created_at, on_status_change, on_finalize, metadata, auto_leave,
	status, status_before, status_since, attempts, attempt, started_at, finalized_at,
	manifest_uri, failure_code, failure_detail, sequence,
	wake_at, lease, attempt_began_at, launched_at, launch_failures, launch_error, heartbeat_at, stats,
	ical_uid, intake_key, recording_deleted_at, recording_deleted_by, recording_erased_at, node`

// InsertJob keeps a new job, unless the consumer already has one of that
// externalId in that mode: then nothing is done and false returned.
func (q *Queries) InsertJob(ctx context.Context, r job.Record) (bool, error) {
	autoLeave, err := json.Marshal(r.AutoLeave)
	if err != nil {
		return false, fmt.Errorf("encode autoLeave: %w", err)
	}
	n, err := q.exec(ctx, `
		INSERT INTO jobs (id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name,
			join_at, created_at, on_status_change, on_finalize, metadata, auto_leave,
			status, status_since, wake_at, ical_uid, ical_uid_hash, intake_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
		ON CONFLICT (consumer_id, mode, external_hash) DO NOTHING`,
		r.ID, r.ConsumerID, r.Mode, keptText(r.ExternalID), externalHash(r.ExternalID), r.MeetingURL, r.Platform, keptText(r.DisplayName),
		millis(r.JoinAt), millis(r.CreatedAt), r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize,
		string(r.Metadata), string(autoLeave), r.Status, millis(r.StatusSince), nullMillis(r.WakeAt),
		keptText(r.ICalUID), icalHash(r.ICalUID), nullText(r.CalendarKey))
	if err != nil {
		return false, fmt.Errorf("insert job: %w", err)
	}
	return n == 1, nil
}

// Job returns the job, or a *job.Error with NotFound.
func (q *Queries) Job(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+jobColumns+` FROM jobs WHERE id = $1`, id)
}

// LockJob is Job, and keeps others from changing it until the transaction
// ends.
func (q *Queries) LockJob(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+jobColumns+` FROM jobs WHERE id = $1`+q.forUpdate, id)
}

// JobByExternalID returns the consumer's job of that externalId. It uses the
// index jobs_external.
func (q *Queries) JobByExternalID(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Record, error) {
	return q.oneJob(ctx, `SELECT `+jobColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`,
		consumer, mode, externalHash(externalID))
}

// SaveJob writes back what may change in a job.
func (q *Queries) SaveJob(ctx context.Context, r job.Record) error {
	n, err := q.exec(ctx, `
		UPDATE jobs SET
			join_at = $2, status = $3, status_before = $4, status_since = $5, attempts = $6, attempt = $7,
			started_at = $8, finalized_at = $9, manifest_uri = $10, failure_code = $11, failure_detail = $12,
			sequence = $13, wake_at = $14, lease = $15, attempt_began_at = $16, launched_at = $17,
			launch_failures = $18, launch_error = $19, heartbeat_at = $20, stats = $21,
			recording_deleted_at = $22, recording_deleted_by = $23, recording_erased_at = $24, node = $25
		WHERE id = $1`,
		r.ID, millis(r.JoinAt), r.Status, r.PreviousStatus, millis(r.StatusSince), r.Attempts, r.Attempt,
		nullMillis(r.StartedAt), nullMillis(r.FinalizedAt), r.ManifestURI, r.FailureCode, keptText(r.FailureDetail),
		r.Sequence, nullMillis(r.WakeAt), r.Lease, nullMillis(r.AttemptStartedAt), nullMillis(r.LaunchedAt),
		r.LaunchFailures, keptText(r.LaunchError), nullMillis(r.HeartbeatAt), string(r.Stats),
		nullMillis(r.RecordingDeletedAt), r.RecordingDeletedBy, nullMillis(r.RecordingErasedAt), r.Node)
	if err != nil {
		return fmt.Errorf("save job %s: %w", r.ID, err)
	}
	if n != 1 {
		return fmt.Errorf("save job %s: it is not there", r.ID)
	}
	return nil
}

// SaveHeartbeat keeps when the bot was last heard; stats may be empty.
func (q *Queries) SaveHeartbeat(ctx context.Context, id uuid.UUID, now time.Time, stats json.RawMessage) error {
	_, err := q.exec(ctx, `UPDATE jobs SET heartbeat_at = $2, stats = CASE WHEN $3 = '' THEN stats ELSE $3 END WHERE id = $1`,
		id, millis(now), string(stats))
	if err != nil {
		return fmt.Errorf("note the heartbeat of job %s: %w", id, err)
	}
	return nil
}

// externalHash is what an externalId is found by.
func externalHash(externalID string) string {
	sum := sha256.Sum256([]byte(externalID))
	return hex.EncodeToString(sum[:])
}

// oneJob runs a query for a single job.
func (q *Queries) oneJob(ctx context.Context, query string, args ...any) (job.Record, error) {
	r, err := scanJob(q.queryRow(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return job.Record{}, &job.Error{Code: job.NotFound, Message: "no such job"}
	}
	if err != nil {
		return job.Record{}, fmt.Errorf("read a job: %w", err)
	}
	return r, nil
}

// scanJob reads a row of jobColumns.
func scanJob(row interface{ Scan(...any) error }) (job.Record, error) {
	var (
		r                                           job.Record
		joinAt, createdAt, statusSince              int64
		started, finalized, wake, began, heard, ran sql.NullInt64
		deleted, erased                             sql.NullInt64
		metadata, autoLeave, stats                  string
		intakeKey                                   sql.NullString
	)
	err := row.Scan(&r.ID, &r.ConsumerID, &r.Mode, &r.ExternalID, &r.MeetingURL, &r.Platform, &r.DisplayName,
		&joinAt, &createdAt, &r.Webhooks.OnStatusChange, &r.Webhooks.OnFinalize, &metadata, &autoLeave,
		&r.Status, &r.PreviousStatus, &statusSince, &r.Attempts, &r.Attempt, &started, &finalized,
		&r.ManifestURI, &r.FailureCode, &r.FailureDetail, &r.Sequence,
		&wake, &r.Lease, &began, &ran, &r.LaunchFailures, &r.LaunchError, &heard, &stats,
		&r.ICalUID, &intakeKey, &deleted, &r.RecordingDeletedBy, &erased, &r.Node)
	if err != nil {
		return job.Record{}, err
	}
	if err := json.Unmarshal([]byte(autoLeave), &r.AutoLeave); err != nil {
		return job.Record{}, fmt.Errorf("decode autoLeave: %w", err)
	}
	r.ExternalID, r.DisplayName = fromKeptText(r.ExternalID), fromKeptText(r.DisplayName)
	r.FailureDetail, r.LaunchError = fromKeptText(r.FailureDetail), fromKeptText(r.LaunchError)
	r.ICalUID, r.CalendarKey = fromKeptText(r.ICalUID), intakeKey.String
	r.JoinAt, r.CreatedAt, r.StatusSince = fromMillis(joinAt), fromMillis(createdAt), fromMillis(statusSince)
	r.StartedAt, r.FinalizedAt, r.WakeAt = fromNull(started), fromNull(finalized), fromNull(wake)
	r.AttemptStartedAt, r.LaunchedAt, r.HeartbeatAt = fromNull(began), fromNull(ran), fromNull(heard)
	r.RecordingDeletedAt, r.RecordingErasedAt = fromNull(deleted), fromNull(erased)
	r.Metadata, r.Stats = json.RawMessage(metadata), json.RawMessage(stats)
	return r, nil
}

// Text from outside may hold NUL, which JSON allows and PostgreSQL does not
// keep; it is written as \0, and a backslash as two.
func keptText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\x00", `\0`).Replace(s)
}

// fromKeptText is the inverse of keptText.
func fromKeptText(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\0`, "\x00").Replace(s)
}
