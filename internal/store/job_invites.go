package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/store/sqldb"
)

// SaveJobInvite notes that an invite asks for a job, and no longer for the consumer's
// other jobs. It uses the index job_invites_event.
func (tx *Tx) SaveJobInvite(ctx context.Context, consumer, jobID uuid.UUID, eventID string, source calendar.Source) error {
	hash := hashText(eventID)
	_, err := tx.exec(ctx, `INSERT INTO job_invites (job_id, event_hash, source, event_id) VALUES ($1, $2, $3, $4) ON CONFLICT (job_id, event_hash, source) DO NOTHING`,
		jobID, hash, source, eventID)
	if err == nil && eventID != "" {
		_, err = tx.exec(ctx, `DELETE FROM job_invites WHERE event_hash = $1 AND job_id <> $2 AND job_id IN (SELECT id FROM jobs WHERE consumer_id = $3)`, hash, jobID, consumer)
	}
	if err != nil {
		return fmt.Errorf("save the invite of job %s: %w", jobID, err)
	}
	return nil
}

// OtherJobInvites returns the IDs of the other events whose invites ask for a job.
func (db *Reader) OtherJobInvites(ctx context.Context, jobID uuid.UUID, eventID string) ([]string, error) {
	found, err := list(ctx, db, scanColumn[string], `SELECT event_id FROM job_invites WHERE job_id = $1 AND event_hash <> $2 ORDER BY event_hash, source`, jobID, hashText(eventID))
	if err != nil {
		return nil, fmt.Errorf("list the invites of job %s: %w", jobID, err)
	}
	return found, nil
}

// DeleteJobInvite notes that the invites of an event no longer ask for a job. It reports
// whether they did.
func (tx *Tx) DeleteJobInvite(ctx context.Context, jobID uuid.UUID, eventID string) (bool, error) {
	n, err := tx.exec(ctx, `DELETE FROM job_invites WHERE job_id = $1 AND event_hash = $2`, jobID, hashText(eventID))
	if err != nil {
		return false, fmt.Errorf("delete the invite of job %s: %w", jobID, err)
	}
	return n > 0, nil
}

// JobSources returns how the bots of the events of a calendar were asked for, by job: api,
// intake, mail, or the providers of calendars. It uses the index calendar_events_job.
func (db *Reader) JobSources(ctx context.Context, calendarID uuid.UUID) (map[uuid.UUID][]string, error) {
	type row struct {
		job    uuid.UUID
		source string
	}
	const jobs = ` IN (SELECT job_id FROM calendar_events WHERE calendar_id = $1 AND job_id <> '')`
	found, err := list(ctx, db, func(r sqldb.Row) (found row, err error) { return found, r.Scan(&found.job, &found.source) },
		`SELECT job_id, source FROM job_invites WHERE job_id`+jobs+`
		UNION SELECT e.job_id, c.provider FROM calendar_events e JOIN calendars c ON c.id = e.calendar_id WHERE e.job_id`+jobs+` AND e.removed = 0 AND c.deleted = 0
		UNION SELECT id, 'api' FROM jobs WHERE id`+jobs+` AND external_id NOT LIKE 'calendar:%' AND external_id NOT LIKE 'calendar-invite:%'
		ORDER BY 1, 2`, calendarID)
	if err != nil {
		return nil, fmt.Errorf("find who has asked for the jobs of a calendar: %w", err)
	}
	sources := make(map[uuid.UUID][]string)
	for _, r := range found {
		sources[r.job] = append(sources[r.job], r.source)
	}
	return sources, nil
}
