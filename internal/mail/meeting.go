package mail

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"standin/internal/calendar"
	"standin/internal/job"
)

// quota limits the meetings of a sender domain. The zero value has no limit.
type quota struct {
	domain   string
	meetings int // in 24 hours
}

// quotaBytes is the part of the store that the messages of a domain with a quota may use
// whose meetings continue.
const quotaBytes = 20

func (q quota) exceeded() *RejectedError {
	return &RejectedError{Reason: fmt.Sprintf("the senders of %s may schedule %d meetings a day", q.domain, q.meetings)}
}

// checkNew returns a *RejectedError if the quota does not allow a new meeting.
func (q quota) checkNew(recent, bytes, maxBytes int64) error {
	switch {
	case recent >= int64(q.meetings):
		return q.exceeded()
	case bytes > maxBytes/quotaBytes:
		return &RejectedError{Reason: fmt.Sprintf("the messages of the meetings of %s are too large together", q.domain)}
	}
	return nil
}

// apply saves the events of a message that are newer than those that are known. It
// returns all meetings of the message, and sentences about those beyond the quota.
func (s *Store) apply(ctx context.Context, message int64, events []calendar.Event, q quota, now time.Time) (meetings []meeting, problems []string, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		for _, e := range events {
			m := meeting{e.Organizer, e.UID}
			if !slices.Contains(meetings, m) {
				err := s.saveMeeting(ctx, tx, m, q, now)
				if rejected, ok := errors.AsType[*RejectedError](err); ok {
					problems = append(problems, sentence(title(e), rejected))
					continue
				}
				if err != nil {
					return err
				}
				meetings = append(meetings, m)
			}
			err = exec(ctx, tx, `INSERT INTO events (organizer, uid, original, sequence, stamp, message) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (organizer, uid, original) DO UPDATE SET sequence = $4, stamp = $5, message = $6
				WHERE $4 > sequence OR $4 = sequence AND $5 > stamp`, m.organizer, m.uid, millis(e.Original), e.Sequence, millis(e.Stamp), message)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return meetings, problems, err
}

// saveMeeting saves that a meeting is known. It returns a *RejectedError if the quota
// does not allow a new one.
func (s *Store) saveMeeting(ctx context.Context, tx *sql.Tx, m meeting, q quota, now time.Time) error {
	if q.meetings > 0 {
		var known, recent, bytes int64
		err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM meetings WHERE organizer = $1 AND uid = $2),
			(SELECT COUNT(*) FROM meetings WHERE domain <> '' AND domain = $3 AND created_at > $4),
			(SELECT COALESCE(SUM(size), 0) FROM messages WHERE domain = $3 AND id IN (SELECT message FROM events))`,
			m.organizer, m.uid, q.domain, now.Add(-quotaTime).UnixMilli()).Scan(&known, &recent, &bytes)
		if err != nil {
			return fmt.Errorf("mail database: %w", err)
		}
		if err := q.checkNew(recent, bytes, s.maxBytes); known == 0 && err != nil {
			return err
		}
	}
	return exec(ctx, tx, `INSERT INTO meetings (organizer, uid, domain, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
		ON CONFLICT (organizer, uid) DO UPDATE SET domain = $3, updated_at = $4`, m.organizer, m.uid, q.domain, now.UnixMilli())
}

// checkQuota returns a *RejectedError if the sender domain of a meeting has as many
// other occurrences within 12 hours of a time as it may have in a day.
func (s *Store) checkQuota(ctx context.Context, m meeting, original, start time.Time, limit int) error {
	if limit == 0 {
		return nil
	}
	var domain string
	var count int
	err := s.db.QueryRowContext(ctx, `SELECT domain, (SELECT COUNT(*) FROM occurrences JOIN meetings AS others ON others.organizer = occurrences.organizer AND others.uid = occurrences.uid
			WHERE others.domain = meetings.domain AND others.domain <> '' AND starts_at > $3 AND starts_at < $4
			AND NOT (occurrences.organizer = $1 AND occurrences.uid = $2 AND original = $5))
		FROM meetings WHERE organizer = $1 AND uid = $2`,
		m.organizer, m.uid, start.Add(-quotaTime/2).UnixMilli(), start.Add(quotaTime/2).UnixMilli(), millis(original)).Scan(&domain, &count)
	if err != nil {
		return fmt.Errorf("mail database: %w", err)
	}
	if domain != "" && count >= limit {
		return quota{domain, limit}.exceeded()
	}
	return nil
}

func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// eventSource is where the latest version of an event is.
type eventSource struct {
	original, sequence, stamp, message int64
}

// quotaTime is the time for which quotas count.
const quotaTime = 24 * time.Hour

// reading is what is read of the stored messages for one message, or to continue one
// meeting.
type reading struct {
	budget *calendar.Budget
	plans  map[int64]plan // of messages that events came with
}

// newReading returns a reading that ends after readTime.
func newReading() *reading {
	return &reading{budget: calendar.NewBudget(time.Now().Add(readTime)), plans: make(map[int64]plan)}
}

// plan returns the plan of a message whose events were accepted before.
func (r *reading) plan(ctx context.Context, s *Store, message int64) (plan, error) {
	if p, known := r.plans[message]; known {
		return p, nil
	}
	var raw []byte
	if err := s.db.QueryRowContext(ctx, `SELECT raw FROM messages WHERE id = $1`, message).Scan(&raw); err != nil {
		return plan{}, fmt.Errorf("mail database: %w", err)
	}
	if err := r.budget.Spend(len(raw) / bytesPerStep); err != nil {
		return plan{}, readError(err)
	}
	c, err := parseMessage(raw)
	if err != nil {
		return plan{}, err
	}
	p, err := makePlan(c, time.Time{}, r.budget) // nothing is over
	if err != nil {
		return plan{}, readError(err)
	}
	r.plans[message] = p
	return p, nil
}

// readError returns the error for a budget that is spent: the message or meeting can
// never be read, or can be on a machine that is less busy.
func readError(err error) error {
	if expensive, ok := errors.AsType[*calendar.ICSError](err); ok {
		return &RejectedError{Reason: expensive.Reason}
	}
	return &temporaryError{err: err, attempts: maxReadAttempts}
}

// events returns the latest versions of a meeting's events, read from the
// messages that they came with, and the newest of these messages.
func (s *Store) events(ctx context.Context, m meeting, r *reading) (events []calendar.Event, message int64, err error) {
	sources, err := list(ctx, s, func(scan func(...any) error) (e eventSource, err error) {
		err = scan(&e.original, &e.sequence, &e.stamp, &e.message)
		return e, err
	}, `SELECT original, sequence, stamp, message FROM events WHERE organizer = $1 AND uid = $2`, m.organizer, m.uid)
	if err != nil {
		return nil, 0, err
	}
	for _, source := range sources {
		p, err := r.plan(ctx, s, source.message)
		if err != nil {
			return nil, 0, err
		}
		message = max(message, source.message)
		for _, e := range p.events {
			if e.Organizer == m.organizer && e.UID == m.uid && millis(e.Original) == source.original {
				events = append(events, e)
			}
		}
	}
	return events, message, nil
}

// occurrence is an occurrence of a meeting for which the service was asked.
type occurrence struct {
	original time.Time
	icalUID  string
	start    time.Time
	end      time.Time
	address  string
	platform job.Platform
	kind     calendar.Kind
	jobID    string
	summary  string
	zone     string
}

// occurrences returns what the service was asked for.
func (s *Store) occurrences(ctx context.Context, m meeting) ([]occurrence, error) {
	return list(ctx, s, func(scan func(...any) error) (o occurrence, err error) {
		var original, start, end int64
		err = scan(&original, &o.icalUID, &start, &end, &o.address, &o.platform, &o.kind, &o.jobID, &o.summary, &o.zone)
		o.start, o.end = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
		if original != 0 {
			o.original = time.UnixMilli(original).UTC()
		}
		return o, err
	}, `SELECT original, ical_uid, starts_at, ends_at, meeting_url, platform, kind, job, summary, zone FROM occurrences
		WHERE organizer = $1 AND uid = $2 ORDER BY starts_at`, m.organizer, m.uid)
}

// saveOccurrence saves that the service has an occurrence, which it may have had
// with another original start, and the change that a message caused.
func (s *Store) saveOccurrence(ctx context.Context, m meeting, previous time.Time, o occurrence, message int64, change Change) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		if err := exec(ctx, tx, `DELETE FROM occurrences WHERE organizer = $1 AND uid = $2 AND original = $3`, m.organizer, m.uid, millis(previous)); err != nil {
			return err
		}
		err := exec(ctx, tx, `INSERT INTO occurrences (organizer, uid, original, ical_uid, starts_at, ends_at, meeting_url, platform, kind, job, summary, zone)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			ON CONFLICT (organizer, uid, original) DO UPDATE SET ical_uid = $4, starts_at = $5, ends_at = $6, meeting_url = $7, platform = $8, kind = $9, job = $10, summary = $11, zone = $12`,
			m.organizer, m.uid, millis(o.original), o.icalUID, o.start.UnixMilli(), o.end.UnixMilli(), o.address, o.platform, o.kind, o.jobID, o.summary, o.zone)
		if err != nil {
			return err
		}
		return saveChange(ctx, tx, message, change)
	})
}

// deleteOccurrence saves that the service no longer has an occurrence.
func (s *Store) deleteOccurrence(ctx context.Context, m meeting, o occurrence, message int64, change Change) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		if err := exec(ctx, tx, `DELETE FROM occurrences WHERE organizer = $1 AND uid = $2 AND original = $3`, m.organizer, m.uid, millis(o.original)); err != nil {
			return err
		}
		return saveChange(ctx, tx, message, change)
	})
}

func saveChange(ctx context.Context, tx *sql.Tx, message int64, c Change) error {
	if c.Kind == "" {
		return nil
	}
	return exec(ctx, tx, `INSERT INTO changes (message, job, kind, summary, starts_at, zone) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (message, job, kind) DO UPDATE SET starts_at = $5`, message, c.JobID, c.Kind, c.Summary, c.Start.UnixMilli(), c.Zone)
}

// scheduleNext saves when further occurrences of a meeting are due; never if at
// is zero. With again, the last attempt has failed.
func (s *Store) scheduleNext(ctx context.Context, m meeting, at time.Time, again bool) error {
	var next any
	if !at.IsZero() {
		next = at.UnixMilli()
	}
	attempts := "0"
	if again {
		attempts = "attempts + 1"
	}
	return s.exec(ctx, `UPDATE meetings SET next_at = $3, attempts = `+attempts+` WHERE organizer = $1 AND uid = $2`, m.organizer, m.uid, next)
}
