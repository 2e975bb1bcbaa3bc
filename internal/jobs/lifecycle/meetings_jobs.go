package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// decision is what became of a meeting.
type decision struct {
	record bool
	reason string // instead of that of calendarsync.Decide, if not empty
	jobID  uuid.UUID
}

// reasonCancelledByUser is the reason of a bot that a person has sent away.
const reasonCancelledByUser = "not recorded: its bot was cancelled"

// schedule finds, moves or creates the job of an event.
func (s *meetingSync) schedule(ctx context.Context, e calendarsync.Event) (decision, error) {
	c, err := s.tx.Calendar(ctx, account.Caller{ConsumerID: s.ConsumerID, Mode: job.Live}, e.CalendarID)
	if err != nil {
		return decision{}, err
	}
	s.options = c.Job
	invite := calendar.Invite{
		OrganizerEmail: e.Organizer, Subject: e.Title, MeetingURL: e.MeetingURL, Platform: e.Platform, JoinAt: e.Start, EndsAt: e.End,
		ICalUID: e.Key,
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
	if before := t.change.before; before.ID != uuid.Nil &&
		(!before.JoinAt.Equal(t.change.JoinAt) || before.MeetingURL != t.change.MeetingURL) {
		s.moved = true
		if err := s.markOthers(ctx, before.ID); err != nil {
			return decision{}, err
		}
	}
	switch {
	case t.result.Dismissed:
		return decision{false, reasonCancelledByUser, t.change.ID}, nil
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

// cancel cancels the jobs of a meeting's events but the one that was decided on: those
// that a calendar has created, and if the event was switched off or is gone, those of
// invites. If the meeting was moved, a bot that is in it stays.
func (s *meetingSync) cancel(ctx context.Context, events []calendarsync.Event, newest calendarsync.Event, decided decision,
	off, gone bool) error {
	jobs, err := s.jobsOf(ctx, events, off || gone)
	if err != nil {
		return err
	}
	event := calendar.Invite{ICalUID: events[0].Key}
	for _, r := range jobs {
		own := r.ICalUID == event.ICalUID && strings.HasPrefix(r.ExternalID, calendarJob)
		invited := strings.HasPrefix(r.ExternalID, inviteJob) && (off || gone && r.ICalUID == event.ICalUID)
		if r.ID == decided.jobID || !own && !invited || r.Status.Terminal() || decided.record && !undispatched(r.Status) && !outside(r.Status) {
			continue
		}
		c := s.service.newChange(s.tx, r)
		if !off {
			isMoved := newest.ID != uuid.Nil && !r.JoinAt.Equal(newest.Start)
			kept, err := s.keep(ctx, c, event, gone || isMoved || decided.record)
			if err != nil {
				return err
			}
			if kept {
				continue
			}
		}
		var data any = map[string]string{"by": byCalendar}
		if off {
			data = nil // a person has sent it away
		}
		if err := c.cancel(ctx, data); err != nil {
			return err
		}
		if err := c.save(ctx); err != nil {
			return err
		}
		s.changes = append(s.changes, c)
		if err := s.markOthers(ctx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// jobsOf returns the jobs of a meeting's events. With all, it also finds those that the
// events are not known to have.
func (s *meetingSync) jobsOf(ctx context.Context, events []calendarsync.Event, all bool) (jobs []job.Record, err error) {
	add := func(r job.Record, err error) error {
		if err == nil && !slices.ContainsFunc(jobs, func(known job.Record) bool { return known.ID == r.ID }) {
			jobs = append(jobs, r)
		}
		if job.ErrorIs(err, job.NotFound) { // such as an erased job
			return nil
		}
		return err
	}
	for _, e := range events {
		if e.JobID != uuid.Nil {
			err = errors.Join(err, add(s.tx.LockJob(ctx, e.JobID)))
		}
		if all {
			err = errors.Join(err, add(s.tx.LockJobByICalUID(ctx, s.ConsumerID, e.Key)))
		}
		if all && e.MeetingURL != "" {
			err = errors.Join(err, add(s.tx.LockOpenJobByMeeting(ctx, s.ConsumerID, e.MeetingURL, e.Start)))
		}
	}
	return jobs, err
}

// keep reports whether the job of a calendar's event stays because an invite asks for it:
// one for the same event, unless that is gone from its time, or for another one, which the
// job then follows.
func (s *meetingSync) keep(ctx context.Context, c *Change, event calendar.Invite, gone bool) (bool, error) {
	invites, err := s.tx.JobInvites(ctx, c.ID)
	if err != nil {
		return false, err
	}
	if !gone && slices.ContainsFunc(invites, event.SameEvent) {
		return true, nil
	}
	return c.follow(ctx, slices.DeleteFunc(invites, event.SameEvent))
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
	r.Webhooks = s.options.Webhooks
	r.Options = s.options.Or(r.Options)
}
