package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/job"
)

// insertJob inserts a new job, unless there is one with its externalId.
const insertJob = `INSERT INTO jobs (id, consumer_id, mode, external_id, external_hash, meeting_url, platform, display_name,
		join_at, created_at, on_status_change, on_finalize, metadata, auto_leave, status, status_since, wake_at, ical_uid, ical_uid_hash, calendar_key, meeting_key, options)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
	ON CONFLICT (consumer_id, mode, external_hash) DO NOTHING`

// InsertJob inserts a job and returns true. If the consumer has or had a job with
// that externalId in that mode, it does nothing and returns false.
func (tx *Tx) InsertJob(ctx context.Context, r job.Record) (bool, error) {
	autoLeave, err := json.Marshal(r.AutoLeave)
	if err != nil {
		return false, fmt.Errorf("encode autoLeave: %w", err)
	}
	options, err := json.Marshal(r.Options)
	if err != nil {
		return false, fmt.Errorf("encode options: %w", err)
	}
	inserted, err := tx.exec(ctx, insertJob, r.ID, r.ConsumerID, r.Mode, r.ExternalID, hashText(r.ExternalID), r.MeetingURL, r.Platform, r.DisplayName,
		millis(r.JoinAt), millis(r.CreatedAt), r.Webhooks.OnStatusChange, r.Webhooks.OnFinalize, string(r.Metadata), string(autoLeave),
		r.Status, millis(r.StatusSince), nullMillis(r.WakeAt), r.ICalUID, hashICalUID(r.ICalUID), nullText(r.CalendarKey), hashMeeting(r.MeetingURL), string(options))
	if err != nil {
		return false, fmt.Errorf("insert job: %w", err)
	}
	if inserted == 0 {
		return false, nil
	}
	// Only now is it certain that no other transaction is erasing such a job.
	_, err = tx.tombstone(ctx, r.ConsumerID, r.Mode, r.ExternalID)
	if job.ErrorIs(err, job.NotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, tx.deleteJob(ctx, r.ID)
}

const selectJobExternal = `SELECT ` + viewColumns + ` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND external_hash = $3`

// JobByExternalID returns the consumer's job with that externalId, or what is left
// of it once it was erased. It uses the indexes jobs_external and
// job_tombstones_external.
func (db *Reader) JobByExternalID(ctx context.Context, consumer uuid.UUID, mode job.Mode, externalID string) (job.Job, error) {
	j, err := one(db.queryRow(ctx, selectJobExternal, consumer, mode, hashText(externalID)), scanView, "job")
	if job.ErrorIs(err, job.NotFound) {
		return db.tombstone(ctx, consumer, mode, externalID)
	}
	return j, err
}
