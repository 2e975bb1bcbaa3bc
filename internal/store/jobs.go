package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// viewColumns are the columns of a job.Job.
const viewColumns = `id, consumer_id, mode, external_id, meeting_url, platform, display_name,
	join_at, created_at, on_status_change, on_finalize, metadata, auto_leave, options,
	status, previous_status, attempts, attempt, started_at, finalized_at, manifest_uri, failure_code, failure_detail`

// jobColumns are the columns of a job.Record.
const jobColumns = viewColumns + `, status_since, sequence,
	wake_at, lease, attempt_started_at, launched_at, launch_failures, launch_error, heartbeat_at, stats,
	by_event, requested, recording_deleted_at, recording_deleted_by, recording_erased_at, node, prelaunch,
	bot_events, bot_event_bytes, bot_lost, ` + hasCommands

const selectJob = `SELECT ` + jobColumns + ` FROM jobs WHERE id = $1`

// Job returns the job, or a *job.Error with NotFound.
func (db *Reader) Job(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return queryOne(ctx, db, "job", scanJob, selectJob, id)
}

// JobView is like Job without the fields that only the service uses.
func (db *Reader) JobView(ctx context.Context, id uuid.UUID) (job.Job, error) {
	return queryOne(ctx, db, "job", scanView, `SELECT `+viewColumns+` FROM jobs WHERE id = $1`, id)
}

// LockJob is like Job and locks the job until the transaction ends.
func (tx *Tx) LockJob(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return queryOne(ctx, tx.Reader, "job", scanJob, selectJob+tx.dialect.ForUpdate, id)
}

// JobChange is a changed job, and what is saved with it.
type JobChange struct {
	job.Record
	Now        time.Time
	Entries    []job.TimelineEntry
	Deliveries []webhook.Delivery
	Usage      job.Usage // to add to that of the consumer
	Ended      bool      // nobody watches the page of its bot any more

	AttemptEnds []job.AttemptEnd
}

// SaveJob updates the fields of a job that change while it runs, and saves what belongs to the
// change, in one round trip. The caller has locked the job.
func (tx *Tx) SaveJob(ctx context.Context, c JobChange) error {
	var statements batch
	statements.add(`UPDATE jobs SET
			status = $2, previous_status = $3, status_since = $4, attempts = $5, attempt = $6, started_at = $7, finalized_at = $8,
			manifest_uri = $9, failure_code = $10, failure_detail = $11, sequence = $12, wake_at = $13, lease = $14, node = $15,
			prelaunch = $16, attempt_started_at = $17, launched_at = $18, launch_failures = $19, launch_error = $20, heartbeat_at = $21,
			stats = $22, bot_events = $23, bot_event_bytes = $24, recording_deleted_at = $25, recording_deleted_by = $26,
			recording_erased_at = $27, bot_lost = $28
		WHERE id = $1`,
		c.ID, c.Status, c.PreviousStatus, c.StatusSince, c.Attempts, c.Attempt, NullTime(c.StartedAt), NullTime(c.FinalizedAt),
		c.ManifestURI, c.FailureCode, c.FailureDetail, c.Sequence, NullTime(c.WakeAt), c.Lease, c.Node, c.Prelaunch,
		NullTime(c.AttemptStartedAt), NullTime(c.LaunchedAt), c.LaunchFailures, c.LaunchError, NullTime(c.HeartbeatAt), c.Stats,
		c.BotEvents, c.BotEventBytes, NullTime(c.RecordingDeletedAt), c.RecordingDeletedBy, NullTime(c.RecordingErasedAt), c.BotLost)
	for _, e := range c.Entries {
		statements.add(`INSERT INTO timeline (`+entryColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			e.ID, e.JobID, e.Attempt, e.Source, e.Kind, e.EmittedAt, e.ReceivedAt, e.Applied, e.Reason, e.From, e.To, e.Data)
	}
	for _, d := range c.Deliveries {
		statements.addDelivery(d)
	}
	if c.Ended {
		statements.add(`DELETE FROM screenshots WHERE job_id = $1`, c.ID)
	}
	for _, end := range c.AttemptEnds {
		statements.add(`INSERT INTO attempt_ends (job_id, attempt, at, platform, code, cause, capture, account)
			VALUES ($1, $2, $3, $4, $5, $6, $7, COALESCE((SELECT a.label FROM account_uses u JOIN accounts a ON a.id = u.account_id
				WHERE u.job_id = $1 ORDER BY u.at DESC LIMIT 1), '')) ON CONFLICT DO NOTHING`,
			c.ID, end.Attempt, c.Now, c.Platform, end.Code, end.Cause, end.Capture)
	}
	if u := c.Usage; u != (job.Usage{}) {
		statements.add(`INSERT INTO usage_days (consumer_id, mode, day, completed, failed, cancelled, recorded_ms, bot_ms, stored_bytes,
				deleted_bytes, part, core_ms, memory_ms)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
			ON CONFLICT (consumer_id, mode, day, part) DO UPDATE SET
				completed = usage_days.completed + excluded.completed, failed = usage_days.failed + excluded.failed,
				cancelled = usage_days.cancelled + excluded.cancelled, recorded_ms = usage_days.recorded_ms + excluded.recorded_ms,
				bot_ms = usage_days.bot_ms + excluded.bot_ms, stored_bytes = usage_days.stored_bytes + excluded.stored_bytes,
				deleted_bytes = usage_days.deleted_bytes + excluded.deleted_bytes,
				core_ms = usage_days.core_ms + excluded.core_ms, memory_ms = usage_days.memory_ms + excluded.memory_ms`,
			c.ConsumerID, c.Mode, c.Now.UnixMilli()/dayMillis, u.Completed, u.Failed, u.Cancelled, u.Recorded, u.Bots, u.StoredBytes,
			u.DeletedBytes, rand.N(32), u.Cores, u.Memory) // #nosec G404 -- rand spreads locks
	}
	affected, err := tx.execBatch(ctx, "save a job", statements)
	if err == nil && affected[0] != 1 {
		return fmt.Errorf("save a job: %w", sql.ErrNoRows)
	}
	return err
}

