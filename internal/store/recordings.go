package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// EndedJob identifies a job that has ended.
type EndedJob struct {
	JobID uuid.UUID
	At    time.Time
}

// ExpiredRecordings returns up to limit of a consumer's jobs after one of them,
// in the order of their end, whose recordings are kept, that ended by a time
// and that are not processed any more. It uses the index jobs_kept.
func (db *Reader) ExpiredRecordings(ctx context.Context, consumer uuid.UUID, until time.Time, after EndedJob,
	limit int) ([]EndedJob, error) {
	return List(ctx, db, "find expired recordings", scanEndedJob, `SELECT id, status_since FROM jobs
		WHERE consumer_id = $1 AND status_since <= $2
			AND (status_since, id) > ($3, $4)
			AND recording_deleted_at IS NULL AND wake_at IS NULL AND attempts > 0
		ORDER BY status_since, id LIMIT $5`, consumer, until, after.At, after.JobID, limit)
}

func scanEndedJob(r row, e *EndedJob) error {
	return r.Scan(&e.JobID, &e.At)
}

// PendingErasures returns the jobs whose recordings were deleted before a time and
// not erased from storage yet. It uses the index jobs_erasing.
func (db *Reader) PendingErasures(ctx context.Context, before time.Time) ([]uuid.UUID, error) {
	return List(ctx, db, "find unfinished deletions", scanColumn[uuid.UUID], `SELECT id FROM jobs
		WHERE recording_deleted_at IS NOT NULL AND recording_erased_at IS NULL
			AND recording_deleted_at <= $1 ORDER BY recording_deleted_at`, before)
}

// RecordedJobs returns up to limit jobs after one of them that have a manifest
// and whose recordings were not deleted, in the order of their creation. Start
// with uuid.Nil.
func (db *Reader) RecordedJobs(ctx context.Context, after uuid.UUID, limit int) ([]job.Job, error) {
	return List(ctx, db, "list recorded jobs", scanView, `SELECT `+viewColumns+` FROM jobs
		WHERE id > $1 AND manifest_uri <> '' AND recording_deleted_at IS NULL
		ORDER BY id LIMIT $2`, after, limit)
}

// InsertShareLink stores a link to the recording of a job.
func (s *Store) InsertShareLink(ctx context.Context, link job.ShareLink) error {
	return s.exec(ctx, "insert a link to the recording of a job", `INSERT INTO share_links (hash, job_id, created_at, created_by,
		expires_at) VALUES ($1, $2, $3, $4, $5)`,
		link.Hash, link.JobID, link.CreatedAt, link.CreatedBy, link.ExpiresAt)
}

const selectShareLink = `SELECT hash, job_id, created_at, created_by, expires_at FROM share_links `

// ShareLink returns a link, or a *job.Error with NotFound.
func (db *Reader) ShareLink(ctx context.Context, hash string) (job.ShareLink, error) {
	return queryOne(ctx, db, "link", scanShareLink, selectShareLink+`WHERE hash = $1`, hash)
}

// ShareLinks returns the newest links to the recording of a job, up to limit. It uses the
// index share_links_job.
func (db *Reader) ShareLinks(ctx context.Context, jobID uuid.UUID, limit int) ([]job.ShareLink, error) {
	return List(ctx, db, "list the links to the recording of a job", scanShareLink,
		selectShareLink+`WHERE job_id = $1 ORDER BY created_at DESC LIMIT $2`, jobID, limit)
}

// DeleteShareLink deletes a link to the recording of a job. A link that does not exist is not an error.
func (s *Store) DeleteShareLink(ctx context.Context, jobID uuid.UUID, hash string) error {
	return s.exec(ctx, "delete a link to the recording of a job", `DELETE FROM share_links WHERE hash = $1 AND job_id = $2`, hash, jobID)
}

func scanShareLink(r row, l *job.ShareLink) error {
	return r.Scan(&l.Hash, &l.JobID, &l.CreatedAt, &l.CreatedBy, &l.ExpiresAt)
}

// InsertRecordingTask makes a task of a job's recording due. It does nothing when there is one.
func (tx *Tx) InsertRecordingTask(ctx context.Context, jobID uuid.UUID, kind job.TaskKind, now time.Time) error {
	return tx.exec(ctx, "queue a task of a recording", `INSERT INTO recording_tasks (job_id, kind, created_at, due_at, lease, failures,
		sent_ms, requested) VALUES ($1, $2, $3, $3, '', 0, 0, '')
		ON CONFLICT (job_id, kind) DO NOTHING`, jobID, kind, now)
}

// RecordingTaskDue reports whether a job's recording has a task, and whether it has not ended.
func (db *Reader) RecordingTaskDue(ctx context.Context, jobID uuid.UUID, kind job.TaskKind) (due, known bool, err error) {
	return first(ctx, db, "read a task of a recording", scanColumn[bool],
		`SELECT due_at IS NOT NULL FROM recording_tasks WHERE job_id = $1 AND kind = $2`, jobID, kind)
}

// RequestTranscription makes a transcription with other options due. It reports false if
// there is one that has not ended.
func (tx *Tx) RequestTranscription(ctx context.Context, jobID uuid.UUID, now time.Time, options job.TranscriptionOptions) (bool, error) {
	n, err := tx.Affected(ctx, "queue another transcription of a job", `INSERT INTO recording_tasks (job_id, kind, created_at, due_at, lease,
		failures, sent_ms, requested) VALUES ($1, $2, $3, $3, '', 0, 0, $4)
		ON CONFLICT (job_id, kind) DO UPDATE SET created_at = excluded.created_at, due_at = excluded.due_at, failures = 0,
		requested = excluded.requested
		WHERE recording_tasks.due_at IS NULL`, jobID, job.TranscriptTask, now, jsonValue{options})
	return n > 0, err
}

