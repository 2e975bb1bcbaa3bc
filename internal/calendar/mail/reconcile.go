package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
)

// maxScheduled limits the jobs of one meeting that are scheduled in advance.
const maxScheduled = 60

// farHorizon is how far ahead the next occurrence of a rare meeting is looked for.
const farHorizon = 20 * horizon

// schedule is what the newest versions of a meeting's events ask for.
type schedule struct {
	wanted  []calendar.Event // occurrences that jobs are scheduled for
	next    calendar.Event   // the first occurrence that a job is scheduled for later; zero if there is none
	reasons []string         // sentences that say why other occurrences get no job
	settled bool             // the meeting has wanted or later occurrences, or is cancelled

	cancelled bool
}

// planOccurrences returns the schedule of a meeting. isKnown reports whether the service has the
// occurrence with an original start, which is then wanted however far ahead it is.
func planOccurrences(events []calendar.Event, now time.Time, isKnown func(original time.Time) bool,
	budget *calendar.Budget) (s schedule, err error) {
	all, err := calendar.Occurrences(events, now, now.Add(horizon), budget)
	if err == nil && len(all) == 0 {
		all, err = calendar.Occurrences(events, now.Add(horizon), now.Add(farHorizon), budget)
	}
	if err != nil {
		return schedule{}, readError(err)
	}
	for _, e := range all {
		inWindow := e.Start.Before(now.Add(window)) || e.Original.IsZero() && e.Start.Before(now.Add(horizon)) || isKnown(e.Original)
		switch {
		case inWindow && len(s.wanted) < maxScheduled:
			s.wanted = append(s.wanted, e)
		case s.next.Start.IsZero():
			s.next = e
		}
	}
	if len(events) > 0 {
		master := seriesMaster(events)
		s.cancelled = master.Cancelled && (master.Original.IsZero() ||
			!slices.ContainsFunc(events, func(e calendar.Event) bool { return !e.Cancelled }))
	}
	for _, e := range events {
		isOver := e.Series == nil && !e.Start.IsZero() && !e.End.After(now) && !e.Start.After(now) && !e.Original.After(now)
		if e.Problem != "" && !isOver && !s.cancelled && len(s.reasons) < maxMeetings {
			s.reasons = append(s.reasons, eventLabel(e)+" "+e.Problem+".")
		}
	}
	s.settled = len(all) > 0 || s.cancelled
	switch {
	case len(events) == 0 || s.cancelled || len(s.wanted) > 0:
	case !s.next.Start.IsZero():
		ahead := window
		if s.next.Original.IsZero() {
			ahead = horizon
		}
		from := s.next.Start.Add(-ahead).In(calendar.Location(s.next.Zone))
		s.reasons = append(s.reasons, fmt.Sprintf("%s will be scheduled from %s on, %d days before its next date, %s.",
			title(s.next), from.Format("Monday, January 2, 2006"), ahead/(24*time.Hour), localTime(s.next.Start, s.next.Zone)))
	case len(s.reasons) == 0:
		s.reasons = append(s.reasons, title(seriesMaster(events))+" is over.")
	}
	return s, nil
}

// seriesMaster returns the event of the whole series, or else its first changed occurrence.
func seriesMaster(events []calendar.Event) calendar.Event {
	return slices.MinFunc(events, func(a, b calendar.Event) int { return a.Original.Compare(b.Original) })
}

// eventLabel names an event in a sentence, or an occurrence of one.
func eventLabel(e calendar.Event) string {
	if e.Original.IsZero() {
		return title(e)
	}
	return fmt.Sprintf("The occurrence of %s on %s", strings.Replace(title(e), "The event", "the event", 1), localTime(e.Original, e.Zone))
}

// roll schedules the further occurrences of a meeting.
func (w *Worker) roll(ctx context.Context, id uuid.UUID) error {
	var m meeting
	attempts := 0 // that failed to schedule further occurrences
	ok, err := get(ctx, w.Store.Reader, []any{&m.organizer, &m.uid, &attempts}, `SELECT organizer, uid, attempts FROM mail_meetings
		WHERE id = $1`, id)
	if !ok || err != nil {
		return err
	}
	result, err := w.reconcile(ctx, m, uuid.Nil, w.newReading())
	if ctx.Err() != nil {
		return err
	}
	if temporary, ok := errors.AsType[*temporaryError](err); ok {
		w.Log.Warn("cannot schedule the occurrences of a meeting; retrying", "uid", m.uid, "attempt", attempts+1, "error", temporary)
		return w.store.scheduleNext(ctx, m, w.Now().Add(backoff(attempts)), true)
	}
	if len(result.rejections) > 0 {
		w.Log.Warn("cannot schedule the occurrences of a meeting", "uid", m.uid, "reasons", result.rejections)
	}
	return err
}

