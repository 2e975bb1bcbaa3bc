package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/meetinglink"
	"standin/internal/base/text"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

const (
	// anonymous begins the UID of an invite without one: its meeting and time follow.
	anonymous = "meeting:"
	maxUID    = 1000 // bytes
	maxTitle  = 10_000

	// dismissal is how long after the time of an event without a recurrenceId whose bot its consumer has
	// cancelled another time moves it. Later, that is the next event of a series.
	dismissal = time.Hour
)

// Schedule saves what an invite says, and finds, moves, creates or cancels the job of its event. The
// event belongs to the consumer with the organizer's e-mail address, which is created if necessary.
//
// An event is an icalUid with the recurrenceId of an occurrence. Without a recurrenceId, it is the one at
// that time, or else the one whose bot is not in its meeting yet, which is moved; without an icalUid, it is
// its meeting and time. What an invite said last counts, also against connected calendars, until these
// have something newer.
//
// Jobs created by invites are live. Their externalId is "calendar-invite:" and
// the job's ID, and their metadata holds subject, organizerEmail and, if present,
// icalUid and recurrenceId. When the free tier is exhausted, the job is saved as failed with
// quota_exceeded. The same invite is scheduled when it comes again with a plan or
// in another month. An invite whose time has passed is scheduled too, and the timeline of its job records
// that.
//
// An invite that cannot be used is a *job.Error with InvalidInput, and a cancellation of an event that is
// not known one with NotFound.
func (i *EventScheduler) Schedule(ctx context.Context, invite calendar.Invite) (result calendar.Result, err error) {
	invite, err = invite.Normal()
	if err != nil {
		return result, err
	}
	consumer, err := i.consumer(ctx, invite.OrganizerEmail, !invite.Cancelled)
	if err != nil {
		return result, err
	}
	settled, err := i.settle(ctx, consumer.ID, func(ctx context.Context, tx *store.Tx) ([]*meeting, error) {
		m, err := saveInvite(ctx, tx, consumer.ID, invite, i.Jobs.Now())
		return []*meeting{m}, err
	}, nil)
	switch {
	case job.IsNotFound(err) && invite.Cancelled:
		return result, errNoEvent
	case err != nil:
		return result, err
	}
	m := settled[0]
	result = calendar.Result{Kind: calendar.Deduped, JobID: m.decided.jobID, ConsumerID: consumer.ID}
	switch {
	case m.created:
		result.Kind = calendar.Scheduled
	case m.decided.reason == reasonQuota:
		result.Kind = calendar.FreeTierExhausted
	case invite.Cancelled && m.had == uuid.Nil:
		return result, errNoEvent
	case invite.Cancelled:
		result.JobID = m.had
	case !m.decided.record:
		result.Dismissed = true
		if result.JobID == uuid.Nil {
			result.JobID = m.had
		}
	}
	return result, nil
}

// errNoEvent is the error for the cancellation of an event that is not known.
var errNoEvent = job.NewError(job.NotFound, "no calendar invite has created a job for this meeting")

// consumer returns the consumer of an organizer, which is created if that is wanted: the
// name of a new one is its address.
func (i *EventScheduler) consumer(ctx context.Context, organizer string, create bool) (consumer account.Consumer, err error) {
	if !create {
		consumer, err = i.Jobs.Store.ConsumerByEmail(ctx, organizer)
		if job.IsNotFound(err) {
			err = errNoEvent
		}
		return consumer, err
	}
	err = i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		consumer, err = tx.EnsureConsumerByEmail(ctx, account.Consumer{
			ID: job.NewID(), Name: organizer, Email: organizer,
			WebhookSecret: cmp.Or(i.WebhookSecret, webhook.NewSecret()), WebhookVersion: webhook.Version2, CreatedAt: i.Jobs.Now(),
		})
		return err
	})
	return consumer, err
}

