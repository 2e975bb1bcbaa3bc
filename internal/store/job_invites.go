package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/store/sqldb"
)

// SaveJobInvite notes that an invite asks for a job, and no longer for the consumer's
// other jobs; or without an event, that a request to the API does. It uses the index
// job_invites_event.
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

// JobInvites returns the IDs of the events whose invites ask for a job.
func (db *Reader) JobInvites(ctx context.Context, jobID uuid.UUID) ([]string, error) {
	found, err := list(ctx, db, scanColumn[string], `SELECT event_id FROM job_invites WHERE job_id = $1 AND source <> $2 ORDER BY event_hash, source`, jobID, calendar.FromAPI)
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

// JobSources returns how jobs were asked for, by ID: api, intake, mail, or the providers of
// the calendars that have their meetings. It uses the index calendar_events_job.
func (db *Reader) JobSources(ctx context.Context, jobs []uuid.UUID) (map[uuid.UUID][]string, error) {
	sources := make(map[uuid.UUID][]string, len(jobs))
	if len(jobs) == 0 {
		return sources, nil
	}
	in := db.dialect.In(1)
	err := db.forEach(ctx, func(row sqldb.Row) error {
		var id uuid.UUID
		var source string
		err := row.Scan(&id, &source)
		sources[id] = append(sources[id], source)
		return err
	}, `SELECT job_id, source FROM job_invites WHERE job_id `+in+`
		UNION SELECT e.job_id, c.provider FROM calendar_events e JOIN calendars c ON c.id = e.calendar_id WHERE e.job_id <> '' AND e.job_id `+in+` AND e.removed = 0 AND c.deleted = 0
		UNION SELECT id, 'api' FROM jobs WHERE id `+in+` AND external_id NOT LIKE 'calendar:%' AND external_id NOT LIKE 'calendar-invite:%'
		ORDER BY 1, 2`, jsonArray(jobs))
	if err != nil {
		return nil, fmt.Errorf("find how jobs were asked for: %w", err)
	}
	return sources, nil
}

const lastInvite = `SELECT MAX(at) FROM (
		SELECT created_at AS at FROM jobs WHERE consumer_id = $1 AND ical_uid_hash = $2 AND external_id LIKE 'calendar-invite:%'
		UNION ALL SELECT t.received_at FROM jobs j JOIN timeline t ON t.job_id = j.id
			WHERE j.consumer_id = $1 AND j.ical_uid_hash = $2 AND t.source = 'service' AND t.data LIKE '{"by":"calendar invite"%') AS changes`

// LastInvite returns when an invite has created, changed or cancelled a job of an event of
// a consumer; zero if none has. It uses the indexes jobs_ical and timeline_order.
func (db *Reader) LastInvite(ctx context.Context, consumer uuid.UUID, eventID string) (at time.Time, err error) {
	err = db.queryRow(ctx, lastInvite, consumer, hashICalUID(eventID)).Scan(timeColumn{&at})
	if err != nil {
		return time.Time{}, fmt.Errorf("find the last invite of an event: %w", err)
	}
	return at, nil
}
