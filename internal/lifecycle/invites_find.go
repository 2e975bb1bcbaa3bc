package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/calendarsync"
	"standin/internal/job"
)

// outside reports whether a bot was started that is not in the meeting yet.
func outside(status job.Status) bool {
	return status == job.Dispatching || status == job.Joining || status == job.EnteringLobby
}

// findMoved finds the job of the invite's icalUid at another time that is not yet
// dispatched. If a bot for another time is not in the meeting yet, it leaves.
func (s *inviteTx) findMoved(ctx context.Context) (found bool, err error) {
	tx := s.change.tx
	found, err = s.use(tx.LockUndispatchedByICalUID(ctx, s.consumer, s.invite.EventID()))
	outside := false
	if !found && err == nil {
		found, err = s.use(tx.LockOutsideByICalUID(ctx, s.consumer, s.invite.EventID()))
		outside = found
	}
	if !found || err != nil {
		return false, err
	}
	released, err := s.release(ctx)
	switch {
	case err != nil:
		return false, err
	case released:
		s.change = s.change.service.newChange(tx, job.Record{})
		return false, nil
	case outside:
		return false, s.leave(ctx)
	}
	return true, nil
}

// isOfAnother reports whether the job that was found follows another event.
func (s *inviteTx) isOfAnother() bool {
	uid := s.change.ICalUID
	if s.meeting != nil {
		return uid != "" && uid != s.invite.EventID()
	}
	return uid != "" && s.invite.ICalUID != "" && !s.invite.SameEvent(uid)
}

// release leaves the job that was found to another event whose invite has asked for it
// too, and reports whether there is one.
func (s *inviteTx) release(ctx context.Context) (bool, error) {
	c := s.change
	if s.meeting != nil {
		return false, nil
	}
	others, err := c.tx.OtherJobInvites(ctx, c.ID, s.invite.EventID())
	others = slices.DeleteFunc(others, s.invite.SameEvent)
	if err != nil || len(others) == 0 {
		return false, err
	}
	other := calendar.Invite{MeetingURL: c.MeetingURL, JoinAt: c.JoinAt}
	other.ICalUID, other.RecurrenceID, _ = strings.Cut(others[0], "\n")
	if _, err := c.tx.LockJobByCalendarKey(ctx, s.consumer, other.Key()); !job.ErrorIs(err, job.NotFound) {
		return false, err
	}
	if _, err := c.tx.DeleteJobInvite(ctx, c.ID, s.invite.EventID()); err != nil {
		return false, err
	}
	c.ICalUID, c.CalendarKey = other.EventID(), other.Key()
	return true, c.tx.SaveJobRequest(ctx, c.Record)
}

// join leaves the event to the job that was found, which follows another one. A job of its
// own at another time, whose bot is not in the meeting yet, is cancelled.
func (s *inviteTx) join(ctx context.Context) error {
	shared := s.change
	s.setResult(calendar.Deduped)
	s.change = shared.service.newChange(shared.tx, job.Record{})
	own, err := s.findMoved(ctx)
	if own && err == nil {
		err = s.leave(ctx)
	}
	s.change = shared
	return err
}

// note notes that the invite asks for the job.
func (s *inviteTx) note(ctx context.Context) error {
	if s.change.ID == uuid.Nil || s.result.Dismissed {
		return nil
	}
	return s.change.tx.SaveJobInvite(ctx, s.consumer, s.change.ID, s.invite.EventID(), cmp.Or(s.invite.Source, calendar.FromIntake))
}

// markOthers notes the meetings of connected calendars that had a job which an invite has
// changed. Other calendars of the same event follow when they are read.
func (s *inviteTx) markOthers(ctx context.Context, jobID uuid.UUID) error {
	if s.meeting != nil { // which does the same
		return nil
	}
	others, err := s.change.tx.MarkOtherEvents(ctx, calendarsync.Meeting{ConsumerID: s.consumer, UID: s.invite.ICalUID}, jobID)
	for _, m := range others {
		if m.UID != s.invite.ICalUID {
			s.others = append(s.others, m)
		}
	}
	return err
}

// findDismissed finds the job of the invite's event that the consumer has cancelled.
func (s *inviteTx) findDismissed(ctx context.Context) (found bool, err error) {
	none := *s.change
	found, err = s.use(s.change.tx.LockCancelledByICalUID(ctx, s.consumer, s.invite.EventID()))
	if !found || err != nil {
		return false, err
	}
	if s.meeting != nil || s.invite.RecurrenceID != "" || !s.change.JoinAt.Add(dismissal).Before(s.change.Now) {
		if found, err = s.dismissed(ctx); found || err != nil {
			return found, err
		}
	}
	s.change = &none
	return false, nil
}

// dismissed reports whether the consumer has cancelled the job that was found. The job
// then follows the event.
func (s *inviteTx) dismissed(ctx context.Context) (bool, error) {
	c := s.change
	if s.meeting != nil && s.meeting.again {
		return false, nil
	}
	byConsumer, err := c.tx.CancelledByConsumer(ctx, c.ID)
	if !byConsumer || err != nil {
		return false, err
	}
	s.setResult(calendar.Deduped)
	s.result.Dismissed = true
	if key := s.invite.Key(); c.CalendarKey != "" && s.invite.ICalUID != "" && c.CalendarKey != key {
		c.ICalUID, c.CalendarKey, c.JoinAt = s.invite.EventID(), key, s.invite.JoinAt
		if err := c.saveRequest(ctx, byInvite, []string{"joinAt"}); err != nil {
			return false, err
		}
		return true, c.tx.SaveJob(ctx, c.Record)
	}
	return true, nil
}

// find looks for the job that this invite, or another one for the same meeting,
// created before.
func (s *inviteTx) find(ctx context.Context) (bool, error) {
	if s.meeting != nil {
		found, err := s.use(s.change.tx.LockOpenJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt))
		if found || err != nil {
			return found, err
		}
	}
	r, err := s.change.tx.LockJobByCalendarKey(ctx, s.consumer, s.invite.Key())
	if job.ErrorIs(err, job.NotFound) {
		r, err = s.change.tx.LockJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt, false)
		if err == nil && !s.matches(r) {
			if r, err = s.change.tx.LockOpenJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt); job.ErrorIs(err, job.NotFound) {
				r, err = s.change.tx.LockJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt, true)
			}
		}
	}
	return s.use(r, err)
}

// matches reports whether a job for the same meeting at the same time may be for the
// event of the invite, also if it has ended: one of both has no icalUid, or only one has
// the recurrenceId. A connected calendar asks for no second bot, whatever the first one
// was for.
func (s *inviteTx) matches(r job.Record) bool {
	event := s.invite.EventID()
	return s.meeting != nil || event == "" || r.ICalUID == "" || r.ICalUID != event && s.invite.SameEvent(r.ICalUID)
}

// use makes a job that was found the one to change.
func (s *inviteTx) use(r job.Record, err error) (bool, error) {
	if job.ErrorIs(err, job.NotFound) {
		return false, nil
	}
	s.change.Record, s.change.before = r, r
	return err == nil, err
}
