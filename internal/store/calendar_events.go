package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarapi"
	"standin/internal/calendar/calendarsync"
)

const selectEvents = `SELECT e.id, e.calendar_id, c.provider, e.uid, NULLIF(e.original, 0), e.sequence, e.modified, e.title, e.organizer,
	e.starts_at, e.ends_at, e.zone, e.meeting_url, e.platform, e.attendees, e.guests, e.response, e.problem, e.rule_record, e.rule_reason,
	e.updated_at, e.overridden, e.removed,
	e.missing_since, e.decided_start, e.wanted, e.record, e.reason, NULLIF(e.job_id, ''), COALESCE(j.status, ''), j.join_at
	FROM calendar_events e
	JOIN calendars c ON c.id = e.calendar_id LEFT JOIN jobs j ON j.id = e.job_id `

func scanEvent(r row, e *calendarsync.Event) error {
	var overridden sql.NullBool
	err := r.Scan(&e.ID, &e.CalendarID, &e.Provider, &e.UID, &e.Original, &e.Sequence, &e.Modified, &e.Title, &e.Organizer,
		&e.Start, &e.End, &e.Zone,
		&e.MeetingURL, &e.Platform, &e.Attendees, &e.Guests, &e.Response, &e.Problem, &e.ByRules.Record, &e.ByRules.Reason, &e.UpdatedAt,
		&overridden, &e.Removed,
		&e.MissingSince, &e.DecidedStart, &e.Wanted, &e.Record, &e.Reason, &e.JobID, &e.Job, &e.JobAt)
	if overridden.Valid {
		e.Override = &overridden.Bool
	}
	return err
}

// originalMillis returns the column original.
func originalMillis(original time.Time) int64 {
	if original.IsZero() {
		return 0
	}
	return original.UnixMilli()
}

// CalendarEvents returns all events of a calendar, by their start.
func (db *Reader) CalendarEvents(ctx context.Context, calendar uuid.UUID) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.calendar_id = $1 ORDER BY e.starts_at, e.id`, calendar)
}

// UpcomingEvents returns up to limit events of a calendar that end after from and start
// before to, by their start, without those that it no longer has.
func (db *Reader) UpcomingEvents(ctx context.Context, calendar uuid.UUID, from, to time.Time, limit int) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.calendar_id = $1 AND e.ends_at > $2 AND e.starts_at < $3 AND e.removed = 0 ORDER BY e.starts_at, e.id
		LIMIT $4`,
		calendar, from, to, limit)
}

// CancelledEvents returns the events of a calendar that are not over and whose bot was
// cancelled since it was decided that it comes.
func (db *Reader) CancelledEvents(ctx context.Context, calendar uuid.UUID, now time.Time) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.calendar_id = $1 AND e.ends_at > $2 AND e.record = 1 AND e.removed = 0 AND j.status = 'cancelled'
		ORDER BY e.id`, calendar, now)
}

// NextStart returns when the first event of a calendar after a time starts for which a bot
// may be wanted; zero without one. It uses the index calendar_events_start.
func (db *Reader) NextStart(ctx context.Context, calendar uuid.UUID, after time.Time) (time.Time, error) {
	return queryValue[time.Time](ctx, db, "find the next event of a calendar", `SELECT MIN(starts_at) FROM calendar_events
		WHERE calendar_id = $1 AND starts_at > $2 AND removed = 0 AND problem = ''
		AND COALESCE(overridden, rule_record) = 1`, calendar, after)
}

// MeetingEvents returns the events of a meeting in all calendars of its consumer. It
// uses the index calendar_events_meeting.
func (db *Reader) MeetingEvents(ctx context.Context, m calendarsync.Meeting) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.consumer_id = $1 AND e.uid = $2 AND e.original = $3 ORDER BY e.id`,
		m.ConsumerID, m.UID, originalMillis(m.Original))
}

func (db *Reader) events(ctx context.Context, which string, args ...any) ([]calendarsync.Event, error) {
	return List(ctx, db, "read the events of calendars", scanEvent, selectEvents+which, args...)
}

// SaveCalendarEvents saves new and changed events of a leased calendar. It reports false
// if the lease was lost.
func (s *Store) SaveCalendarEvents(ctx context.Context, c calendarsync.Calendar, events []calendarsync.Event) (valid bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		if _, valid, err = tx.LockSync(ctx, c); !valid || err != nil {
			return err
		}
		for _, e := range events {
			if err := tx.SaveEvent(ctx, c.ID, c.ConsumerID, e); err != nil {
				return err
			}
		}
		return nil
	})
	return valid, err
}

