package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Plans returns the plans that consumers have paid for.
type Plans interface {
	ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (billing.Plan, error)
}

// EventScheduler keeps the jobs of teams as their events ask, whether these come from
// connected calendars, by mail or by the API. All that is known of an event is in one table; a
// meeting of a team gets one bot at a time, whatever asks for it. Its methods may be called
// from any goroutine.
type EventScheduler struct {
	Jobs  *Service
	Plans Plans

	// FreeTierJobs is how many jobs events may create in a calendar month (UTC)
	// for a consumer without an active plan; 0 is no limit.
	FreeTierJobs int

	// SendMail sends a mail to organizers of meetings; nil if the service sends none.
	SendMail func(ctx context.Context, to []string, subject, body string) error

	// WebhookSecret is given to new consumers; each gets its own when empty.
	WebhookSecret string
}

// The beginnings of the externalId of the jobs that events create.
const (
	calendarJob = "calendar:"
	inviteJob   = "calendar-invite:"
)

const (
	// maxOtherMeetings limits the meetings that are settled because one of them has changed
	// a job that they share. The others stay due.
	maxOtherMeetings = 20

	maxMeetings = 20 // meetings that are settled in one transaction

	maxLeft = 1000 // meetings that SettleInvitations settles
)

// SyncMeetings implements calendarsync.Jobs. It decides about meetings, all of one consumer,
// and changes their jobs. One that fails does not stop the others.
func (i *EventScheduler) SyncMeetings(ctx context.Context, meetings []calendarsync.Meeting) error {
	var errs []error
	for together := range slices.Chunk(meetings, maxMeetings) {
		_, err := i.settle(ctx, together[0].ConsumerID, given(together), nil)
		if err != nil && len(together) > 1 && ctx.Err() == nil {
			err = nil
			for n := range together {
				_, one := i.settle(ctx, together[0].ConsumerID, given(together[n:n+1]), nil)
				err = errors.Join(err, one)
			}
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// SettleInvitations settles what invitations tell of and is left to be settled.
func (i *EventScheduler) SettleInvitations(ctx context.Context) error {
	meetings, err := i.Jobs.Store.DirtyInvitations(ctx, maxLeft)
	for len(meetings) > 0 {
		n := slices.IndexFunc(meetings, func(m calendarsync.Meeting) bool { return m.ConsumerID != meetings[0].ConsumerID })
		if n < 0 {
			n = len(meetings)
		}
		err = errors.Join(err, i.SyncMeetings(ctx, meetings[:n]))
		meetings = meetings[n:]
	}
	return err
}

// OverrideEvent implements calendarsync.Jobs. It saves whether a person wants a bot for
// an event, and settles its meeting. A bot that was cancelled comes again if a person
// switches the event on.
func (i *EventScheduler) OverrideEvent(ctx context.Context, caller account.Caller, calendarID, eventID uuid.UUID, override *bool) error {
	_, err := i.settle(ctx, caller.ConsumerID, func(ctx context.Context, tx *store.Tx) ([]*meeting, error) {
		before, err := tx.CalendarEvent(ctx, calendarID, eventID)
		if err != nil {
			return nil, err
		}
		if err := tx.OverrideEvent(ctx, calendarID, eventID, override); err != nil {
			return nil, err
		}
		m := &meeting{Meeting: calendarsync.Meeting{ConsumerID: caller.ConsumerID, UID: before.UID, Original: before.Original}}
		m.again = override != nil && *override || override == nil && before.Override != nil && !*before.Override
		return []*meeting{m}, nil
	}, nil)
	return err
}

// given returns meetings as they are.
func given(meetings []calendarsync.Meeting) func(context.Context, *store.Tx) ([]*meeting, error) {
	return func(context.Context, *store.Tx) (found []*meeting, err error) {
		for _, m := range meetings {
			found = append(found, &meeting{Meeting: m})
		}
		return found, nil
	}
}

// settle settles the meetings of a consumer that prepare returns, and calls after unless it is nil, in one
// transaction. Then it settles those that shared their jobs. It returns the first ones.
func (i *EventScheduler) settle(ctx context.Context, consumer uuid.UUID, prepare func(context.Context, *store.Tx) ([]*meeting, error),
	after func(context.Context, *store.Tx, []*meeting) error) (settled []*meeting, err error) {
	limit := i.FreeTierJobs
	if limit != 0 {
		plan, err := i.Plans.ConsumerPlan(ctx, consumer)
		if err != nil {
			return nil, err
		}
		if plan.Active() {
			limit = 0
		}
	}
	for left := maxOtherMeetings; ; {
		var meetings []*meeting
		err := i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			// One meeting of a consumer at a time: two could create two jobs.
			if err := tx.LockConsumer(ctx, consumer); err != nil {
				return err
			}
			if meetings, err = prepare(ctx, tx); err != nil {
				return err
			}
			for _, m := range meetings {
				m.service, m.tx, m.limit = i.Jobs, tx, limit
				if m.events, err = tx.MeetingEvents(ctx, m.Meeting); err != nil {
					return err
				}
			}
			// Those that want a bot come first, so that a job goes over to them before another event gives it up.
			slices.SortStableFunc(meetings, func(a, b *meeting) int {
				_, wanted, _ := calendarsync.Decide(a.events)
				_, other, _ := calendarsync.Decide(b.events)
				switch {
				case wanted == other:
					return 0
				case wanted:
					return -1
				}
				return 1
			})
			for _, m := range meetings {
				before := slices.Clone(m.events)
				if err := m.settle(ctx); err != nil {
					return err
				}
				for n, e := range m.events {
					if err := errors.Join(tx.SettleEvent(ctx, e), m.report(ctx, before[n], e)); err != nil {
						return err
					}
				}
			}
			if after == nil {
				return nil
			}
			return after(ctx, tx, meetings)
		})
		if err != nil {
			return nil, err
		}
		if settled == nil {
			settled = meetings
		}
		var others []calendarsync.Meeting
		for _, m := range meetings {
			for _, c := range m.changes {
				i.Jobs.publish(ctx, c)
			}
			for _, other := range m.others {
				if !slices.Contains(others, other) && left > 0 {
					others = append(others, other)
					left--
				}
			}
		}
		if len(others) == 0 {
			return settled, nil
		}
		prepare, after = given(others), nil
	}
}

// report emits what became of an event of a calendar.
func (m *meeting) report(ctx context.Context, before, after calendarsync.Event) error {
	name := webhook.CalendarEventUpdated
	switch {
	case after.IsInvitation():
		return nil
	case after.Record && !before.Record:
		name = webhook.CalendarEventScheduled
	case before.Record && !after.Record:
		name = webhook.CalendarEventCancelled
	case !after.Record || !m.moved:
		return nil
	}
	return tellOfEvent(ctx, m.tx, m.ConsumerID, name, after, m.service.Now())
}

// tellOfEvent emits a webhook about an event of a calendar.
func tellOfEvent(ctx context.Context, tx *store.Tx, consumer uuid.UUID, name string, e calendarsync.Event, now time.Time) error {
	told := webhook.CalendarMeeting{
		CalendarID: e.CalendarID, EventID: e.ID, ICalUID: e.UID, Title: e.Title, StartsAt: job.Timestamp(e.Start),
		EndsAt: job.Timestamp(e.End), Record: e.Record, Reason: cmp.Or(e.Reason, "not recorded: the calendar no longer has it"),
	}
	if e.MeetingURL != "" {
		told.MeetingURL = &e.MeetingURL
	}
	if e.JobID != uuid.Nil {
		told.JobID = &e.JobID
	}
	return webhook.InsertForConsumer(ctx, tx, consumer, webhook.CalendarChanged(name, told), now)
}
