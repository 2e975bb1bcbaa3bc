package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// calendarJob begins the externalId of the jobs that connected calendars create.
const calendarJob = "calendar:"

// byCalendar is a connected calendar, as the timeline names it.
const byCalendar = "calendar"

const (
	// maxOtherMeetings limits the meetings that are synced because one of them has changed
	// a job that they share. The others stay due.
	maxOtherMeetings = 20

	maxMeetings = 20 // meetings that are synced in one transaction
)

// SyncMeetings implements calendarsync.Jobs. It decides about meetings of connected
// calendars and changes their jobs as Schedule does for an invite: the one of the event,
// or else one for the same meeting at the same time, whoever has asked for it. All
// meetings have one consumer. One that fails does not stop the others.
//
// What an invite has changed since the calendars were read stays: they may not know of it
// yet. A job that an invite asks for too is cancelled if the calendars say that the event
// is cancelled, and not if they no longer want a bot. If a person switches the event off,
// its bot counts as cancelled by the consumer, whoever has asked for it. The jobs that the
// consumer itself has created stay in every case.
func (i *InviteScheduler) SyncMeetings(ctx context.Context, meetings []calendarsync.Meeting) error {
	var errs []error
	for together := range slices.Chunk(meetings, maxMeetings) {
		err := i.syncTogether(ctx, together, nil)
		if err != nil && len(together) > 1 && ctx.Err() == nil {
			err = nil
			for _, m := range together {
				err = errors.Join(err, i.syncTogether(ctx, []calendarsync.Meeting{m}, nil))
			}
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// OverrideEvent implements calendarsync.Jobs. It saves whether a person wants a bot for
// an event, and syncs its meeting. A bot that was cancelled comes again if a person
// switches the event on.
func (i *InviteScheduler) OverrideEvent(ctx context.Context, caller account.Caller, calendarID, eventID uuid.UUID, override *bool) error {
	e, err := i.Jobs.Store.CalendarEvent(ctx, calendarID, eventID)
	if err != nil {
		return err
	}
	m := calendarsync.Meeting{ConsumerID: caller.ConsumerID, UID: e.UID, Original: e.Original}
	return i.syncTogether(ctx, []calendarsync.Meeting{m}, &eventOverride{calendarID, eventID, override})
}

// eventOverride is what a person wants for an event.
type eventOverride struct {
	calendar, event uuid.UUID
	value           *bool
}

// syncTogether syncs meetings of one consumer in one transaction, and then those that
// shared their jobs.
func (i *InviteScheduler) syncTogether(ctx context.Context, meetings []calendarsync.Meeting, override *eventOverride) error {
	limit, err := i.monthlyLimit(ctx, meetings[0].ConsumerID)
	if err != nil {
		return fmt.Errorf("find the plan of a calendar's consumer: %w", err)
	}
	for left := maxOtherMeetings; len(meetings) > 0; {
		var synced []*meetingSync
		err := i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			synced = nil
			for _, m := range meetings {
				s := &meetingSync{Meeting: m, service: i.Jobs, tx: tx, limit: limit, override: override}
				if err := s.run(ctx); err != nil {
					return err
				}
				synced = append(synced, s)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("sync the meetings of a calendar: %w", err)
		}
		meetings, override = nil, nil
		for _, s := range synced {
			for _, c := range s.changes {
				i.Jobs.publish(ctx, c)
			}
			for _, m := range s.others {
				if !slices.Contains(meetings, m) && left > 0 {
					meetings = append(meetings, m)
					left--
				}
			}
		}
	}
	return nil
}

// meetingSync syncs one meeting within a transaction.
type meetingSync struct {
	calendarsync.Meeting
	service  *Service
	tx       *store.Tx
	limit    int // of jobs in a month; 0 is no limit
	override *eventOverride
	again    bool // a cancelled bot may come again
	moved    bool // the job was changed, or replaced

	options calendarsync.JobOptions
	changes []*Change
	others  []calendarsync.Meeting // that had the same job
}

func (s *meetingSync) run(ctx context.Context) error {
	// One meeting or invite of a consumer at a time: two could create two jobs.
	if err := s.tx.LockConsumer(ctx, s.ConsumerID); err != nil {
		return err
	}
	if o := s.override; o != nil {
		before, err := s.tx.CalendarEvent(ctx, o.calendar, o.event)
		if err != nil {
			return err
		}
		if _, err := s.tx.OverrideEvent(ctx, o.calendar, o.event, o.value); err != nil {
			return err
		}
		s.again = o.value != nil && *o.value || o.value == nil && before.Override != nil && !*before.Override
	}
	events, err := s.tx.MeetingEvents(ctx, s.Meeting)
	if err != nil {
		return err
	}
	before := slices.Clone(events)
	if err := s.settle(ctx, events); err != nil {
		return err
	}
	for n, e := range events {
		if err := s.tx.SettleEvent(ctx, e); err != nil {
			return err
		}
		if err := s.report(ctx, before[n], e); err != nil {
			return err
		}
	}
	return nil
}

// report emits what became of an event of a calendar.
func (s *meetingSync) report(ctx context.Context, before, after calendarsync.Event) error {
	name := webhook.CalendarEventUpdated
	switch {
	case after.Record && !before.Record:
		name = webhook.CalendarEventScheduled
	case before.Record && !after.Record:
		name = webhook.CalendarEventCancelled
	case !after.Record || !s.moved:
		return nil
	}
	meeting := webhook.CalendarMeeting{
		CalendarID: after.CalendarID, EventID: after.ID, ICalUID: after.UID, Title: after.Title, StartsAt: job.Timestamp(after.Start),
		EndsAt: job.Timestamp(after.End),
		Record: after.Record, Reason: cmp.Or(after.Reason, "not recorded: the calendar no longer has it"),
	}
	if after.MeetingURL != "" {
		meeting.MeetingURL = &after.MeetingURL
	}
	if after.JobID != uuid.Nil {
		meeting.JobID = &after.JobID
	}
	return webhook.InsertForConsumer(ctx, s.tx, s.ConsumerID, webhook.CalendarChanged(name, meeting), s.service.Now())
}

// settle decides about the events and changes their job. A meeting that is over stays as
// it is: its bot leaves when the others do.
func (s *meetingSync) settle(ctx context.Context, events []calendarsync.Event) error {
	newest, record, reasons := calendarsync.Decide(events)
	last := newest
	if newest.ID == uuid.Nil && len(events) > 0 { // all are removed
		last = slices.MaxFunc(events, func(a, b calendarsync.Event) int { return a.End.Compare(b.End) })
	}
	isOver := !last.End.After(s.service.Now()) && !last.Start.After(s.service.Now())
	if isOver && !s.isAhead(events) {
		return nil
	}
	off := calendarsync.Overridden(events, false)
	decided, invited, err := s.inviteDecision(ctx, newest, record)
	switch {
	case err != nil:
		return err
	case off:
		decided = decision{}
	case !invited && record && !isOver:
		decided, err = s.schedule(ctx, newest)
	}
	if err == nil {
		gone := !invited && newest.ID != uuid.Nil && (isOver || newest.Problem == calendarsync.IsCancelled)
		err = s.cancel(ctx, events, newest, decided, off, gone)
	}
	if err == nil && decided == (decision{}) && newest.MeetingURL != "" && newest.Problem == "" && !isOver {
		decided, err = s.anotherJob(ctx, newest)
	}
	for n := range events {
		e := &events[n]
		e.Record, e.Reason, e.JobID = decided.record, cmp.Or(decided.reason, reasons[n]), decided.jobID
	}
	return err
}

// reasonOtherSource is the reason of a bot that the calendars do not ask for.
const reasonOtherSource = "recorded: its bot was asked for in another way"

// inviteDecision returns the decision of an invite that is newer than what the calendars last said
// about an event, or false.
func (s *meetingSync) inviteDecision(ctx context.Context, newest calendarsync.Event, record bool) (decision, bool, error) {
	if newest.Key == "" {
		return decision{}, false, nil
	}
	at, err := s.tx.LastInvite(ctx, s.ConsumerID, newest.Key)
	if err != nil || !at.After(newest.UpdatedAt) {
		return decision{}, false, err
	}
	r, err := s.tx.LockJobByICalUID(ctx, s.ConsumerID, newest.Key)
	switch {
	case job.ErrorIs(err, job.NotFound) || err == nil && r.FailureCode == job.QuotaExceeded:
		return decision{}, false, nil
	case err != nil:
		return decision{}, false, err
	case r.Status == job.Cancelled && s.again:
		return decision{}, false, nil
	case r.Status == job.Cancelled:
		byConsumer, err := s.tx.CancelledByConsumer(ctx, r.ID)
		if byConsumer {
			return decision{false, reasonCancelledByUser, r.ID}, true, err
		}
		return decision{false, "not recorded: an invitation says that it is cancelled", r.ID}, true, err
	case !record:
		return decision{true, reasonOtherSource, r.ID}, true, nil
	}
	return decision{record: true, jobID: r.ID}, true, nil
}

// anotherJob returns the job of the consumer for the same meeting at the same time, which
// the calendars do not ask for.
func (s *meetingSync) anotherJob(ctx context.Context, e calendarsync.Event) (decision, error) {
	r, err := s.tx.LockOpenJobByMeeting(ctx, s.ConsumerID, e.MeetingURL, e.Start)
	if job.ErrorIs(err, job.NotFound) {
		return decision{}, nil
	}
	return decision{true, reasonOtherSource, r.ID}, err
}

// isAhead reports whether the job of an event has not been due yet: the meeting was moved
// into the past.
func (s *meetingSync) isAhead(events []calendarsync.Event) bool {
	return slices.ContainsFunc(events, func(e calendarsync.Event) bool { return !e.Job.Terminal() && e.JobAt.After(s.service.Now()) })
}
