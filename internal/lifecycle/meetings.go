package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar"
	"standin/internal/calendarsync"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// calendarJob begins the externalId of the jobs that connected calendars create.
const calendarJob = "calendar:"

// byCalendar is a connected calendar, as the timeline names it.
const byCalendar = "calendar"

// maxOtherMeetings limits the meetings that are synced because one of them has changed a
// job that they share. The others stay due.
const maxOtherMeetings = 20

// SyncMeeting implements calendarsync.Jobs. In one transaction, it decides about a
// meeting of connected calendars and changes its job as Schedule does for an invite: the
// one of the event, or else one for the same meeting at the same time, whoever has asked
// for it. A job that no calendar has created is not cancelled.
func (i *InviteScheduler) SyncMeeting(ctx context.Context, m calendarsync.Meeting) error {
	return i.syncMeeting(ctx, m, nil)
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
	return i.syncMeeting(ctx, m, &eventOverride{calendarID, eventID, override})
}

// eventOverride is what a person wants for an event.
type eventOverride struct {
	calendar, event uuid.UUID
	value           *bool
}

func (i *InviteScheduler) syncMeeting(ctx context.Context, m calendarsync.Meeting, override *eventOverride) error {
	limit, err := i.monthlyLimit(ctx, m.ConsumerID)
	if err != nil {
		return fmt.Errorf("find the plan of a calendar's consumer: %w", err)
	}
	pending := []calendarsync.Meeting{m}
	for n := 0; n < len(pending) && n < maxOtherMeetings; n++ {
		var s *meetingSync
		err := i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			s = &meetingSync{Meeting: pending[n], service: i.Jobs, tx: tx, limit: limit, override: override}
			return s.run(ctx)
		})
		if err != nil {
			return fmt.Errorf("sync a meeting of a calendar: %w", err)
		}
		for _, c := range s.changes {
			i.Jobs.publish(c)
		}
		pending, override = append(pending, s.others...), nil
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
		if _, err := s.tx.OverrideEvent(ctx, o.calendar, o.event, o.value); err != nil {
			return err
		}
		s.again = o.value != nil && *o.value
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
		CalendarID: after.CalendarID, EventID: after.ID, ICalUID: after.UID, Title: after.Title, StartsAt: job.Timestamp(after.Start), EndsAt: job.Timestamp(after.End),
		Record: after.Record, Reason: cmp.Or(after.Reason, "not recorded: the calendar no longer has it"),
	}
	if after.MeetingURL != "" {
		meeting.MeetingURL = &after.MeetingURL
	}
	if after.JobID != uuid.Nil {
		meeting.JobID = &after.JobID
	}
	return s.tx.EmitConsumerEvent(ctx, s.ConsumerID, webhook.CalendarChanged(name, meeting), s.service.Now())
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
	decided, err := decision{}, error(nil)
	if record && !isOver {
		decided, err = s.schedule(ctx, newest)
	}
	if err == nil {
		err = s.cancel(ctx, events, decided)
	}
	for n := range events {
		e := &events[n]
		e.Record, e.Reason, e.JobID = decided.record, cmp.Or(decided.reason, reasons[n]), decided.jobID
	}
	return err
}

// isAhead reports whether the job of an event has not been due yet: the meeting was moved
// into the past.
func (s *meetingSync) isAhead(events []calendarsync.Event) bool {
	return slices.ContainsFunc(events, func(e calendarsync.Event) bool { return !e.Job.Terminal() && e.JobAt.After(s.service.Now()) })
}

// decision is what became of a meeting.
type decision struct {
	record bool
	reason string // instead of that of calendarsync.Decide, if not empty
	jobID  uuid.UUID
}

// schedule finds, moves or creates the job of an event.
func (s *meetingSync) schedule(ctx context.Context, e calendarsync.Event) (decision, error) {
	c, err := s.tx.Calendar(ctx, s.ConsumerID, e.CalendarID)
	if err != nil {
		return decision{}, err
	}
	s.options = c.Job
	invite := calendar.Invite{
		OrganizerEmail: e.Organizer, Subject: e.Title, MeetingURL: e.MeetingURL, Platform: e.Platform, JoinAt: e.Start, ICalUID: e.Key,
	}
	if invite.Subject == "" {
		invite.Subject = calendar.NoSubject
	}
	t := &inviteTx{consumer: s.ConsumerID, invite: invite, limit: s.limit, meeting: s, change: s.service.newChange(s.tx, job.Record{})}
	if err := t.run(ctx); err != nil {
		return decision{}, err
	}
	if t.left != nil {
		s.moved = true
		s.changes = append(s.changes, t.left)
		if err := s.markOthers(ctx, t.left.ID); err != nil {
			return decision{}, err
		}
	}
	s.changes = append(s.changes, t.change)
	if before := t.change.before; before.ID != uuid.Nil && !bytes.Equal(before.Metadata, t.change.Metadata) { // its title
		s.moved = true
	}
	if before := t.change.before; before.ID != uuid.Nil && (!before.JoinAt.Equal(t.change.JoinAt) || before.MeetingURL != t.change.MeetingURL) {
		s.moved = true
		if err := s.markOthers(ctx, before.ID); err != nil {
			return decision{}, err
		}
	}
	switch {
	case t.result.Dismissed:
		return decision{false, "not recorded: its bot was cancelled", t.change.ID}, nil
	case t.result.Kind == calendar.FreeTierExhausted:
		return decision{false, "not recorded: the free meetings of this month are used up", t.change.ID}, nil
	}
	return decision{record: true, jobID: t.change.ID}, nil
}

// markOthers notes the other meetings that had a job.
func (s *meetingSync) markOthers(ctx context.Context, jobID uuid.UUID) error {
	others, err := s.tx.MarkOtherEvents(ctx, s.Meeting, jobID)
	s.others = append(s.others, others...)
	return err
}

// cancel cancels the jobs of a meeting's events that a calendar has created for them, but
// the one that was decided on. If the meeting was moved, a bot that is in it stays.
func (s *meetingSync) cancel(ctx context.Context, events []calendarsync.Event, decided decision) error {
	for n, e := range events {
		if e.JobID == uuid.Nil || e.JobID == decided.jobID || n > 0 && e.JobID == events[n-1].JobID {
			continue
		}
		r, err := s.tx.LockJob(ctx, e.JobID)
		if job.ErrorIs(err, job.NotFound) {
			continue // erased
		}
		if err != nil {
			return err
		}
		if r.ICalUID != e.Key || !strings.HasPrefix(r.ExternalID, calendarJob) || r.Status.Terminal() || decided.record && !undispatched(r.Status) && !outside(r.Status) {
			continue
		}
		c := s.service.newChange(s.tx, r)
		if err := c.cancel(ctx, map[string]string{"by": byCalendar}); err != nil {
			return err
		}
		if err := s.tx.SaveJob(ctx, c.Record); err != nil {
			return err
		}
		s.changes = append(s.changes, c)
		if err := s.markOthers(ctx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// complete gives a new job the settings of its calendar.
func (s *meetingSync) complete(r *job.Record) {
	r.ExternalID = calendarJob + r.ID.String()
	if s.options.DisplayName != "" {
		r.DisplayName = s.options.DisplayName
	}
	if s.options.AutoLeave != nil {
		r.AutoLeave = *s.options.AutoLeave
	}
	r.Webhooks = job.Webhooks(s.options.Webhooks)
	r.Options = s.options.Options
}