// SaveJobRequest updates the requested fields of a job, which change only before it
// is dispatched.
func (tx *Tx) SaveJobRequest(ctx context.Context, r job.Record) error {
	return tx.exec(ctx, "save the request of a job", `
		UPDATE jobs SET
			meeting_url = $2, platform = $3, display_name = $4, on_status_change = $5, on_finalize = $6,
			metadata = $7, auto_leave = $8, meeting_key = $9, options = $10, join_at = $11, requested = $12
		WHERE id = $1`,
		r.ID, r.MeetingURL, r.Platform, r.DisplayName, r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize,
		r.Metadata, jsonValue{r.AutoLeave}, MeetingKey(r.MeetingURL), jsonValue{r.Options}, r.JoinAt, r.Requested)
}

// WakeJob makes a job due now unless it is leased.
func (tx *Tx) WakeJob(ctx context.Context, id uuid.UUID, now time.Time) error {
	return tx.exec(ctx, "wake a job", `UPDATE jobs SET wake_at = $2 WHERE id = $1 AND wake_at > $2 AND lease = ''`, id, now)
}

// hashText returns the hash by which a text of any length is indexed.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// scanView scans viewColumns.
func scanView(r row, j *job.Job) error {
	return r.Scan(
		&j.ID, &j.ConsumerID, &j.Mode, &j.ExternalID, &j.MeetingURL, &j.Platform, &j.DisplayName,
		&j.JoinAt, &j.CreatedAt, &j.Webhooks.OnStatusChange, &j.Webhooks.OnFinalize, &j.Metadata,
		jsonColumn{&j.AutoLeave}, jsonColumn{&j.Options},
		&j.Status, &j.PreviousStatus, &j.Attempts, &j.Attempt, &j.StartedAt, &j.FinalizedAt,
		&j.ManifestURI, &j.FailureCode, &j.FailureDetail)
}

// scanJob scans jobColumns.
func scanJob(r row, j *job.Record) error {
	return scanView(r.with(
		&j.StatusSince, &j.Sequence,
		&j.WakeAt, &j.Lease, &j.AttemptStartedAt, &j.LaunchedAt, &j.LaunchFailures, &j.LaunchError,
		&j.HeartbeatAt, &j.Stats,
		&j.ByEvent, &j.Requested, &j.RecordingDeletedAt, &j.RecordingDeletedBy, &j.RecordingErasedAt, &j.Node,
		&j.Prelaunch,
		&j.BotEvents, &j.BotEventBytes, &j.BotLost, &j.HasCommands,
	), &j.Job)
}

// InsertJob inserts a job and returns true. If the consumer has or had a job with
// that externalId in that mode, it does nothing and returns false.
func (tx *Tx) InsertJob(ctx context.Context, r job.Record) (bool, error) {
	hash := hashText(r.ExternalID)
	var statements batch
	statements.add(`INSERT INTO jobs (id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name, join_at,
			created_at, on_status_change, on_finalize, metadata, auto_leave, status, status_since, wake_at, by_event, meeting_key, options)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
		ON CONFLICT (consumer_id, mode, external_hash) DO NOTHING`,
		r.ID, r.ConsumerID, r.Mode, r.ExternalID, hash, r.MeetingURL, r.Platform, r.DisplayName, r.JoinAt, r.CreatedAt,
		r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize, r.Metadata, jsonValue{r.AutoLeave}, r.Status, r.StatusSince,
		NullTime(r.WakeAt), r.ByEvent, MeetingKey(r.MeetingURL), jsonValue{r.Options})
	// One with its externalId was erased. Only after the insert is it certain that no other transaction is erasing one.
	statements.add(`DELETE FROM jobs WHERE id = $1
		AND EXISTS (SELECT 1 FROM job_tombstones WHERE consumer_id = $2 AND mode = $3 AND external_hash = $4)`,
		r.ID, r.ConsumerID, r.Mode, hash)
	affected, err := tx.execBatch(ctx, "insert a job", statements)
	return err == nil && affected[0] == 1 && affected[1] == 0, err
}

