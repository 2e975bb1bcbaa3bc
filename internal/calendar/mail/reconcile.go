package mail

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/calendar"
)

// maxScheduled limits the jobs of one meeting that are scheduled in advance.
const maxScheduled = 60

// maxRejections is how many occurrences of a meeting the service may reject before the
// others are not tried.
const maxRejections = 3

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
func (w *Worker) roll(ctx context.Context, id int64) error {
	w.reconciling.Lock()
	defer w.reconciling.Unlock()
	var m meeting
	attempts := 0 // that failed to schedule further occurrences
	if err := w.store.db.QueryRowContext(ctx, `SELECT organizer, uid, attempts FROM meetings WHERE rowid = $1`, id).
		Scan(&m.organizer, &m.uid, &attempts); err != nil {
		return wrap(err)
	}
	result, err := w.reconcile(ctx, m, 0, w.newReading())
	if ctx.Err() != nil {
		return err
	}
	if temporary, ok := errors.AsType[*temporaryError](err); ok {
		w.settings.Log.Warn("cannot schedule the occurrences of a meeting; retrying", "uid", m.uid, "attempt", attempts+1, "error", temporary)
		return w.store.scheduleNext(ctx, m, w.settings.Now().Add(backoff(attempts)), true)
	}
	if len(result.rejections) > 0 {
		w.settings.Log.Warn("cannot schedule the occurrences of a meeting", "uid", m.uid, "reasons", result.rejections)
	}
	return err
}

// reconciled is the result of reconcile.
type reconciled struct {
	schedule
	rejections []string // sentences about occurrences that the service rejects
}

// reconcile makes the service have the occurrences of a meeting that its events
// ask for. It is safe to repeat: the service recognizes an invite that it has.
// message is the message that changed the meeting; 0 if it is only continued.
func (w *Worker) reconcile(ctx context.Context, m meeting, message int64, read *reading) (result reconciled, err error) {
	now := w.settings.Now()
	known, err := w.store.occurrences(ctx, m)
	if err != nil {
		return reconciled{}, err
	}
	r := reconciliation{worker: w, meeting: m, message: message, known: known}
	events, source, err := w.store.events(ctx, m, read)
	var found schedule
	if err == nil {
		isKnown := func(original time.Time) bool { return r.find(original) >= 0 }
		found, err = planOccurrences(events, now, isKnown, read.budget)
	}
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		return reconciled{rejections: []string{sentence("A meeting", rejected)}}, w.store.scheduleNext(ctx, m, now.Add(rollInterval), false)
	}
	if err != nil {
		return reconciled{}, err
	}
	if message == 0 {
		r.message = source
	}
	if found.cancelled && len(known) == 0 {
		found.reasons = append(found.reasons, eventLabel(seriesMaster(events))+" is cancelled.")
	}
	r.wanted = found.wanted
	if err := r.run(ctx, now); err != nil {
		return reconciled{}, err
	}
	next := time.Time{}
	if len(found.wanted) > 0 || !found.next.Start.IsZero() {
		next = now.Add(rollInterval)
	}
	return reconciled{found, r.rejections}, w.store.scheduleNext(ctx, m, next, false)
}

// reconciliation is one run of reconcile.
type reconciliation struct {
	worker  *Worker
	meeting meeting
	message int64
	known   []occurrence     // what the service has
	wanted  []calendar.Event // what it should have

	rejected   int      // occurrences
	rejections []string // sentences about them
}

// find returns the index of the known occurrence with an original start, or -1.
func (r *reconciliation) find(original time.Time) int {
	return slices.IndexFunc(r.known, func(o occurrence) bool { return o.original.Equal(original) })
}

