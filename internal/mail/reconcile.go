package mail

import (
	"context"
	"errors"
	"slices"
	"time"

	"standin/internal/calendar"
	"standin/internal/job"
)

// maxScheduled limits the jobs of one meeting that are scheduled in advance.
const maxScheduled = 60

// maxRejections is how many occurrences of a meeting the service may reject before the
// others are not tried.
const maxRejections = 3

// roll schedules the further occurrences of a meeting.
func (w *Worker) roll(ctx context.Context, m meeting, attempts int) error {
	rejections, err := w.reconcile(ctx, m, 0, newReading())
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, errTurnOver) {
		return w.store.scheduleNext(ctx, m, w.settings.Now(), false)
	}
	if temporary, ok := errors.AsType[*temporaryError](err); ok {
		w.settings.Log.Warn("a meeting's occurrences are retried", "uid", m.uid, "attempt", attempts+1, "error", temporary)
		return w.store.scheduleNext(ctx, m, w.settings.Now().Add(backoff(attempts)), true)
	}
	if len(rejections) > 0 {
		w.settings.Log.Warn("occurrences of a meeting are not scheduled", "uid", m.uid, "reasons", rejections)
	}
	return err
}

// reconcile makes the service have the occurrences of a meeting that its events
// ask for. It is safe to repeat: the service recognizes an invite that it has.
// message is the message that changed the meeting; 0 if it is only continued. It
// returns sentences about occurrences that cannot be scheduled, and errTurnOver if it
// is to be continued.
func (w *Worker) reconcile(ctx context.Context, m meeting, message int64, read *reading) (rejections []string, err error) {
	now := w.settings.Now()
	events, source, err := w.store.events(ctx, m, read)
	var all []calendar.Event
	if err == nil {
		if all, err = calendar.Occurrences(events, now, now.Add(horizon), read.budget); err != nil {
			err = readError(err)
		}
	}
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		return []string{sentence("A meeting", rejected)}, w.store.scheduleNext(ctx, m, now.Add(rollInterval), false)
	}
	if err != nil {
		return nil, err
	}
	known, err := w.store.occurrences(ctx, m)
	if err != nil {
		return nil, err
	}
	if message == 0 {
		message = source
	}
	r := reconciliation{worker: w, meeting: m, message: message, known: known, until: time.Now().Add(turnTime)}
	for _, o := range all {
		if o.MeetingURL == "" {
			o.MeetingURL, o.Platform = r.knownLink(o, events)
		}
		inWindow := o.Start.Before(now.Add(w.settings.Window)) || o.Original.IsZero() || r.find(o.Original) >= 0
		if inWindow && o.MeetingURL != "" && len(r.wanted) < maxScheduled {
			r.wanted = append(r.wanted, o)
		}
	}
	if err := r.run(ctx, now); err != nil {
		return nil, err
	}
	next := time.Time{}
	if len(all) > 0 || slices.ContainsFunc(events, func(e calendar.Event) bool { return !e.Cancelled && e.Start.After(now) }) {
		next = now.Add(rollInterval)
	}
	return r.rejections, w.store.scheduleNext(ctx, m, next, false)
}

// reconciliation is one run of reconcile.
type reconciliation struct {
	worker  *Worker
	meeting meeting
	message int64
	known   []occurrence     // what the service has
	wanted  []calendar.Event // what it should have

	until      time.Time // when others have their turn
	rejected   int       // occurrences
	rejections []string  // sentences about them
}

// find returns the index of the known occurrence with an original start, or -1.
func (r *reconciliation) find(original time.Time) int {
	return slices.IndexFunc(r.known, func(o occurrence) bool { return o.original.Equal(original) })
}

// knownLink returns the link of an occurrence that comes without one: the one that it
// had, or another one of its meeting; empty if there is none.
func (r *reconciliation) knownLink(o calendar.Event, events []calendar.Event) (string, job.Platform) {
	if at := r.find(o.Original); at >= 0 {
		return r.known[at].address, r.known[at].platform
	}
	for _, e := range events {
		if e.MeetingURL != "" {
			return e.MeetingURL, e.Platform
		}
	}
	if len(r.known) > 0 {
		return r.known[0].address, r.known[0].platform
	}
	return "", ""
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
			if previous.start.Equal(e.Start) && previous.address == e.MeetingURL && previous.kind != calendar.FreeTierExhausted {
				continue
			}
		} else if at := slices.IndexFunc(obsolete, func(o occurrence) bool { return sameDay(o.start, e.Start, e.Zone) }); at >= 0 {
			// The whole series was moved to another time of day, or a meeting became a series.
			previous = obsolete[at]
			obsolete = slices.Delete(obsolete, at, at+1)
		}
		if err := r.note(title(e), r.schedule(ctx, e, previous)); err != nil {
			return err
		}
	}
	for _, o := range obsolete {
		if err := r.note(title(calendar.Event{Summary: o.summary}), r.cancel(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}

// note notes the result of a request. It returns the error, unless the occurrence was
// rejected, and errTurnOver if the turn is over. Only progress ends a turn, so that
// each turn makes some.
func (r *reconciliation) note(subject string, err error) error {
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		if reason := sentence(subject, rejected); !slices.Contains(r.rejections, reason) {
			r.rejections = append(r.rejections, reason)
		}
		r.rejected++
		return nil
	}
	if err != nil {
		return err
	}
	if time.Now().After(r.until) {
		return errTurnOver
	}
	return nil
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
	case result.Kind == calendar.FreeTierExhausted:
		change.Kind = string(result.Kind)
	case previous.jobID == o.jobID && previous.start.Equal(e.Start):
		change.Kind = "updated"
	case previous.jobID == o.jobID:
		change.Kind = "moved"
	}
	if err := r.worker.store.saveOccurrence(ctx, r.meeting, previous.original, o, r.message, change); err != nil {
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
	return r.worker.store.deleteOccurrence(ctx, r.meeting, o, r.message, change)
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
	location := locationOf(zone)
	return a.In(location).Format(time.DateOnly) == b.In(location).Format(time.DateOnly)
}

// locationOf returns a zone by its IANA name, or UTC.
func locationOf(zone string) *time.Location {
	if location, err := time.LoadLocation(zone); err == nil {
		return location
	}
	return time.UTC
}
