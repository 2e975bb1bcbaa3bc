package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

const selectJobByKey = `SELECT ` + jobColumns + ` FROM jobs WHERE consumer_id = $1 AND calendar_key = $2`

// LockJobByCalendarKey returns and locks the job that an invite with this key
// created or moved. It uses the index jobs_calendar_key.
func (tx *Tx) LockJobByCalendarKey(ctx context.Context, consumer uuid.UUID, key string) (job.Record, error) {
	return tx.oneJob(ctx, selectJobByKey+tx.dialect.ForUpdate, consumer, key)
}

// hashMeeting returns the column meeting_key of a meeting URL.
func hashMeeting(meetingURL string) string { return hashText(meetinglink.Key(meetingURL)) }

// LockJobByMeeting returns and locks the consumer's newest live job for the meeting
// of this URL at joinAt, or else the newest cancelled one. With anonymous, it skips jobs that have an iCalUID.
// It uses the index jobs_meeting.
func (tx *Tx) LockJobByMeeting(ctx context.Context, consumer uuid.UUID, meetingURL string, joinAt time.Time,
	anonymous bool) (job.Record, error) {
	only := ""
	if anonymous {
		only = " AND ical_uid_hash IS NULL"
	}
	return tx.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND mode = 'live' AND join_at = $2 AND meeting_key = $3`+only+`
		ORDER BY CASE status WHEN 'cancelled' THEN 1 ELSE 0 END, created_at DESC, id DESC
		LIMIT 1`+tx.dialect.ForUpdate, consumer, joinAt, hashMeeting(meetingURL))
}

const selectOpenJobByMeeting = `
	SELECT ` + jobColumns + ` FROM jobs
	WHERE consumer_id = $1 AND mode = 'live' AND join_at = $2 AND meeting_key = $3 AND status NOT IN ('completed', 'failed', 'cancelled')
	ORDER BY created_at, id LIMIT 1`

// LockOpenJobByMeeting returns and locks the consumer's live job for the meeting of this
// URL at joinAt that has not ended. It uses the index jobs_meeting.
func (tx *Tx) LockOpenJobByMeeting(ctx context.Context, consumer uuid.UUID, meetingURL string, joinAt time.Time) (job.Record, error) {
	return tx.oneJob(ctx, selectOpenJobByMeeting+tx.dialect.ForUpdate, consumer, joinAt, hashMeeting(meetingURL))
}

// LockJobAheadByICalUID returns and locks the consumer's newest job with that iCalUID that
// has no attempt yet, or else the newest one whose bot is not in the meeting yet. It uses the
// index jobs_ical.
func (tx *Tx) LockJobAheadByICalUID(ctx context.Context, consumer uuid.UUID, uid string) (job.Record, error) {
	return tx.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND ical_uid_hash = $2 AND status IN ('scheduled', 'pending', 'dispatching', 'joining', 'entering_lobby')
		ORDER BY CASE WHEN status IN ('scheduled', 'pending') THEN 0 ELSE 1 END, created_at DESC, id DESC
		LIMIT 1`+tx.dialect.ForUpdate, consumer, hashICalUID(uid))
}

