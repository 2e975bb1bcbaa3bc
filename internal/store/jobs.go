package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// viewColumns are the columns of a job.Job.
const viewColumns = `id, consumer_id, mode, external_id, meeting_url, platform, display_name,
	join_at, created_at, on_status_change, on_finalize, metadata, auto_leave, options,
	status, previous_status, attempts, attempt, started_at, finalized_at, manifest_uri, failure_code, failure_detail`

// jobColumns are the columns of a job.Record.
const jobColumns = viewColumns + `, status_since, sequence,
	wake_at, lease, attempt_started_at, launched_at, launch_failures, launch_error, heartbeat_at, stats,
	ical_uid, calendar_key, recording_deleted_at, recording_deleted_by, recording_erased_at, node, prelaunch,
	bot_events, bot_event_bytes, bot_lost`

const (
	selectJob     = `SELECT ` + jobColumns + ` FROM jobs WHERE id = $1`
	selectJobView = `SELECT ` + viewColumns + ` FROM jobs WHERE id = $1`
)

// Job returns the job, or a *job.Error with NotFound.
func (db *Reader) Job(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return db.oneJob(ctx, selectJob, id)
}

// JobView is like Job without the fields that only the service uses.
func (db *Reader) JobView(ctx context.Context, id uuid.UUID) (job.Job, error) {
	return one(db.queryRow(ctx, selectJobView, id), scanView, "job")
}

// LockJob is like Job and locks the job until the transaction ends.
func (tx *Tx) LockJob(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return tx.oneJob(ctx, selectJob+tx.dialect.ForUpdate, id)
}

// updateJob saves the columns that change while a job runs.
const updateJob = `UPDATE jobs SET
		join_at = $2, status = $3, previous_status = $4, status_since = $5, attempts = $6, attempt = $7, started_at = $8, finalized_at = $9,
		manifest_uri = $10, failure_code = $11, failure_detail = $12, sequence = $13, wake_at = $14, lease = $15, node = $16, prelaunch = $17,
		attempt_started_at = $18, launched_at = $19, launch_failures = $20, launch_error = $21, heartbeat_at = $22, stats = $23,
		bot_events = $24, bot_event_bytes = $25, recording_deleted_at = $26, recording_deleted_by = $27, recording_erased_at = $28,
		bot_lost = $29
	WHERE id = $1`

// SaveJob updates the fields that change while a job runs. The caller has locked
// the job.
func (tx *Tx) SaveJob(ctx context.Context, r job.Record) error {
	n, err := tx.exec(ctx, updateJob, r.ID,
		millis(r.JoinAt), r.Status, r.PreviousStatus, millis(r.StatusSince), r.Attempts, r.Attempt, nullMillis(r.StartedAt), nullMillis(r.FinalizedAt),
		r.ManifestURI, r.FailureCode, r.FailureDetail, r.Sequence, nullMillis(r.WakeAt), r.Lease, r.Node, r.Prelaunch,
		nullMillis(r.AttemptStartedAt), nullMillis(r.LaunchedAt), r.LaunchFailures, r.LaunchError, nullMillis(r.HeartbeatAt), string(r.Stats),
		r.BotEvents, r.BotEventBytes, nullMillis(r.RecordingDeletedAt), r.RecordingDeletedBy, nullMillis(r.RecordingErasedAt), r.BotLost)
	if err == nil && n != 1 {
		err = sql.ErrNoRows
	}
	if err != nil {
		return fmt.Errorf("save job %s: %w", r.ID, err)
	}
	return nil
}

