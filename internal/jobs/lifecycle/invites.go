package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Plans returns the plans that consumers have paid for.
type Plans interface {
	ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (billing.Plan, error)
}

// InviteScheduler creates jobs from calendar invites (operation intakeInvite of
// api/openapi.yaml). Its methods may be called from any goroutine.
type InviteScheduler struct {
	Jobs  *Service
	Plans Plans

	// FreeTierJobs is how many jobs invites may create in a calendar month (UTC)
	// for a consumer without an active plan; 0 is no limit.
	FreeTierJobs int

	// WebhookSecret is given to new consumers; each gets its own when empty.
	WebhookSecret string
}

// inviteJob begins the externalId of the jobs that invites create.
const inviteJob = "calendar-invite:"

// pastInvite is how long after the time of an invite its job's timeline records
// that the time had passed.
const pastInvite = 15 * time.Minute

// dismissal is how long after the time of a job that its consumer has cancelled a moved
// event without a recurrenceId gets no bot.
const dismissal = time.Hour

// Schedule creates the job that an invite asks for, or finds an existing one.
// The job belongs to the consumer with the organizer's e-mail address, which is
// created if necessary.
//
// An invite is identified by its event and time, or without an icalUid by its
// meeting and time. An event is an icalUid, with the recurrenceId of an occurrence. A job
// of the consumer for the same meeting at the same time
// matches too; if both have an icalUid and the events differ, only until it has ended. An
// event at another time moves the job that is not yet dispatched, or creates a new one if
// there is none. An invite with another address or subject changes a job that is not yet
// dispatched. Everything else about the job stays, including the rest of its metadata,
// which the consumer may have changed.
//
// A bot that was started for the old time or address, and is not in the meeting yet,
// leaves: its job is cancelled, and a new one is created. A new one is also created if
// the job has failed and the invite comes with another address.
//
// An invite whose job was cancelled by an invite is scheduled anew. Nothing is scheduled
// if the consumer has cancelled the job: it stays cancelled, and follows the event to its
// new time, so that no later invite of the event brings the bot back. An event without a
// recurrenceId may be the next one of a series once the time of the job has passed. An
// invite whose time has passed is scheduled too, and the timeline of its job records that.
//
// Jobs created by invites are live. Their externalId is "calendar-invite:" and
// the job's ID, and their metadata holds subject, organizerEmail and, if present,
// icalUid. When the free tier is exhausted, the job is saved as failed with
// quota_exceeded. The same invite is scheduled when it comes again with a plan or
// in another month.
//
// A cancelled invite cancels the job that an invite created: the one with its
// icalUid and time, or else the one with its icalUid that is not yet dispatched. A
// running bot leaves. If there is no such job, Schedule returns a *job.Error with
// NotFound.
//
// Invites of different events to one meeting at one time ask for one job, which follows
// one of them. If that event is moved or cancelled, the job stays for another one.
//
// An invite that cannot be used is a *job.Error with InvalidInput.
func (i *InviteScheduler) Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	invite, err := invite.Normal()
	if err != nil {
		return calendar.Result{}, err
	}
	if invite.Cancelled {
		return i.cancel(ctx, invite)
	}
	consumer, err := i.consumer(ctx, invite.OrganizerEmail)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("find or create the consumer of an invite: %w", err)
	}
	limit, err := i.monthlyLimit(ctx, consumer.ID)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("find the plan of an invite's consumer: %w", err)
	}
	var s *inviteTx
	err = i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		s = &inviteTx{consumer: consumer.ID, invite: invite, limit: limit, change: i.Jobs.newChange(tx, job.Record{})}
		if err := s.run(ctx); err != nil {
			return err
		}
		if err := s.recordInvite(ctx); err != nil {
			return err
		}
		return s.markEvents(ctx)
	})
	if err != nil {
		return calendar.Result{}, fmt.Errorf("schedule an invite: %w", err)
	}
	if s.left != nil {
		i.Jobs.publish(ctx, s.left)
	}
	i.Jobs.publish(ctx, s.change)
	return s.result, i.SyncMeetings(ctx, s.others)
}

// cancel cancels the job of an invite.
func (i *InviteScheduler) cancel(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	var s *inviteTx
	err := i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		consumer, err := tx.ConsumerByEmail(ctx, invite.OrganizerEmail)
		if err != nil {
			return err
		}
		s = &inviteTx{consumer: consumer.ID, invite: invite, change: i.Jobs.newChange(tx, job.Record{})}
		if err := s.cancel(ctx); err != nil {
			return err
		}
		return s.markEvents(ctx)
	})
	if job.ErrorIs(err, job.NotFound) {
		return calendar.Result{}, job.NewError(job.NotFound, "no calendar invite has created a job for this meeting")
	}
	if err != nil {
		return calendar.Result{}, fmt.Errorf("cancel an invite: %w", err)
	}
	i.Jobs.publish(ctx, s.change)
	return s.result, i.SyncMeetings(ctx, s.others)
}

// consumer returns the consumer with the e-mail address, created if necessary.
// The name of a new one is its address.
func (i *InviteScheduler) consumer(ctx context.Context, email string) (consumer account.Consumer, err error) {
	err = i.Jobs.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		consumer, err = tx.EnsureConsumerByEmail(ctx, account.Consumer{
			ID: uuid.Must(uuid.NewV7()), Name: email, Email: email,
			WebhookSecret: cmp.Or(i.WebhookSecret, webhook.NewSecret()), WebhookVersion: webhook.Version2, CreatedAt: i.Jobs.Now(),
		})
		return err
	})
	return consumer, err
}