// HasTexts reports whether the bots of a job reported chat messages or captions.
func (db *Reader) HasTexts(ctx context.Context, jobID uuid.UUID) (bool, error) {
	return queryValue[bool](ctx, db, "find the texts of a job", `SELECT EXISTS (SELECT 1 FROM meeting_text_totals WHERE job_id = $1)`, jobID)
}

// DueRecordingTasks returns the consumers that have tasks of a kind due.
func (db *Reader) DueRecordingTasks(ctx context.Context, kind job.TaskKind, now time.Time) ([]string, error) {
	return List(ctx, db, "find due tasks of recordings", scanColumn[string], `SELECT DISTINCT consumer_id
		FROM recording_tasks JOIN jobs ON id = job_id WHERE kind = $1 AND due_at <= $2`, kind, now)
}

// ClaimRecordingTask leases the task of a consumer that has been due for the longest time; false when none is due. Of a
// recording, one task runs at a time, because each changes the manifest, and the transcript comes first. It uses the
// index recording_tasks_due.
func (s *Store) ClaimRecordingTask(ctx context.Context, kind job.TaskKind, consumer string, now, until time.Time) (
	claimed job.RecordingTask, ok bool, err error,
) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		claimed, ok, err = first(ctx, tx.Reader, "claim a task of a recording", func(r row, t *job.RecordingTask) error {
			return r.Scan(&t.JobID, &t.Kind, &t.CreatedAt, &t.Failures, &t.Sent, jsonColumn{&t.Again})
		}, `SELECT job_id, kind, created_at, failures, sent_ms, requested FROM recording_tasks t WHERE kind = $1 AND due_at <= $2
				AND EXISTS (SELECT 1 FROM jobs WHERE id = job_id AND consumer_id = $3)
				AND NOT EXISTS (SELECT 1 FROM recording_tasks o WHERE o.job_id = t.job_id AND o.kind <> t.kind AND (
					o.lease <> '' AND o.due_at > $2 OR o.kind = $4 AND o.failures = 0 AND o.due_at IS NOT NULL))
				ORDER BY due_at LIMIT 1`+tx.dialect.SkipLocked,
			kind, now, consumer, job.TranscriptTask)
		if !ok || err != nil {
			return err
		}
		claimed.Lease = uuid.NewString()
		return tx.exec(ctx, "lease a task of a recording", `UPDATE recording_tasks SET lease = $3, due_at = $4
			WHERE job_id = $1 AND kind = $2`, claimed.JobID, kind, claimed.Lease, until)
	})
	return claimed, ok, err
}

// SaveRecordingTask saves the failures and the accepted audio of a leased
// task, and when it is due again: the end of its lease, or of a pause
// between attempts. It reports false when the lease was lost.
func (s *Store) SaveRecordingTask(ctx context.Context, t job.RecordingTask, due time.Time) (valid bool, err error) {
	n, err := s.affected(ctx, "save a task of a recording",
		`UPDATE recording_tasks SET failures = $4, sent_ms = $5, due_at = $6
			WHERE job_id = $1 AND kind = $2 AND lease = $3 AND due_at IS NOT NULL`,
		t.JobID, t.Kind, t.Lease, t.Failures, t.Sent, due)
	return n > 0, err
}

// HoldsRecordingTask reports whether the lease of a task is still valid,
// and locks it until the transaction ends.
func (tx *Tx) HoldsRecordingTask(ctx context.Context, jobID uuid.UUID, kind job.TaskKind, lease string) (bool, error) {
	_, held, err := first(ctx, tx.Reader, "read a task of a recording", scanColumn[string],
		`SELECT lease FROM recording_tasks WHERE job_id = $1 AND kind = $2 AND lease = $3 AND lease <> ''
			AND due_at IS NOT NULL`+tx.dialect.ForUpdate, jobID, kind, lease)
	return held, err
}

// EndRecordingTask ends a task, and deletes the responses of the pieces of a transcription.
func (tx *Tx) EndRecordingTask(ctx context.Context, jobID uuid.UUID, kind job.TaskKind) error {
	return tx.execAll(ctx, "end a task of job "+jobID.String(), []string{
		`UPDATE recording_tasks SET due_at = NULL, lease = '' WHERE job_id = $1 AND kind = $2`,
		`DELETE FROM transcription_pieces WHERE job_id = $1 AND $2 = '` + string(job.TranscriptTask) + `'`,
	}, jobID, kind)
}

// TranscriptionPieces returns the stored responses of a transcription, by piece.
func (db *Reader) TranscriptionPieces(ctx context.Context, jobID uuid.UUID) (map[string]string, error) {
	pieces := make(map[string]string)
	err := db.forEach(ctx, "read the transcription of a job", func(r row) error {
		var piece, response string
		err := r.Scan(&piece, &response)
		pieces[piece] = response
		return err
	}, `SELECT piece, response FROM transcription_pieces WHERE job_id = $1`, jobID)
	return pieces, err
}

// SaveTranscriptionPiece stores the response for a piece.
func (s *Store) SaveTranscriptionPiece(ctx context.Context, jobID uuid.UUID, piece, response string) error {
	return s.exec(ctx, "save a piece of a transcription", `INSERT INTO transcription_pieces (job_id, piece, response) VALUES ($1, $2, $3)
		ON CONFLICT (job_id, piece) DO UPDATE SET response = excluded.response`, jobID, piece, response)
}