// run schedules and moves what is wanted, then cancels the rest.
func (r *reconciliation) run(ctx context.Context, now time.Time) error {
	obsolete := slices.DeleteFunc(slices.Clone(r.known), func(o occurrence) bool {
		isWanted := slices.ContainsFunc(r.wanted, func(e calendar.Event) bool { return e.Original.Equal(o.original) })
		return isWanted || !o.end.After(now) && !o.start.After(now)
	})
	for _, e := range r.wanted {
		if r.rejected >= maxRejections {
			break
		}
		previous := occurrence{original: e.Original}
		if at := r.find(e.Original); at >= 0 {
			previous = r.known[at]
			if previous.start.Equal(e.Start) && previous.end.Equal(e.End) && previous.address == e.MeetingURL &&
				previous.kind != calendar.FreeTierExhausted {
				continue
			}
		} else if at := slices.IndexFunc(obsolete, func(o occurrence) bool { return sameDay(o.start, e.Start, e.Zone) }); at >= 0 {
			// The whole series was moved to another time of day, or a meeting became a series.
			previous = obsolete[at]
			obsolete = slices.Delete(obsolete, at, at+1)
		}
		if err := r.recordFailure(title(e), r.schedule(ctx, e, previous)); err != nil {
			return err
		}
	}
	for _, o := range obsolete {
		if err := r.recordFailure(title(calendar.Event{Summary: o.summary}), r.cancel(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}

// recordFailure records that an occurrence was rejected. It returns other errors.
func (r *reconciliation) recordFailure(subject string, err error) error {
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		if reason := sentence(subject, rejected); !slices.Contains(r.rejections, reason) {
			r.rejections = append(r.rejections, reason)
		}
		r.rejected++
		return nil
	}
	return err
}

// schedule schedules an occurrence, or moves the previous one.
func (r *reconciliation) schedule(ctx context.Context, e calendar.Event, previous occurrence) error {
	if !previous.start.Equal(e.Start) {
		if err := r.worker.store.checkQuota(ctx, r.meeting, previous.original, e.Start, r.worker.settings.Policy.DomainMeetings); err != nil {
			return err
		}
	}
	invite := e.Invite()
	if previous.icalUID != "" {
		invite.ICalUID = previous.icalUID
	} else {
		for slices.ContainsFunc(r.known, func(o occurrence) bool { return o.icalUID == invite.ICalUID }) {
			invite.ICalUID += "+" // a moved occurrence has this one's
		}
	}
	result, err := r.request(ctx, invite)
	if err != nil {
		return err
	}
	o := occurrence{
		original: e.Original, icalUID: invite.ICalUID, start: e.Start, end: e.End, address: e.MeetingURL, platform: e.Platform,
		kind: result.Kind, jobID: result.JobID.String(), summary: e.Summary, zone: e.Zone,
	}
	change := Change{JobID: o.jobID, Kind: "scheduled", Summary: e.Summary, Start: e.Start, Zone: e.Zone}
	switch {
	case result.Dismissed:
		change.Kind = "dismissed"
	case result.Kind == calendar.FreeTierExhausted:
		change.Kind = string(result.Kind)
	case previous.jobID == o.jobID && previous.start.Equal(e.Start):
		change.Kind = "updated"
	case previous.jobID == o.jobID:
		change.Kind = "moved"
	}
	if err := r.worker.store.saveOccurrence(ctx, r.meeting, previous.original, &o, r.message, change); err != nil {
		return err
	}
	r.known = append(r.known, o)
	r.worker.step("saved")
	return nil
}

// cancel cancels an occurrence.
func (r *reconciliation) cancel(ctx context.Context, o occurrence) error {
	_, err := r.request(ctx, calendar.Invite{
		OrganizerEmail: r.meeting.organizer, MeetingURL: o.address, Platform: o.platform, JoinAt: o.start, ICalUID: o.icalUID, Cancelled: true,
	})
	if err != nil {
		return err
	}
	change := Change{JobID: o.jobID, Kind: "cancelled", Summary: o.summary, Start: o.start, Zone: o.zone}
	return r.worker.store.saveOccurrence(ctx, r.meeting, o.original, nil, r.message, change)
}

// request passes an invite to the service.
func (r *reconciliation) request(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	r.worker.step("before request")
	result, err := r.worker.settings.Service.Schedule(ctx, invite)
	var rejected *RejectedError
	if err != nil && !errors.As(err, &rejected) {
		err = &temporaryError{err: err}
	}
	r.worker.step("after request")
	return result, err
}

// sameDay reports whether two times are on the same day in a zone.
func sameDay(a, b time.Time, zone string) bool {
	location := calendar.Location(zone)
	return a.In(location).Format(time.DateOnly) == b.In(location).Format(time.DateOnly)
}
