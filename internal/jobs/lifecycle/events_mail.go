package lifecycle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// Invitation is what mail says of an organizer's event: the occurrences that take place.
type Invitation struct {
	Organizer   string // mail address, in lower case
	UID         string
	Occurrences []calendarsync.Event // Original and Facts

	// IsNewest reports in the transaction whether that is still so.
	IsNewest func(ctx context.Context, tx *store.Tx) (bool, error)
	// Admit returns in the transaction whether an occurrence may be scheduled, or moved.
	Admit func(ctx context.Context, tx *store.Tx, e calendarsync.Event) (bool, error)
	// Note is told in the transaction what became of an occurrence.
	Note func(ctx context.Context, tx *store.Tx, o Outcome) error
}

// Outcome is what became of an occurrence.
type Outcome struct {
	Kind  string // scheduled, moved, updated, cancelled, dismissed or free_tier_exhausted
	JobID uuid.UUID
	Event calendarsync.Event
}

// ErrOutdated is the error for an invitation that is not the newest anymore.
var ErrOutdated = errors.New("the invitation has changed")

// Occurrences returns the occurrences of an organizer's event that are known by mail.
func (i *EventScheduler) Occurrences(ctx context.Context, organizer, uid string) ([]calendarsync.Event, error) {
	consumer, err := i.consumer(ctx, organizer, false)
	if job.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := i.Jobs.Store.EventsByUID(ctx, store.InvitationsID(consumer.ID, calendarsync.Mail), cleanUID(uid))
	return slices.DeleteFunc(found, func(e calendarsync.Event) bool { return e.Organizer != organizer || e.Problem != "" }), err
}

// SyncInvitation keeps the jobs of an event as an invitation says.
func (i *EventScheduler) SyncInvitation(ctx context.Context, in Invitation) error {
	consumer, err := i.consumer(ctx, in.Organizer, len(in.Occurrences) > 0)
	if job.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = i.settle(ctx, consumer.ID, func(ctx context.Context, tx *store.Tx) ([]*meeting, error) {
		if newest, err := in.IsNewest(ctx, tx); !newest || err != nil {
			return nil, errors.Join(err, ErrOutdated)
		}
		return in.save(ctx, tx, consumer.ID, i.Jobs.Now())
	}, func(ctx context.Context, tx *store.Tx, settled []*meeting) error {
		for _, m := range settled {
			if o := m.outcome(); o.Kind != "" {
				if err := in.Note(ctx, tx, o); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return err
}

// save saves what has changed, and returns the meetings to settle.
func (in Invitation) save(ctx context.Context, tx *store.Tx, consumer uuid.UUID, now time.Time) (changed []*meeting, err error) {
	source, err := tx.Invitations(ctx, consumer, calendarsync.Mail, now)
	if err != nil {
		return nil, err
	}
	uid := cleanUID(in.UID)
	known, err := tx.EventsByUID(ctx, source, uid)
	if err != nil {
		return nil, err
	}
	find := func(events []calendarsync.Event, original time.Time) int {
		return slices.IndexFunc(events, func(e calendarsync.Event) bool { return e.Original.Equal(original) })
	}
	obsolete := slices.DeleteFunc(slices.Clone(known), func(e calendarsync.Event) bool {
		isOver := !e.End.After(now) && !e.Start.After(now)
		return isOver || e.Organizer != in.Organizer || e.Problem != "" || find(in.Occurrences, e.Original) >= 0
	})
	save := func(before, e calendarsync.Event) error {
		e.UpdatedAt = job.AsStored(now)
		m := &meeting{before: before, Meeting: calendarsync.Meeting{ConsumerID: consumer, UID: uid, Original: e.Original}}
		changed = append(changed, m)
		return tx.SaveEvent(ctx, source, consumer, e)
	}
	for _, e := range in.Occurrences {
		var before calendarsync.Event
		isSameDay := func(o calendarsync.Event) bool {
			zone := calendar.Location(e.Zone)
			return o.Start.In(zone).Format(time.DateOnly) == e.Start.In(zone).Format(time.DateOnly)
		}
		if at := find(known, e.Original); at >= 0 {
			before = known[at]
		} else if at := slices.IndexFunc(obsolete, isSameDay); at >= 0 {
			// The whole series was moved to another time of day, or a meeting became a series.
			before = obsolete[at]
			obsolete = slices.Delete(obsolete, at, at+1)
		}
		switch {
		case before.Facts == e.Facts && before.Original.Equal(e.Original) && before.Reason != reasonQuota:
			continue
		case before.ID == uuid.Nil || !before.Start.Equal(e.Start):
			if admitted, err := in.Admit(ctx, tx, e); err != nil {
				return nil, err
			} else if !admitted {
				continue
			}
		}
		after := before
		after.UID, after.Original, after.Facts, after.Removed = uid, e.Original, e.Facts, false
		if before.ID == uuid.Nil {
			after.ID = job.NewID()
		}
		if err := save(before, after); err != nil {
			return nil, err
		}
	}
	for _, e := range obsolete {
		cancelled := e
		cancelled.Problem = calendarsync.IsCancelled
		if err := save(e, cancelled); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// outcome returns what became of an occurrence.
func (m *meeting) outcome() Outcome {
	at := slices.IndexFunc(m.events, func(e calendarsync.Event) bool { return e.Provider == calendarsync.Mail })
	if at < 0 {
		return Outcome{}
	}
	o := Outcome{JobID: m.decided.jobID, Event: m.events[at]}
	isCancelled := o.Event.Problem != ""
	switch {
	case isCancelled:
		if o.JobID = m.had; o.JobID != uuid.Nil {
			o.Kind = "cancelled"
		}
	case m.decided.reason == reasonQuota:
		o.Kind = string(calendar.FreeTierExhausted)
	case m.decided.reason == reasonCancelledByUser:
		o.Kind = "dismissed"
	case !m.decided.record:
	case m.created || m.before.ID == uuid.Nil || m.before.JobID != o.JobID:
		o.Kind = "scheduled"
	case !m.before.Start.Equal(o.Event.Start):
		o.Kind = "moved"
	case !m.before.End.Equal(o.Event.End) || m.before.MeetingURL != o.Event.MeetingURL || m.before.Title != o.Event.Title:
		o.Kind = "updated"
	}
	return o
}
