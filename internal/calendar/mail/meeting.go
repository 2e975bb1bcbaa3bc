package mail

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
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

// author is whose message is applied.
type author struct {
	address string
	quota   quota
	named   bool // may schedule the meetings of others
}

// applied is the result of apply.
type applied struct {
	meetings  []meeting // of the message
	replaced  []meeting // those with the same UIDs and other organizers
	overQuota []string  // sentences about meetings beyond the quota
	outdated  []string  // sentences about events of which a newer version is known
}

// apply saves the events of a message that are newer than those that are known. A
// meeting may have changed its organizer; that of an author who may schedule the
// meetings of others then replaces the one with the former organizer.
func (s *Store) apply(ctx context.Context, message int64, events []calendar.Event, by author, now time.Time) (found applied, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		found = applied{}
		for _, e := range events {
			organizer, err := organizerOf(ctx, tx, e, by)
			if err != nil {
				return err
			}
			m := meeting{organizer, e.UID}
			if !slices.Contains(found.meetings, m) {
				err := s.saveMeeting(ctx, tx, m, by.quota, now)
				if rejected, ok := errors.AsType[*RejectedError](err); ok {
					found.overQuota = append(found.overQuota, sentence(title(e), rejected))
					continue
				}
				if err != nil {
					return err
				}
				if by.named {
					others, err := otherMeetings(ctx, tx, m)
					if err != nil {
						return err
					}
					found.replaced = append(found.replaced, others...)
				}
				found.meetings = append(found.meetings, m)
			}
			isOutdated, err := saveEvent(ctx, tx, m, e, by.named, message)
			if err != nil {
				return err
			}
			reason := "A newer version of " + strings.TrimPrefix(title(e), "The ") + " is known."
			if isOutdated && len(found.outdated) < maxMeetings && !slices.Contains(found.outdated, reason) {
				found.outdated = append(found.outdated, reason)
			}
		}
		return nil
	})
	return found, err
}

// organizerOf returns the organizer of an event. For an event that names none, it is
// the known one of the same meeting, or else the author.
func organizerOf(ctx context.Context, tx *sql.Tx, e calendar.Event, by author) (organizer string, err error) {
	if e.Organizer != "" || !by.named {
		return cmp.Or(e.Organizer, by.address), nil
	}
	err = tx.QueryRowContext(ctx, `SELECT organizer FROM events WHERE uid = $1 AND named = 1 ORDER BY assumed, organizer
		LIMIT 1`, e.UID).Scan(&organizer)
	if errors.Is(err, sql.ErrNoRows) {
		return by.address, nil
	}
	return organizer, wrap(err)
}

// maxOrganizers limits the organizers of a meeting that may replace each other.
const maxOrganizers = 20

// otherMeetings returns the meetings with the same UID and other organizers.
func otherMeetings(ctx context.Context, tx *sql.Tx, m meeting) ([]meeting, error) {
	return list(ctx, tx, func(row *sql.Rows) (meeting, error) {
		other := meeting{uid: m.uid}
		err := row.Scan(&other.organizer)
		return other, err
	}, `SELECT organizer FROM meetings WHERE uid = $1 AND organizer <> $2 ORDER BY updated_at DESC
		LIMIT $3`, m.uid, m.organizer, maxOrganizers)
}