// SaveJobRequest updates the requested fields of a job, which change only before it
// is dispatched. SaveJob updates joinAt.
func (tx *Tx) SaveJobRequest(ctx context.Context, r job.Record) error {
	autoLeave, err := json.Marshal(r.AutoLeave)
	if err != nil {
		return fmt.Errorf("encode autoLeave: %w", err)
	}
	options, err := json.Marshal(r.Options)
	if err != nil {
		return fmt.Errorf("encode options: %w", err)
	}
	_, err = tx.exec(ctx, `
		UPDATE jobs SET
			meeting_url = $2, meeting_key = $12, platform = $3, display_name = $4, on_status_change = $5, on_finalize = $6,
			metadata = $7, auto_leave = $8, options = $13, ical_uid = $9, ical_uid_hash = $10, calendar_key = $11
		WHERE id = $1`,
		r.ID, r.MeetingURL, r.Platform, r.DisplayName, r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize,
		string(r.Metadata), string(autoLeave), r.ICalUID, hashICalUID(r.ICalUID), nullText(r.CalendarKey), hashMeeting(r.MeetingURL), string(options))
	if err != nil {
		return fmt.Errorf("save the request of job %s: %w", r.ID, err)
	}
	return nil
}

// WakeJob makes a job due now unless it is leased.
func (tx *Tx) WakeJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := tx.exec(ctx, `UPDATE jobs SET wake_at = $2 WHERE id = $1 AND wake_at > $2 AND lease = ''`, id, millis(now))
	if err != nil {
		return fmt.Errorf("wake job %s: %w", id, err)
	}
	return nil
}

// hashText returns the hash by which a text of any length is indexed.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// hashICalUID returns the hash by which an iCalUID is indexed, NULL for none.
func hashICalUID(uid string) sql.NullString {
	if uid == "" {
		return sql.NullString{}
	}
	return nullText(hashText(uid))
}

// oneJob reads the job of a query that selects jobColumns.
func (db *Reader) oneJob(ctx context.Context, query string, args ...any) (job.Record, error) {
	return one(db.queryRow(ctx, query, args...), scanJob, "job")
}

// scanView scans viewColumns.
func scanView(row sqldb.Row) (j job.Job, err error) {
	var autoLeave, options []byte
	err = row.Scan(
		&j.ID, &j.ConsumerID, &j.Mode, &j.ExternalID, &j.MeetingURL, &j.Platform, &j.DisplayName,
		timeColumn{&j.JoinAt}, timeColumn{&j.CreatedAt}, &j.Webhooks.OnStatusChange, &j.Webhooks.OnFinalize, (*[]byte)(&j.Metadata), &autoLeave, &options,
		&j.Status, &j.PreviousStatus, &j.Attempts, &j.Attempt, timeColumn{&j.StartedAt}, timeColumn{&j.FinalizedAt},
		&j.ManifestURI, &j.FailureCode, &j.FailureDetail)
	if err != nil {
		return job.Job{}, err
	}
	if err := json.Unmarshal(autoLeave, &j.AutoLeave); err != nil {
		return job.Job{}, fmt.Errorf("decode autoLeave: %w", err)
	}
	if err := json.Unmarshal(options, &j.Options); err != nil {
		return job.Job{}, fmt.Errorf("decode options: %w", err)
	}
	return j, nil
}

// scanJob scans jobColumns.
func scanJob(row sqldb.Row) (r job.Record, err error) {
	var calendarKey sql.NullString
	r.Job, err = scanView(extraColumns{row, []any{
		timeColumn{&r.StatusSince}, &r.Sequence,
		timeColumn{&r.WakeAt}, &r.Lease, timeColumn{&r.AttemptStartedAt}, timeColumn{&r.LaunchedAt}, &r.LaunchFailures, &r.LaunchError,
		timeColumn{&r.HeartbeatAt}, (*[]byte)(&r.Stats),
		&r.ICalUID, &calendarKey, timeColumn{&r.RecordingDeletedAt}, &r.RecordingDeletedBy, timeColumn{&r.RecordingErasedAt}, &r.Node, &r.Prelaunch,
		&r.BotEvents, &r.BotEventBytes, &r.BotLost,
	}})
	r.CalendarKey = calendarKey.String
	return r, err
}