// LockCancelledByICalUID returns and locks the consumer's newest job with that iCalUID
// that was cancelled. It uses the index jobs_ical.
func (tx *Tx) LockCancelledByICalUID(ctx context.Context, consumer uuid.UUID, uid string) (job.Record, error) {
	return tx.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND ical_uid_hash = $2 AND status = 'cancelled'
		ORDER BY created_at DESC, id DESC LIMIT 1`+tx.dialect.ForUpdate, consumer, hashICalUID(uid))
}

// LockJobByICalUID returns and locks the consumer's newest job with that iCalUID that has
// not ended, or else the newest one. It uses the index jobs_ical.
func (tx *Tx) LockJobByICalUID(ctx context.Context, consumer uuid.UUID, uid string) (job.Record, error) {
	return tx.oneJob(ctx, `
		SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND ical_uid_hash = $2
		ORDER BY CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN 1 ELSE 0 END, created_at DESC, id DESC
		LIMIT 1`+tx.dialect.ForUpdate, consumer, hashICalUID(uid))
}

// CancelledByConsumer reports whether the consumer, and not a calendar, has cancelled a
// job. It uses the primary key of timeline.
func (db *Reader) CancelledByConsumer(ctx context.Context, jobID uuid.UUID) (bool, error) {
	return scanColumn[bool](db.queryRow(ctx, "find who cancelled a job", `SELECT EXISTS (SELECT 1 FROM timeline
		WHERE job_id = $1 AND kind = $2 AND data = '')`, jobID, job.CancelRequested))
}

const selectJobForMeeting = `
	SELECT id FROM jobs
	WHERE consumer_id = $1 AND mode = $5 AND meeting_key = $2 AND join_at BETWEEN $3 AND $4 AND id <> $6
		AND status NOT IN ('finalizing', 'post_processing', 'media_uploading', 'completed', 'failed', 'cancelled')
	ORDER BY join_at LIMIT 1`

// JobForMeeting returns the ID of the consumer's job for the meeting of this URL that waits
// for its time, or has a bot, and whose joinAt is in a range; false if there is none. It skips
// the job with the ID except, and uses the index jobs_meeting.
func (db *Reader) JobForMeeting(ctx context.Context, consumer uuid.UUID, mode job.Mode, meetingURL string, from, to time.Time,
	except uuid.UUID) (uuid.UUID, bool, error) {
	return found(queryOne(ctx, db, "job", scanColumn[uuid.UUID], selectJobForMeeting, consumer, hashMeeting(meetingURL), from, to, mode, except))
}

// CountCalendarJobs counts the jobs that invites created for the consumer in
// [from, to), without those refused because of the quota. It uses the index
// jobs_invited.
func (db *Reader) CountCalendarJobs(ctx context.Context, consumer uuid.UUID, from, to time.Time) (int, error) {
	return scanColumn[int](db.queryRow(ctx, "count the calendar jobs of a consumer", `
		SELECT COUNT(*) FROM jobs
		WHERE consumer_id = $1 AND created_at >= $2 AND created_at < $3 AND calendar_key IS NOT NULL AND failure_code <> $4`,
		consumer, from, to, job.QuotaExceeded))
}

// SaveJobInvite notes that an invite asks for a job, and no longer for the consumer's
// other jobs; or without an event, that a request to the API does. It uses the index
// job_invites_event.
func (tx *Tx) SaveJobInvite(ctx context.Context, consumer, jobID uuid.UUID, eventID string, source calendar.Source) error {
	hash := hashText(eventID)
	err := tx.exec(ctx, "save the invite of a job",
		`INSERT INTO job_invites (job_id, event_hash, source, event_id) VALUES ($1, $2, $3, $4)
			ON CONFLICT (job_id, event_hash, source) DO NOTHING`, jobID, hash, source, eventID)
	if err != nil || eventID == "" {
		return err
	}
	return tx.exec(ctx, "move the invite of a job",
		`DELETE FROM job_invites WHERE event_hash = $1 AND job_id <> $2 AND job_id IN (SELECT id FROM jobs
			WHERE consumer_id = $3)`, hash, jobID, consumer)
}

// JobInvites returns the IDs of the events whose invites ask for a job.
func (db *Reader) JobInvites(ctx context.Context, jobID uuid.UUID) ([]string, error) {
	return list(ctx, db, "list the invites of a job", scanColumn[string], `SELECT event_id FROM job_invites
		WHERE job_id = $1 AND source <> $2 ORDER BY event_hash, source`, jobID, calendar.FromAPI)
}

// DeleteJobInvite notes that the invites of an event no longer ask for a job. It reports
// whether they did.
func (tx *Tx) DeleteJobInvite(ctx context.Context, jobID uuid.UUID, eventID string) (bool, error) {
	n, err := tx.affected(ctx, "delete the invite of a job", `DELETE FROM job_invites
		WHERE job_id = $1 AND event_hash = $2`, jobID, hashText(eventID))
	return n > 0, err
}

// JobSources returns how jobs were asked for, by ID: api, intake, mail, or the providers of
// the calendars that have their meetings. It uses the index calendar_events_job.
func (db *Reader) JobSources(ctx context.Context, jobs []uuid.UUID) (map[uuid.UUID][]string, error) {
	sources := make(map[uuid.UUID][]string, len(jobs))
	if len(jobs) == 0 {
		return sources, nil
	}
	in := db.dialect.In(1)
	err := db.forEach(ctx, "find how jobs were asked for", func(r row) error {
		var id uuid.UUID
		var source string
		err := r.Scan(&id, &source)
		sources[id] = append(sources[id], source)
		return err
	}, `SELECT job_id, source FROM job_invites WHERE job_id `+in+`
		UNION SELECT e.job_id, c.provider FROM calendar_events e JOIN calendars c ON c.id = e.calendar_id WHERE e.job_id <> '' AND e.job_id `+in+
		` AND e.removed = 0 AND c.deleted = 0
		UNION SELECT id, 'api' FROM jobs WHERE id `+in+` AND external_id NOT LIKE 'calendar:%' AND external_id NOT LIKE 'calendar-invite:%'
		ORDER BY 1, 2`, jsonArray(jobs))
	return sources, err
}

const lastInvite = `SELECT MAX(at) FROM (
		SELECT created_at AS at FROM jobs WHERE consumer_id = $1 AND ical_uid_hash = $2 AND external_id LIKE 'calendar-invite:%'
		UNION ALL SELECT t.received_at FROM jobs j JOIN timeline t ON t.job_id = j.id
			WHERE j.consumer_id = $1 AND j.ical_uid_hash = $2 AND t.source = 'service' AND t.data LIKE '{"by":"calendar invite"%') AS changes`

// LastInvite returns when an invite has created, changed or cancelled a job of an event of
// a consumer; zero if none has. It uses the index jobs_ical and the primary key of timeline.
func (db *Reader) LastInvite(ctx context.Context, consumer uuid.UUID, eventID string) (time.Time, error) {
	return scanColumn[time.Time](db.queryRow(ctx, "find the last invite of an event", lastInvite, consumer, hashICalUID(eventID)))
}