// saveInvite saves what an invite says about its event, and returns its meeting.
func saveInvite(ctx context.Context, tx *store.Tx, consumer uuid.UUID, invite calendar.Invite, now time.Time) (*meeting, error) {
	source, err := tx.Invitations(ctx, consumer, calendarsync.Intake, now)
	if err != nil {
		return nil, err
	}
	e, adopted, err := eventOf(ctx, tx, source, invite, now)
	if err != nil {
		return nil, err
	}
	m := &meeting{Meeting: calendarsync.Meeting{ConsumerID: consumer, UID: e.UID, Original: e.Original}, asked: true}
	facts := calendarsync.Facts{
		Sequence: calendarsync.Unversioned, Title: text.CleanLine(invite.Subject, maxTitle), Organizer: invite.OrganizerEmail,
		Start: invite.JoinAt, End: job.Latest(job.AsStored(invite.EndsAt), invite.JoinAt), MeetingURL: invite.MeetingURL,
		Platform: invite.Platform, ByRules: calendarsync.Invited,
	}
	if invite.Subject == calendar.NoSubject {
		facts.Title = ""
	}
	if invite.Cancelled {
		if e.ID != uuid.Nil {
			facts = e.Facts
		}
		facts.Problem = calendarsync.IsCancelled
	}
	if e.ID == uuid.Nil {
		e.ID = job.NewID()
		if known, err := tx.MeetingEvents(ctx, m.Meeting); invite.Cancelled && len(known) == 0 || err != nil {
			return nil, cmp.Or(err, error(errNoEvent))
		}
	} else if facts == e.Facts && !e.Removed && !adopted {
		return m, nil
	}
	e.Facts, e.UpdatedAt, e.Removed = facts, job.AsStored(now), false
	return m, tx.SaveEvent(ctx, source, consumer, e)
}

// eventOf returns the event of an invite as it is known from a source; without an ID if it is not. It reports
// whether the invite has told its UID or its occurrence.
func eventOf(ctx context.Context, tx *store.Tx, source uuid.UUID, invite calendar.Invite,
	now time.Time) (found calendarsync.Event, adopted bool, err error) {
	uid, original := identityOf(invite)
	var known []calendarsync.Event
	if uid != "" {
		if known, err = tx.EventsByUID(ctx, source, uid); err != nil {
			return calendarsync.Event{}, false, err
		}
	}
	var ahead, other calendarsync.Event
	for _, e := range known {
		switch {
		case !original.IsZero() && (e.Original.Equal(original) ||
			e.Original.IsZero() && (e.Start.Equal(invite.JoinAt) || e.Start.Equal(original))):
			adopted = e.Original.IsZero()
			e.Original = original
			return e, adopted, nil
		case original.IsZero() && e.Start.Equal(invite.JoinAt):
			return e, false, nil
		case e.Job == "" || undispatched(e.Job) || outside(e.Job) || e.Job == job.Cancelled && !e.Start.Add(dismissal).Before(now):
			ahead = e
		}
		other = e
	}
	if original.IsZero() && ahead.ID != uuid.Nil {
		return ahead, false, nil
	}
	if original.IsZero() && other.ID != uuid.Nil { // the next event of a series
		original = invite.JoinAt
	}
	// An invite for the same meeting and time may lack the UID.
	atThatTime, err := tx.EventsAt(ctx, source, invite.JoinAt)
	for _, e := range atThatTime {
		isSame := meetinglink.Key(e.MeetingURL) == meetinglink.Key(invite.MeetingURL)
		switch {
		case !isSame || uid != "" && !strings.HasPrefix(e.UID, anonymous):
		case uid == "":
			return e, false, err
		default:
			e.UID, e.Original = uid, original
			return e, true, err
		}
	}
	if uid == "" {
		uid = anonymous + meetinglink.Key(invite.MeetingURL)
		original = invite.JoinAt
	}
	return calendarsync.Event{UID: uid, Original: original}, false, err
}

// identityOf returns the UID of an invite as it is stored, and when its occurrence originally started;
// zero if it does not say so.
func identityOf(invite calendar.Invite) (uid string, original time.Time) {
	uid = invite.ICalUID
	for _, layout := range []string{calendar.OriginalLayout, time.RFC3339} {
		if at, err := time.Parse(layout, invite.RecurrenceID); err == nil && uid != "" {
			return cleanUID(uid), job.AsStored(at)
		}
	}
	if uid != "" && invite.RecurrenceID != "" {
		uid += " " + invite.RecurrenceID
	}
	return cleanUID(uid), original
}

// cleanUID returns a UID as it is stored.
func cleanUID(uid string) string {
	if uid = text.CleanLine(uid, len(uid)); len(uid) > maxUID {
		uid = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(uid)))
	}
	return uid
}