// SaveEvent saves what is known of an event, whose job is then to be checked.
func (tx *Tx) SaveEvent(ctx context.Context, calendarID, consumer uuid.UUID, e calendarsync.Event) error {
	return tx.exec(ctx, "save an event of a calendar", `INSERT INTO calendar_events (id, calendar_id, consumer_id, uid, original, sequence,
			modified, title, organizer, starts_at, ends_at, zone, meeting_url, platform, attendees, response, problem, rule_record,
			rule_reason, updated_at, removed, missing_since, guests, dirty, wanted, record, reason, job_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, 1, 0, 0,
			'not decided yet', '')
		ON CONFLICT (id) DO UPDATE SET uid = $4, original = $5, sequence = $6, modified = $7, title = $8, organizer = $9, starts_at = $10,
			ends_at = $11, zone = $12, meeting_url = $13, platform = $14, attendees = $15, response = $16, problem = $17, rule_record = $18,
			rule_reason = $19, updated_at = $20, removed = $21, missing_since = $22, guests = $23, dirty = 1`,
		e.ID, calendarID, consumer, e.UID, originalMillis(e.Original), e.Sequence, NullTime(e.Modified), e.Title, e.Organizer, e.Start,
		e.End, e.Zone, e.MeetingURL, e.Platform, e.Attendees, e.Response, e.Problem, e.ByRules.Record, e.ByRules.Reason, e.UpdatedAt,
		e.Removed, NullTime(e.MissingSince), e.Guests)
}

// Invitations returns the ID of the row for the invitations of a consumer that come by mail or by
// the API. The caller has locked the consumer.
func (tx *Tx) Invitations(ctx context.Context, consumer uuid.UUID, provider calendarapi.Provider, now time.Time) (uuid.UUID, error) {
	id := InvitationsID(consumer, provider)
	return id, tx.exec(ctx, "insert what tells of invitations", `INSERT INTO calendars (id, consumer_id, name, sealed, address, email, rules,
			job, poll_ms, created_at, state, error, failures, validators, lease, revision, deleted, provider)
		VALUES ($1, $2, '', '', '', '', '{}', '{}', 0, $3, 'active', '', 0, '{}', '', 0, 0, $4) ON CONFLICT (id) DO NOTHING`,
		id, consumer, now, provider)
}

// DeleteOldInvitations deletes events of invitations that were over 30 days ago.
func (s *Store) DeleteOldInvitations(ctx context.Context) error {
	return s.exec(ctx, "delete old invitations", `DELETE FROM calendar_events WHERE ends_at < $1 AND calendar_id IN
		(SELECT id FROM calendars WHERE provider IN ('mail', 'intake'))`, time.Now().AddDate(0, 0, -30))
}

// InvitationsID returns the ID of the row for the invitations of a consumer that come in a way.
func InvitationsID(consumer uuid.UUID, provider calendarapi.Provider) uuid.UUID {
	return uuid.NewSHA1(consumer, []byte(provider))
}

// EventsByUID returns the events of a calendar with a UID, oldest first.
func (db *Reader) EventsByUID(ctx context.Context, calendarID uuid.UUID, uid string) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.calendar_id = $1 AND e.uid = $2 ORDER BY e.id`, calendarID, uid)
}

// EventsAt returns the events of a calendar that start at a time. It uses the index
// calendar_events_start.
func (db *Reader) EventsAt(ctx context.Context, calendarID uuid.UUID, start time.Time) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.calendar_id = $1 AND e.starts_at = $2 ORDER BY e.id`, calendarID, start)
}

// EventsOfJob returns the first 50 events that have a job. It uses the index calendar_events_job.
func (db *Reader) EventsOfJob(ctx context.Context, jobID uuid.UUID) ([]calendarsync.Event, error) {
	return db.events(ctx, `WHERE e.job_id = $1 AND e.job_id <> '' AND e.wanted = 1 ORDER BY e.starts_at, e.id LIMIT 50`, jobID.String())
}

// scanMeeting scans the consumer, the UID and the original start of a meeting.
func scanMeeting(r row, m *calendarsync.Meeting) error {
	return r.Scan(&m.ConsumerID, &m.UID, &m.Original)
}

// DirtyInvitations returns up to limit meetings of which only invitations tell and whose jobs are to be checked: a change of
// a job that many events share leaves some. It uses the index calendar_events_dirty.
func (db *Reader) DirtyInvitations(ctx context.Context, limit int) ([]calendarsync.Meeting, error) {
	return List(ctx, db, "find the changed events of invitations", scanMeeting, `SELECT DISTINCT e.consumer_id, e.uid, NULLIF(e.original, 0)
		FROM calendar_events e JOIN calendars c ON c.id = e.calendar_id WHERE e.dirty = 1 AND c.due_at IS NULL
		ORDER BY 1, 2, 3 LIMIT $1`, limit)
}

// DirtyMeetings returns up to limit meetings of a calendar whose jobs are to be checked.
// It uses the index calendar_events_dirty.
func (db *Reader) DirtyMeetings(ctx context.Context, c calendarsync.Calendar, limit int) ([]calendarsync.Meeting, error) {
	return List(ctx, db, "find the changed events of a calendar", scanMeeting, `SELECT consumer_id, uid, NULLIF(original, 0) FROM calendar_events
		WHERE calendar_id = $1 AND dirty = 1 ORDER BY removed, starts_at, id LIMIT $2`, c.ID, limit)
}

