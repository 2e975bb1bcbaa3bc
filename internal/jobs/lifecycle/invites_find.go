package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// outside reports whether a bot was started that is not in the meeting yet.
func outside(status job.Status) bool {
	return status == job.Dispatching || status == job.Joining || status == job.EnteringLobby
}

// findMoved finds the job of the invite's icalUid at another time that is not yet
// dispatched. If a bot for another time is not in the meeting yet, it leaves.
func (s *inviteTx) findMoved(ctx context.Context) (found bool, err error) {
	tx := s.change.tx
	found, err = s.use(tx.LockJobAheadByICalUID(ctx, s.consumer, s.invite.EventID()))
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
	case outside(s.change.Status):
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

// isShared reports whether the invite leaves the job that was found as it is: it follows
// another event, or is the consumer's own.
func (s *inviteTx) isShared() bool {
	own := s.change.CalendarKey == "" && s.invite.ICalUID != "" && !s.change.Status.Terminal()
	return s.meeting == nil && (own || s.isOfAnother())
}

// release leaves the job that was found to another event whose invite has asked for it
// too, and reports whether there is one.
func (s *inviteTx) release(ctx context.Context) (bool, error) {
	c := s.change
	if s.meeting != nil {
		return false, nil
	}
	others, err := c.tx.JobInvites(ctx, c.ID)
	if err != nil {
		return false, err
	}
	released, err := c.follow(ctx, slices.DeleteFunc(others, s.invite.SameEvent))
	if !released || err != nil {
		return false, err
	}
	_, err = c.tx.DeleteJobInvite(ctx, c.ID, s.invite.EventID())
	return true, err
}

// follow makes the job follow the first of some events, by their IDs. It reports false if
// there is none, or if that has a job.
func (c *Change) follow(ctx context.Context, events []string) (bool, error) {
	if len(events) == 0 {
		return false, nil
	}
	other := calendar.Invite{MeetingURL: c.MeetingURL, JoinAt: c.JoinAt}
	other.ICalUID, other.RecurrenceID, _ = strings.Cut(events[0], "\n")
	if _, err := c.tx.LockJobByCalendarKey(ctx, c.ConsumerID, other.Key()); !job.ErrorIs(err, job.NotFound) {
		return false, err
	}
	c.ICalUID, c.CalendarKey = other.EventID(), other.Key()
	return true, c.tx.SaveJobRequest(ctx, c.Record)
}

// join leaves the event to the shared job that was found. A job of its own at another time
// or address, whose bot is not in the meeting yet, is cancelled.
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

// recordInvite notes that the invite asks for the job.
func (s *inviteTx) recordInvite(ctx context.Context) error {
	if s.change.ID == uuid.Nil || s.result.Dismissed {
		return nil
	}
	return s.change.tx.SaveJobInvite(ctx, s.consumer, s.change.ID, s.invite.EventID(), cmp.Or(s.invite.Source, calendar.FromIntake))
}

// markOthers notes the meetings of connected calendars that had a job which an invite has
// changed.
func (s *inviteTx) markOthers(ctx context.Context, jobID uuid.UUID) error {
	if s.meeting != nil { // which does the same
		return nil
	}
	others, err := s.change.tx.MarkOtherEvents(ctx, calendarsync.Meeting{ConsumerID: s.consumer}, jobID)
	s.others = append(s.others, others...)
	return err
}

// markEvents notes the meetings of connected calendars that are the invite's event.
func (s *inviteTx) markEvents(ctx context.Context) error {
	uid, _ := s.invite.Event()
	if uid == "" {
		return nil
	}
	found, err := s.change.tx.MarkEvents(ctx, s.consumer, uid, s.invite.EventID())
	for _, m := range found {
		if !slices.Contains(s.others, m) {
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
	if _, occurrence := s.invite.Event(); s.meeting != nil || occurrence != "" || !s.change.JoinAt.Add(dismissal).Before(s.change.Now) {
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
		if err := c.saveRequest(ctx, s.by(), []string{"joinAt"}); err != nil {
			return false, err
		}
		return true, c.save(ctx)
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
	if err == nil && meetinglink.Key(r.MeetingURL) != meetinglink.Key(s.invite.MeetingURL) {
		if found, err := s.use(s.change.tx.LockOpenJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt)); found || err != nil {
			return found, err // the meeting to which the event was moved
		}
	}
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
