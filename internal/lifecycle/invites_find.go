package lifecycle

import (
	"context"

	"standin/internal/calendar"
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
	if found || err != nil {
		return found, err
	}
	if found, err = s.use(tx.LockOutsideByICalUID(ctx, s.consumer, s.invite.EventID())); !found || err != nil {
		return false, err
	}
	return false, s.leave(ctx)
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
			r, err = s.change.tx.LockJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt, true)
		}
	}
	return s.use(r, err)
}

// matches reports whether a job for the same meeting at the same time may be for the
// event of the invite: one of both has no icalUid, or only one has the recurrenceId. A
// connected calendar sends no second bot into a meeting, whatever the first one is for.
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
