package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/meetinglink"
	"standin/internal/jobs/job"
)

// MeetingKey returns what identifies a meeting, however its URL is written: the column meeting_key.
func MeetingKey(meetingURL string) string { return hashText(meetinglink.Key(meetingURL)) }

// JobsOfMeeting returns the consumer's live jobs for the meeting of this URL whose joinAt is in a range: those that have
// not ended, and then the newest that have. It uses the index jobs_meeting.
func (db *Reader) JobsOfMeeting(ctx context.Context, consumer uuid.UUID, meetingURL string, from, to time.Time) ([]job.Record, error) {
	return List(ctx, db, "find the jobs of a meeting", scanJob, `SELECT `+jobColumns+` FROM jobs
		WHERE consumer_id = $1 AND mode = 'live' AND meeting_key = $2 AND join_at BETWEEN $3 AND $4
		ORDER BY CASE WHEN status IN ('completed', 'failed', 'cancelled') THEN 1 ELSE 0 END, created_at DESC, id DESC LIMIT 100`,
		consumer, MeetingKey(meetingURL), from, to)
}

// CancelledByConsumer reports whether the consumer, and not a calendar, has cancelled a
// job. It uses the primary key of timeline.
func (db *Reader) CancelledByConsumer(ctx context.Context, jobID uuid.UUID) (bool, error) {
	return queryValue[bool](ctx, db, "find who cancelled a job", `SELECT EXISTS (SELECT 1 FROM timeline
		WHERE job_id = $1 AND kind = $2 AND data = '')`, jobID, job.CancelRequested)
}

// ChangedByConsumer reports whether the consumer has changed a field of a job. It uses the primary key of timeline.
func (db *Reader) ChangedByConsumer(ctx context.Context, jobID uuid.UUID, field string) (bool, error) {
	return queryValue[bool](ctx, db, "find who changed a job", `SELECT EXISTS (SELECT 1 FROM timeline
		WHERE job_id = $1 AND data LIKE $2)`, jobID, `{"by":"consumer"%"`+field+`"%`)
}

// JobForMeeting returns the ID of the consumer's job for the meeting of this URL that waits
// for its time, or has a bot, and whose joinAt is in a range; false if there is none. It skips
// the job with the ID except, and uses the index jobs_meeting.
func (db *Reader) JobForMeeting(ctx context.Context, consumer uuid.UUID, mode job.Mode, meetingURL string, from, to time.Time,
	except uuid.UUID) (uuid.UUID, bool, error) {
	return first(ctx, db, "find the job for a meeting", scanColumn[uuid.UUID], `SELECT id FROM jobs
		WHERE consumer_id = $1 AND mode = $5 AND meeting_key = $2 AND join_at BETWEEN $3 AND $4 AND id <> $6
			AND status NOT IN ('finalizing', 'post_processing', 'media_uploading', 'completed', 'failed', 'cancelled')
		ORDER BY join_at LIMIT 1`, consumer, MeetingKey(meetingURL), from, to, mode, except)
}

const hasBot = `status NOT IN ('scheduled', 'pending', 'finalizing', 'post_processing', 'media_uploading', 'completed', 'failed',
	'cancelled')`

// BotInMeeting returns the ID of another job of the same consumer whose bot is in the meeting of a job, or at
// its door; false if there is none. It uses the index jobs_meeting.
func (db *Reader) BotInMeeting(ctx context.Context, j job.Job) (uuid.UUID, bool, error) {
	const longest = 26 * time.Hour // a job can have a bot
	return first(ctx, db, "find the bot in a meeting", scanColumn[uuid.UUID], `SELECT id FROM jobs
		WHERE consumer_id = $1 AND mode = $2 AND meeting_key = $3 AND join_at BETWEEN $4 AND $5 AND id <> $6 AND `+hasBot+`
		ORDER BY join_at LIMIT 1`,
		j.ConsumerID, j.Mode, MeetingKey(j.MeetingURL), j.JoinAt.Add(-longest), j.JoinAt.Add(longest), j.ID)
}

// MoveEvents makes the events of a job those of another one.
func (tx *Tx) MoveEvents(ctx context.Context, from uuid.UUID, to string) error {
	return tx.exec(ctx, "move the events of a job", `UPDATE calendar_events SET job_id = $2 WHERE job_id = $1`, from.String(), to)
}

// CountEventJobs counts the jobs that events created for the consumer in
// [from, to), without those refused because of the quota. It uses the index
// jobs_by_event.
func (db *Reader) CountEventJobs(ctx context.Context, consumer uuid.UUID, from, to time.Time) (int, error) {
	return queryValue[int](ctx, db, "count the event jobs of a consumer", `
		SELECT COUNT(*) FROM jobs
		WHERE consumer_id = $1 AND created_at >= $2 AND created_at < $3 AND by_event = 1 AND failure_code <> $4`,
		consumer, from, to, job.QuotaExceeded)
}

// RequestJob notes that a request to the API asks for a job too.
func (tx *Tx) RequestJob(ctx context.Context, id uuid.UUID) error {
	return tx.exec(ctx, "note the request for a job", `UPDATE jobs SET requested = 1 WHERE id = $1`, id)
}

// JobSources returns how jobs were asked for, by ID: api, or the providers of what tells of
// their events. It uses the index calendar_events_job.
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
	}, `SELECT e.job_id, c.provider FROM calendar_events e JOIN calendars c ON c.id = e.calendar_id WHERE e.job_id <> '' AND e.job_id `+in+
		` AND e.removed = 0 AND c.deleted = 0
		UNION SELECT id, 'api' FROM jobs WHERE id `+in+` AND (by_event = 0 OR requested = 1)
		ORDER BY 1, 2`, jsonArray(jobs))
	return sources, err
}