// saveEvent saves an event unless its meeting has a newer version of it, which it
// reports. Of two versions with the same SEQUENCE and DTSTAMP, the one that arrived
// last counts, but not a copy of an earlier message, or one that leaves out the
// organizer.
func saveEvent(ctx context.Context, tx *sql.Tx, m meeting, e calendar.Event, named bool, message int64) (outdated bool, err error) {
	var known struct {
		sequence, stamp, message int64
		assumed                  bool
	}
	assumed := e.Organizer == ""
	err = tx.QueryRowContext(ctx, `SELECT sequence, stamp, assumed, message FROM events WHERE organizer = $1 AND uid = $2 AND original = $3`,
		m.organizer, m.uid, millis(e.Original)).Scan(&known.sequence, &known.stamp, &known.assumed, &known.message)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return false, wrap(err)
	default:
		order := cmp.Or(cmp.Compare(int64(e.Sequence), known.sequence), cmp.Compare(millis(e.Stamp), known.stamp))
		if order < 0 {
			return true, nil
		}
		if order == 0 {
			copies := 0 // earlier messages of the sender with this Message-ID
			err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages JOIN messages AS earlier ON earlier.sender = messages.sender
				AND earlier.message_id = messages.message_id AND earlier.id < messages.id
				WHERE messages.id = $1 AND messages.message_id <> ''`, message).Scan(&copies)
			if err != nil || copies > 0 || message <= known.message || assumed && !known.assumed {
				return false, wrap(err)
			}
		}
	}
	return false, exec(ctx, tx, `INSERT INTO events (organizer, uid, original, sequence, stamp, assumed, named, message)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (organizer, uid, original) DO UPDATE SET sequence = $4, stamp = $5, assumed = $6, named = $7, message = $8`,
		m.organizer, m.uid, millis(e.Original), e.Sequence, millis(e.Stamp), assumed, named, message)
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
		switch {
		case err != nil:
			return wrap(err)
		case known == 0 && recent >= int64(q.meetings):
			return q.exceeded()
		case known == 0 && bytes > s.maxBytes/quotaBytes:
			return &RejectedError{Reason: fmt.Sprintf("the messages of the meetings of %s are too large together", q.domain)}
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
	err := s.db.QueryRowContext(ctx, `SELECT domain, (SELECT COUNT(*) FROM occurrences
		JOIN meetings AS others ON others.organizer = occurrences.organizer AND others.uid = occurrences.uid
			WHERE others.domain = meetings.domain AND others.domain <> '' AND starts_at > $3 AND starts_at < $4
			AND NOT (occurrences.organizer = $1 AND occurrences.uid = $2 AND original = $5))
		FROM meetings WHERE organizer = $1 AND uid = $2`,
		m.organizer, m.uid, start.Add(-quotaTime/2).UnixMilli(), start.Add(quotaTime/2).UnixMilli(), millis(original)).Scan(&domain, &count)
	if err != nil {
		return wrap(err)
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
	original, message int64
}

// quotaTime is the time for which quotas count.
const quotaTime = 24 * time.Hour

// reading is what is read of the stored messages for one message, or to continue one
// meeting.
type reading struct {
	budget *calendar.Budget
	hosts  []string       // of meetings, as in Policy
	plans  map[int64]plan // of messages that events came with
}

// newReading returns a reading that ends after readTime.
func (w *Worker) newReading() *reading {
	return &reading{budget: calendar.NewBudget(time.Now().Add(readTime)), hosts: w.settings.Policy.MeetingHosts, plans: make(map[int64]plan)}
}

// plan returns the plan of a message whose events were accepted before.
func (r *reading) plan(ctx context.Context, s *Store, message int64) (plan, error) {
	if p, known := r.plans[message]; known {
		return p, nil
	}
	var raw []byte
	if err := s.db.QueryRowContext(ctx, `SELECT raw FROM messages WHERE id = $1`, message).Scan(&raw); err != nil {
		return plan{}, wrap(err)
	}
	if err := r.budget.Spend(len(raw) / bytesPerStep); err != nil {
		return plan{}, readError(err)
	}
	c, err := parseMessage(raw, r.hosts)
	if err != nil {
		return plan{}, err
	}
	p, err := makePlan(c, r.budget)
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
// messages that they came with, and the newest of these messages. Events are left out
// if an author who may schedule the meetings of others has sent a newer version with
// another organizer. Versions of an occurrence and of the whole series are compared by
// their times only, because each has its own count of revisions.
func (s *Store) events(ctx context.Context, m meeting, r *reading) (events []calendar.Event, message int64, err error) {
	sources, err := list(ctx, s.db, func(row *sql.Rows) (e eventSource, err error) {
		err = row.Scan(&e.original, &e.message)
		return e, err
	}, `SELECT original, message FROM events WHERE organizer = $1 AND uid = $2 AND NOT EXISTS (
			SELECT 1 FROM events AS other WHERE other.uid = events.uid AND other.organizer <> events.organizer AND other.named = 1 AND
			CASE WHEN other.original = events.original
				THEN (other.sequence, other.stamp, events.assumed) > (events.sequence, events.stamp, other.assumed)
				ELSE other.original = 0 AND other.stamp > events.stamp
			END)`, m.organizer, m.uid)
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
			if (e.Organizer == m.organizer || e.Organizer == "") && e.UID == m.uid && millis(e.Original) == source.original {
				e.Organizer = m.organizer
				events = append(events, e)
				break
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
	return list(ctx, s.db, func(row *sql.Rows) (o occurrence, err error) {
		var original, start, end int64
		err = row.Scan(&original, &o.icalUID, &start, &end, &o.address, &o.platform, &o.kind, &o.jobID, &o.summary, &o.zone)
		o.start, o.end = time.UnixMilli(start).UTC(), time.UnixMilli(end).UTC()
		if original != 0 {
			o.original = time.UnixMilli(original).UTC()
		}
		return o, err
	}, `SELECT original, ical_uid, starts_at, ends_at, meeting_url, platform, kind, job, summary, zone FROM occurrences
		WHERE organizer = $1 AND uid = $2 ORDER BY starts_at`, m.organizer, m.uid)
}

// saveOccurrence saves that the service has an occurrence in place of the one with another
// original start, or has none if it is nil, and the change, if a message has caused it.
func (s *Store) saveOccurrence(ctx context.Context, m meeting, previous time.Time, o *occurrence, message int64, c Change) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		if err := exec(ctx, tx, `DELETE FROM occurrences WHERE organizer = $1 AND uid = $2
			AND original = $3`, m.organizer, m.uid, millis(previous)); err != nil {
			return err
		}
		if o != nil {
			err := exec(ctx, tx, `INSERT OR REPLACE INTO occurrences (organizer, uid, original, ical_uid, starts_at, ends_at, meeting_url,
				platform, kind, job, summary, zone) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
				m.organizer, m.uid, millis(o.original), o.icalUID, o.start.UnixMilli(), o.end.UnixMilli(), o.address, o.platform, o.kind,
				o.jobID, o.summary, o.zone)
			if err != nil {
				return err
			}
		}
		if message == 0 {
			return nil
		}
		return exec(ctx, tx, `INSERT INTO changes (message, job, kind, summary, starts_at, zone) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (message, job, kind) DO UPDATE SET starts_at = $5`, message, c.JobID, c.Kind, c.Summary, c.Start.UnixMilli(), c.Zone)
	})
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