const selectJobExternal = `SELECT ` + viewColumns + ` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`

// JobByExternalID returns the consumer's job with that externalId, or what is left
// of it once it was erased. It uses the indexes jobs_external and
// job_tombstones_external.
func (db *Reader) JobByExternalID(ctx context.Context, caller account.Caller, externalID string) (job.Job, error) {
	args := []any{caller.ConsumerID, caller.Mode, hashText(externalID)}
	j, err := queryOne(ctx, db, "job", scanView, selectJobExternal, args...)
	if !job.IsNotFound(err) {
		return j, err
	}
	// Its meeting URL, display name, metadata, manifest and failure detail are erased.
	return queryOne(ctx, db, "job", func(r row, j *job.Job) error {
		*j = job.Job{ConsumerID: caller.ConsumerID, Mode: caller.Mode, ExternalID: externalID, Metadata: json.RawMessage(`{}`)}
		return r.Scan(&j.ID, &j.Platform, &j.JoinAt, &j.CreatedAt, jsonColumn{&j.AutoLeave}, &j.Status, &j.Attempts,
			&j.StartedAt, &j.FinalizedAt, &j.FailureCode)
	}, `SELECT id, platform, join_at, created_at, auto_leave, status, attempts, started_at, finalized_at, failure_code FROM job_tombstones
		WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`, args...)
}

// ChangeSummary changes the summary of a job, which the caller has locked.
func (tx *Tx) ChangeSummary(ctx context.Context, id uuid.UUID, change func(*job.Summary)) error {
	var summary job.Summary
	if err := tx.queryRow(ctx, "read the summary of a job", `SELECT summary FROM jobs WHERE id = $1`,
		id).Scan(jsonColumn{&summary}); err != nil {
		return err
	}
	change(&summary)
	return tx.exec(ctx, "save the summary of a job", `UPDATE jobs SET summary = $2 WHERE id = $1`, id, jsonValue{summary})
}

// Progress returns the progress of some jobs by ID, without those that do not exist.
func (db *Reader) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]job.Progress, error) {
	all := make(map[uuid.UUID]job.Progress, len(ids))
	err := db.forEach(ctx, "read the progress of jobs", func(r row) error {
		var id uuid.UUID
		var p job.Progress
		err := r.Scan(&id, &p.StatusSince, &p.Stats, jsonColumn{&p.Summary})
		all[id] = p
		return err
	}, `SELECT id, status_since, stats, summary FROM jobs WHERE id `+db.dialect.In(1), jsonArray(ids))
	return all, err
}

// HasEvent reports whether a bot's event is already on the timeline. It uses the
// index timeline_identity.
func (db *Reader) HasEvent(ctx context.Context, jobID uuid.UUID, attempt int, kind job.Trigger,
	emittedAt time.Time) (bool, error) {
	return queryValue[bool](ctx, db, "look for an event on the timeline of a job", `SELECT EXISTS (SELECT 1 FROM timeline
		WHERE job_id = $1 AND attempt = $2 AND kind = $3 AND emitted_at = $4 AND source = 'bot')`, jobID, attempt, kind, emittedAt)
}

// Timeline returns all entries of a job in the order of their arrival. It
// uses the primary key of timeline.
func (db *Reader) Timeline(ctx context.Context, jobID uuid.UUID) ([]job.TimelineEntry, error) {
	return List(ctx, db, "read the timeline of a job", scanEntry, `SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 ORDER BY id`, jobID)
}

// ListTimeline returns up to limit entries of a job's timeline after one of
// them, in the order of their arrival, and whether there are more. Start with
// uuid.Nil. It uses the primary key of timeline.
func (db *Reader) ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error) {
	return page(ctx, db, "list the timeline of a job", limit, scanEntry, func(e job.TimelineEntry) int { return len(e.Data) },
		`SELECT `+entryColumns+` FROM timeline WHERE job_id = $1 AND id > $2 ORDER BY id LIMIT $3`, jobID, after, limit+1)
}

const entryColumns = `id, job_id, attempt, source, kind, emitted_at, received_at, applied, reason, previous_status, status, data`

func scanEntry(r row, e *job.TimelineEntry) error {
	return r.Scan(&e.ID, &e.JobID, &e.Attempt, &e.Source, &e.Kind, &e.EmittedAt, &e.ReceivedAt,
		&e.Applied, &e.Reason, &e.From, &e.To, &e.Data)
}