// reconciled is the result of reconcile.
type reconciled struct {
	schedule
	rejections []string // sentences about occurrences that are not scheduled
}

// reconcile keeps the jobs of a meeting as its events ask. It is safe to repeat. message is the message that changed
// the meeting; uuid.Nil if it is only continued.
func (w *Worker) reconcile(ctx context.Context, m meeting, message uuid.UUID, read *reading) (result reconciled, err error) {
	for range 3 { // or the meeting changes all the time
		result, err = w.reconcileOnce(ctx, m, message, read)
		if !errors.Is(err, lifecycle.ErrOutdated) {
			break
		}
	}
	return result, err
}

func (w *Worker) reconcileOnce(ctx context.Context, m meeting, message uuid.UUID, read *reading) (result reconciled, err error) {
	now := w.Now()
	version, err := revision(ctx, w.Store.Reader, m)
	if err != nil {
		return result, err
	}
	known, err := w.Jobs.Occurrences(ctx, m.organizer, m.uid)
	if err != nil {
		return result, err
	}
	events, source, err := w.store.events(ctx, m, read)
	if err == nil {
		isKnown := func(original time.Time) bool {
			return slices.ContainsFunc(known, func(e calendarsync.Event) bool { return e.Original.Equal(original) })
		}
		result.schedule, err = planOccurrences(events, now, isKnown, read.budget)
	}
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		return reconciled{rejections: []string{sentence("A meeting", rejected)}}, w.store.scheduleNext(ctx, m, now.Add(rollInterval), false)
	}
	if err != nil {
		return result, err
	}
	if message == uuid.Nil {
		message = source
	}
	if result.cancelled && len(known) == 0 {
		result.reasons = append(result.reasons, eventLabel(seriesMaster(events))+" is cancelled.")
	}
	invitation := lifecycle.Invitation{Organizer: m.organizer, UID: m.uid}
	for _, e := range result.wanted {
		invitation.Occurrences = append(invitation.Occurrences, calendarsync.NewInvitation(e))
	}
	invitation.IsNewest = func(ctx context.Context, tx *store.Tx) (bool, error) {
		result.rejections = nil // the transaction may be repeated
		current, err := revision(ctx, tx.Reader, m)
		return current == version, err
	}
	invitation.Admit = func(ctx context.Context, tx *store.Tx, e calendarsync.Event) (bool, error) {
		limit := w.Policy.DomainMeetings
		if limit == 0 {
			return true, nil
		}
		var domain string
		var count int // of the domain's other occurrences within 12 hours
		_, err := get(ctx, tx.Reader, []any{&domain, &count}, `SELECT m.domain, (SELECT COUNT(*) FROM calendar_events e
				JOIN calendars c ON c.id = e.calendar_id AND c.provider = 'mail'
				JOIN mail_meetings others ON others.organizer = e.organizer AND others.uid = e.uid
				WHERE others.domain = m.domain AND others.domain <> '' AND e.problem = '' AND starts_at > $3 AND starts_at < $4
				AND NOT (e.organizer = $1 AND e.uid = $2 AND original = $5))
			FROM mail_meetings m WHERE organizer = $1 AND uid = $2`,
			m.organizer, m.uid, e.Start.Add(-quotaTime/2), e.Start.Add(quotaTime/2), millis(e.Original))
		if err != nil || domain == "" || count < limit {
			return err == nil, err
		}
		rejected := quota{domain, limit}.exceeded()
		if reason := sentence(title(calendar.Event{Summary: e.Title}), rejected); !slices.Contains(result.rejections, reason) {
			result.rejections = append(result.rejections, reason)
		}
		return false, nil
	}
	invitation.Note = func(ctx context.Context, tx *store.Tx, o lifecycle.Outcome) error {
		if message == uuid.Nil {
			return nil
		}
		return exec(ctx, tx, `INSERT INTO mail_changes (message, job, kind, summary, starts_at, zone) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (message, job, kind) DO UPDATE SET starts_at = $5`,
			message, o.JobID.String(), o.Kind, o.Event.Title, o.Event.Start, o.Event.Zone)
	}
	w.step("before jobs")
	if err := w.Jobs.SyncInvitation(ctx, invitation); err != nil {
		return reconciled{}, err
	}
	w.step("after jobs")
	next := time.Time{}
	if len(result.wanted) > 0 || !result.next.Start.IsZero() {
		next = now.Add(rollInterval)
	}
	return result, w.store.scheduleNext(ctx, m, next, false)
}