// monthlyLimit returns how many jobs invites may create for the consumer in a
// month; 0 is no limit.
func (i *InviteScheduler) monthlyLimit(ctx context.Context, consumer uuid.UUID) (int, error) {
	if i.FreeTierJobs == 0 {
		return 0, nil
	}
	plan, err := i.Plans.ConsumerPlan(ctx, consumer)
	if err != nil || plan.Active() {
		return 0, err
	}
	return i.FreeTierJobs, nil
}

// inviteTx schedules one invite within a transaction.
type inviteTx struct {
	consumer uuid.UUID
	invite   calendar.Invite
	limit    int          // of jobs in a month; 0 is no limit
	meeting  *meetingSync // that the invite is for; nil for other invites

	change *Change // of the job that is found or created
	left   *Change // of the job that the created one replaces; nil without one
	result calendar.Result
	others []calendarsync.Meeting // of connected calendars, to sync after the commit
}

// by returns who changes jobs, as the timeline names it.
func (s *inviteTx) by() string {
	if s.meeting != nil {
		return byCalendar
	}
	return byInvite
}

// run finds or creates the job.
func (s *inviteTx) run(ctx context.Context) error {
	// One invite of a consumer at a time: two could otherwise both be the last
	// of the free tier.
	if err := s.change.tx.LockConsumer(ctx, s.consumer); err != nil {
		return err
	}
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	if found && s.isShared() {
		return s.join(ctx)
	}
	allowed, err := s.withinLimit(ctx)
	if err != nil {
		return err
	}
	if found && s.change.Status == job.Cancelled {
		dismissed, err := s.dismissed(ctx)
		if dismissed || err != nil {
			return err
		}
		if err := s.detachCancelled(ctx); err != nil {
			return err
		}
		found = false
	}
	if found && s.change.FailureCode == job.QuotaExceeded {
		if !allowed {
			s.setResult(calendar.FreeTierExhausted)
			return nil
		}
		// Another job can have the invite.
		s.change.ICalUID, s.change.CalendarKey = "", ""
		if err := s.change.tx.SaveJobRequest(ctx, s.change.Record); err != nil {
			return err
		}
		found = false
	}
	if found && s.replaces() {
		if err := s.leave(ctx); err != nil {
			return err
		}
		return s.create(ctx, allowed)
	}
	if !found && s.invite.ICalUID != "" {
		if found, err = s.findMoved(ctx); err != nil {
			return err
		}
	}
	if !found && s.left == nil && s.invite.ICalUID != "" {
		if dismissed, err := s.findDismissed(ctx); dismissed || err != nil {
			return err
		}
	}
	if found {
		return s.update(ctx)
	}
	return s.create(ctx, allowed)
}

// replaces reports whether the invite corrects the address of the job that was found,
// which has failed, or whose bot is not in the meeting yet.
func (s *inviteTx) replaces() bool {
	c, address := s.change, s.invite.MeetingURL
	another := meetinglink.Key(c.MeetingURL) != meetinglink.Key(address) || meetinglink.Passcode(c.MeetingURL) != meetinglink.Passcode(address)
	return another && c.CalendarKey == s.invite.Key() && (c.Status == job.Failed || outside(c.Status))
}

// leave cancels the job that was found, unless it has ended, and takes the invite from
// it, so that a new job can have it. The job keeps a key and so continues to count for
// the free tier.
func (s *inviteTx) leave(ctx context.Context) error {
	c := s.change
	s.left, s.change = c, c.service.newChange(c.tx, job.Record{})
	c.CalendarKey = "replaced " + c.ID.String()
	if err := c.tx.SaveJobRequest(ctx, c.Record); err != nil {
		return err
	}
	if err := c.cancel(ctx, map[string]string{"by": s.by()}); err != nil {
		return err
	}
	return c.save(ctx)
}

// cancel finds and cancels the job.
func (s *inviteTx) cancel(ctx context.Context) error {
	c := s.change
	if err := c.tx.LockConsumer(ctx, s.consumer); err != nil {
		return err
	}
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	if found && s.isOfAnother() {
		if asked, err := c.tx.DeleteJobInvite(ctx, c.ID, s.invite.EventID()); asked || err != nil {
			s.setResult(calendar.Deduped)
			return err
		}
		found = false
	}
	if (!found || c.CalendarKey == "") && s.invite.ICalUID != "" {
		found, err = s.use(c.tx.LockJobAheadByICalUID(ctx, s.consumer, s.invite.EventID()))
	}
	if err != nil {
		return err
	}
	if !found || c.CalendarKey == "" { // none, or the consumer's own job
		return job.NewError(job.NotFound, "no such job")
	}
	s.setResult(calendar.Deduped)
	if released, err := s.release(ctx); released || err != nil {
		return err
	}
	if err := c.cancel(ctx, map[string]string{"by": s.by()}); err != nil {
		return err
	}
	if err := c.save(ctx); err != nil {
		return err
	}
	return s.markOthers(ctx, c.ID)
}

// withinLimit reports whether the free tier allows one more job.
func (s *inviteTx) withinLimit(ctx context.Context) (bool, error) {
	if s.limit == 0 {
		return true, nil
	}
	now := s.change.Now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	count, err := s.change.tx.CountCalendarJobs(ctx, s.consumer, month, month.AddDate(0, 1, 0))
	return count < s.limit, err
}

// detachCancelled removes the invite from a cancelled job, so that a new job can
// have it. The job keeps a key and so continues to count for the free tier.
func (s *inviteTx) detachCancelled(ctx context.Context) error {
	c := s.change
	if c.CalendarKey != s.invite.Key() {
		return nil // the consumer's own job, or another invite's
	}
	c.CalendarKey = "cancelled " + c.ID.String()
	return c.tx.SaveJobRequest(ctx, c.Record)
}