// SettleEvent saves what was decided about an event. One that its calendar no longer has
// is removed.
func (tx *Tx) SettleEvent(ctx context.Context, e calendarsync.Event) error {
	if e.Removed {
		return tx.exec(ctx, "save the decision about an event", `DELETE FROM calendar_events WHERE id = $1`, e.ID)
	}
	jobID := ""
	if e.JobID != uuid.Nil {
		jobID = e.JobID.String()
	}
	return tx.exec(ctx, "save the decision about an event", `UPDATE calendar_events SET dirty = 0, record = $2, reason = $3, job_id = $4,
		wanted = $5, decided_start = $6 WHERE id = $1`, e.ID, e.Record, e.Reason, jobID, e.Wanted, NullTime(e.DecidedStart))
}

// OverrideEvent saves whether a person wants a bot for an event; nil if the rules decide.
func (tx *Tx) OverrideEvent(ctx context.Context, calendar, event uuid.UUID, override *bool) error {
	var value any
	if override != nil {
		value = *override
	}
	return tx.exec(ctx, "switch an event", `UPDATE calendar_events SET overridden = $3, dirty = 1
		WHERE calendar_id = $1 AND id = $2 AND removed = 0`, calendar, event, value)
}

// CalendarEvent returns an event of a calendar, or a *job.Error with NotFound.
func (db *Reader) CalendarEvent(ctx context.Context, calendar, event uuid.UUID) (calendarsync.Event, error) {
	return queryOne(ctx, db, "event", scanEvent, selectEvents+`WHERE e.calendar_id = $1 AND e.id = $2 AND e.removed = 0`, calendar, event)
}

// WithdrawEvents notes that the owner of a calendar has withdrawn the permission to read it: its events that are
// not over no longer ask for a bot.
func (s *Store) WithdrawEvents(ctx context.Context, c calendarsync.Calendar, now time.Time) error {
	const reason = "the owner has withdrawn the permission to read the calendar"
	return s.exec(ctx, "withdraw the events of a calendar", `UPDATE calendar_events SET rule_record = 0, rule_reason = $3, dirty = 1
		WHERE calendar_id = $1 AND ends_at > $2 AND rule_reason <> $3`, c.ID, now, reason)
}

// MarkOtherEvents makes other meetings due that have the same job, and returns them. It
// uses the index calendar_events_job.
func (tx *Tx) MarkOtherEvents(ctx context.Context, m calendarsync.Meeting, jobID uuid.UUID) ([]calendarsync.Meeting, error) {
	const others = ` job_id = $1 AND job_id <> '' AND NOT (uid = $2 AND original = $3)`
	args := []any{jobID.String(), m.UID, originalMillis(m.Original)}
	if err := tx.exec(ctx, "mark other events of a job", `UPDATE calendar_events SET dirty = 1 WHERE`+others, args...); err != nil {
		return nil, err
	}
	return List(ctx, tx.Reader, "find other events of a job", scanMeeting,
		`SELECT DISTINCT consumer_id, uid, NULLIF(original, 0) FROM calendar_events WHERE`+others, args...)
}

// ClaimArrivals returns the bots that come soon and of which the organizers of their meetings are to be told, each once.
func (s *Store) ClaimArrivals(ctx context.Context, now time.Time) (due []calendarsync.Arrival, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		due = nil
		found, err := List(ctx, tx.Reader, "find organizers to tell", func(r row, a *calendarsync.Arrival) error {
			return r.Scan(&a.EventID, &a.ConsumerID, &a.Organizer, &a.Title, &a.Start, &a.Zone, &a.Platform, &a.Bot, jsonColumn{&a.Rules})
		}, `SELECT e.id, e.consumer_id, e.organizer, e.title, e.starts_at, e.zone, e.platform, j.display_name, c.rules
			FROM calendars c JOIN calendar_events e ON e.calendar_id = c.id JOIN jobs j ON j.id = e.job_id
			WHERE c.rules LIKE '%"tellOrganizer":%' AND c.deleted = 0 AND e.starts_at > $1 AND e.starts_at <= $2 AND e.told = 0
				AND e.removed = 0 AND e.wanted = 1 AND e.organizer <> '' AND e.job_id <> '' AND j.wake_at IS NOT NULL
			ORDER BY e.starts_at, e.id LIMIT 100`, now, now.Add(time.Hour)) // the longest that rules can say
		for _, a := range found {
			if err != nil || a.Start.Sub(now) > time.Duration(a.Rules.TellOrganizer)*time.Minute {
				continue
			}
			var n int64
			n, err = tx.Affected(ctx, "note that an organizer is told", `UPDATE calendar_events SET told = 1 WHERE id = $1 AND told = 0`, a.EventID)
			if n == 1 {
				due = append(due, a)
			}
		}
		return err
	})
	return due, err
}
