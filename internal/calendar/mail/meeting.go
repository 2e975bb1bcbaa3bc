package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/store"
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
	return &RejectedError{fmt.Sprintf("the senders of %s may schedule %d meetings a day", q.domain, q.meetings)}
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
func (s *Store) apply(ctx context.Context, message uuid.UUID, events []calendar.Event, by author,
	now time.Time) (found applied, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		found = applied{}
		for _, e := range events {
			m := meeting{e.Organizer, e.UID}
			if m.organizer == "" && by.named { // the known one of the same meeting, or else the author
				if _, err := get(ctx, tx.Reader, []any{&m.organizer}, `SELECT organizer FROM mail_events WHERE uid = $1 AND named = 1
					ORDER BY assumed, organizer LIMIT 1`, e.UID); err != nil {
					return err
				}
			}
			m.organizer = cmp.Or(m.organizer, by.address)
			if !slices.Contains(found.meetings, m) {
				err := s.saveMeeting(ctx, tx, m, by.quota, now)
				if rejected, ok := errors.AsType[*RejectedError](err); ok {
					found.overQuota = append(found.overQuota, sentence(title(e), rejected))
					continue
				}
				if err != nil {
					return err
				}
				if by.named { // the meetings with the same UID and other organizers
					others, err := list(ctx, tx.Reader, func(row store.Row, other *meeting) error {
						other.uid = m.uid
						return row.Scan(&other.organizer)
					}, `SELECT organizer FROM mail_meetings WHERE uid = $1 AND organizer <> $2 ORDER BY updated_at DESC
						LIMIT $3`, m.uid, m.organizer, maxOrganizers)
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

// maxOrganizers limits the organizers of a meeting that may replace each other.
const maxOrganizers = 20

// saveEvent saves an event unless its meeting has a newer version of it, which it
// reports. Of two versions with the same SEQUENCE and DTSTAMP, the one that arrived
// last counts, but not a copy of an earlier message, or one that leaves out the
// organizer.
func saveEvent(ctx context.Context, tx *store.Tx, m meeting, e calendar.Event, named bool, message uuid.UUID) (outdated bool, err error) {
	var known struct {
		sequence, stamp int64
		message         uuid.UUID
		assumed         bool
	}
	assumed := e.Organizer == ""
	ok, err := get(ctx, tx.Reader, []any{&known.sequence, &known.stamp, &known.assumed, &known.message},
		`SELECT sequence, stamp, assumed, message FROM mail_events WHERE organizer = $1 AND uid = $2 AND original = $3`,
		m.organizer, m.uid, millis(e.Original))
	if err != nil {
		return false, err
	}
	if ok {
		order := cmp.Or(cmp.Compare(int64(e.Sequence), known.sequence), cmp.Compare(millis(e.Stamp), known.stamp))
		if order < 0 {
			return true, nil
		}
		if order == 0 {
			copies := 0 // earlier messages of the sender with this Message-ID
			_, err := get(ctx, tx.Reader, []any{&copies}, `SELECT COUNT(*) FROM mail_messages m JOIN mail_messages AS earlier
				ON earlier.sender = m.sender AND earlier.message_id = m.message_id AND earlier.id < m.id
				WHERE m.id = $1 AND m.message_id <> ''`, message)
			isOlder := message.String() <= known.message.String()
			if err != nil || copies > 0 || isOlder || assumed && !known.assumed {
				return false, err
			}
		}
	}
	if err := exec(ctx, tx, `UPDATE mail_meetings SET revision = revision + 1 WHERE organizer = $1 AND uid = $2`,
		m.organizer, m.uid); err != nil {
		return false, err
	}
	return false, exec(ctx, tx, `INSERT INTO mail_events (organizer, uid, original, sequence, stamp, assumed, named, message)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (organizer, uid, original) DO UPDATE SET sequence = $4, stamp = $5, assumed = $6, named = $7, message = $8`,
		m.organizer, m.uid, millis(e.Original), e.Sequence, millis(e.Stamp), assumed, named, message)
}

// saveMeeting saves that a meeting is known. It returns a *RejectedError if the quota
// does not allow a new one.
func (s *Store) saveMeeting(ctx context.Context, tx *store.Tx, m meeting, q quota, now time.Time) error {
	if q.meetings > 0 {
		var known, recent, bytes int64
		_, err := get(ctx, tx.Reader, []any{&known, &recent, &bytes}, `SELECT
			(SELECT COUNT(*) FROM mail_meetings WHERE organizer = $1 AND uid = $2),
			(SELECT COUNT(*) FROM mail_meetings WHERE domain <> '' AND domain = $3 AND created_at > $4),
			(SELECT COALESCE(SUM(size), 0) FROM mail_messages WHERE domain = $3 AND id IN (SELECT message FROM mail_events))`,
			m.organizer, m.uid, q.domain, now.Add(-quotaTime))
		switch {
		case err != nil:
			return err
		case known == 0 && recent >= int64(q.meetings):
			return q.exceeded()
		case known == 0 && bytes > s.maxBytes/quotaBytes:
			return &RejectedError{fmt.Sprintf("the messages of the meetings of %s are too large together", q.domain)}
		}
	}
	return exec(ctx, tx, `INSERT INTO mail_meetings (id, organizer, uid, domain, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (organizer, uid) DO UPDATE SET domain = $4, updated_at = $5`, job.NewID(), m.organizer, m.uid, q.domain, now)
}

func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// quotaTime is the time for which quotas count.
const quotaTime = 24 * time.Hour

// reading is what is read of the stored messages for one message, or to continue one
// meeting.
type reading struct {
	budget *calendar.Budget
	hosts  []string           // of meetings, as in Policy
	plans  map[uuid.UUID]plan // of messages that events came with
}

// newReading returns a reading that ends after readTime.
func (w *Worker) newReading() *reading {
	budget := calendar.NewBudget(time.Now().Add(readTime))
	return &reading{budget: budget, hosts: w.Policy.MeetingHosts, plans: make(map[uuid.UUID]plan)}
}

// plan returns the plan of a message whose events were accepted before.
func (r *reading) plan(ctx context.Context, s *Store, message uuid.UUID) (p plan, err error) {
	if p, known := r.plans[message]; known {
		return p, nil
	}
	stored, err := s.message(ctx, message)
	if err != nil {
		return p, err
	}
	if err := r.budget.Spend(len(stored.raw) / bytesPerStep); err != nil {
		return p, readError(err)
	}
	c, err := parseMessage(stored.raw, r.hosts)
	if err != nil {
		return p, err
	}
	p, err = makePlan(c, r.budget)
	if err != nil {
		return p, readError(err)
	}
	r.plans[message] = p
	return p, nil
}

// readError returns the error for a budget that is spent: the message or meeting can
// never be read, or can be on a machine that is less busy.
func readError(err error) error {
	if expensive, ok := errors.AsType[*calendar.ICSError](err); ok {
		return &RejectedError{expensive.Reason}
	}
	return &temporaryError{err, maxReadAttempts}
}

// events returns the latest versions of a meeting's events, read from the
// messages that they came with, and the newest of these messages. Events are left out
// if an author who may schedule the meetings of others has sent a newer version with
// another organizer. Versions of an occurrence and of the whole series are compared by
// their times only, because each has its own count of revisions.
func (s *Store) events(ctx context.Context, m meeting, r *reading) (events []calendar.Event, message uuid.UUID, err error) {
	type source struct { // of the latest version of an event
		original int64
		message  uuid.UUID
	}
	sources, err := list(ctx, s.DB.Reader, func(row store.Row, e *source) error {
		return row.Scan(&e.original, &e.message)
	}, `SELECT original, message FROM mail_events e WHERE organizer = $1 AND uid = $2 AND NOT EXISTS (
			SELECT 1 FROM mail_events AS other WHERE other.uid = e.uid AND other.organizer <> e.organizer AND other.named = 1 AND
			CASE WHEN other.original = e.original
				THEN (other.sequence, other.stamp, e.assumed) > (e.sequence, e.stamp, other.assumed)
				ELSE other.original = 0 AND other.stamp > e.stamp
			END)`, m.organizer, m.uid)
	if err != nil {
		return nil, uuid.Nil, err
	}
	for _, source := range sources {
		p, err := r.plan(ctx, s, source.message)
		if err != nil {
			return nil, uuid.Nil, err
		}
		if source.message.String() > message.String() {
			message = source.message
		}
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

// revision returns the revision of a meeting's events.
func revision(ctx context.Context, db *store.Reader, m meeting) (n int64, err error) {
	_, err = get(ctx, db, []any{&n}, `SELECT revision FROM mail_meetings WHERE organizer = $1 AND uid = $2`, m.organizer, m.uid)
	return n, err
}

// scheduleNext saves when further occurrences of a meeting are due; never if at
// is zero. With again, the last attempt has failed.
func (s *Store) scheduleNext(ctx context.Context, m meeting, at time.Time, again bool) error {
	attempts := "0"
	if again {
		attempts = "attempts + 1"
	}
	return s.exec(ctx, `UPDATE mail_meetings SET next_at = $3, attempts = `+attempts+` WHERE organizer = $1 AND uid = $2`, m.organizer, m.uid,
		store.NullTime(at))
}
