package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar"
	"standin/internal/job"
	"standin/internal/payment"
	"standin/internal/store"
	"standin/internal/webhook"
)

// Plans tells what consumers have paid for.
type Plans interface {
	ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (payment.Plan, error)
}

// Intake makes jobs from calendar invites (specification, POST
// /api/v1/intake/calendar-invite; contract, Accounts). Its methods may be
// called from any goroutine.
type InviteScheduler struct {
	Jobs  *Service
	Plans Plans

	// FreeTierJobs is how many jobs invites may make in a calendar month (UTC)
	// for a consumer without an active plan; 0 is no bound.
	FreeTierJobs int

	// WebhookSecret is given to new consumers; each gets its own when empty.
	WebhookSecret string
}

// Schedule makes the job that an invite asks for, or finds the one that an
// invite before made. The job belongs to the consumer with the organizer's
// e-mail, who is made when there is none.
//
// An invite is known again by its icalUid and time, or without an icalUid by
// its meeting and time; a job of the consumer's that goes to the same meeting
// at the same time is the invite's too, unless both have an icalUid and these
// differ. An icalUid at another time moves the job that is not yet dispatched,
// and makes a new one when there is none. An invite that says another address
// for a job that is not yet dispatched changes it. What else the job is, its
// metadata above all, stays as it was: the consumer may have changed it.
//
// Jobs made by invites are live, have the externalId "calendar-invite:" and
// their own id, and metadata of subject, organizerEmail and, when there is
// one, icalUid. With the free tier spent the job is kept as failed with
// quota_exceeded; the same invite is scheduled after all when it comes again
// with a plan or in another month.
//
// An invite that cannot be used gives a *job.Error with InvalidInput.
func (i *InviteScheduler) Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	invite, err := invite.Normal()
	if err != nil {
		return calendar.Result{}, err
	}
	consumer, err := i.consumer(ctx, invite.OrganizerEmail)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("find or make the consumer of an invite: %w", err)
	}
	bound, err := i.bound(ctx, consumer.ID)
	if err != nil {
		return calendar.Result{}, fmt.Errorf("find the plan of an invite's consumer: %w", err)
	}
	var turn *scheduling
	err = i.Jobs.store.Write(ctx, func(q *store.Queries) error {
		turn = newScheduling(i.Jobs, q, consumer.ID, invite, bound)
		return turn.run(ctx)
	})
	if err != nil {
		return calendar.Result{}, fmt.Errorf("schedule an invite: %w", err)
	}
	i.Jobs.announce(turn.change)
	return turn.result, nil
}

// consumer returns the consumer with the e-mail, made when there is none. A
// new one has its e-mail for a name.
func (i *InviteScheduler) consumer(ctx context.Context, email string) (consumer account.Consumer, err error) {
	secret := i.WebhookSecret
	if secret == "" {
		secret = webhook.NewSecret()
	}
	err = i.Jobs.store.Write(ctx, func(q *store.Queries) (err error) {
		consumer, err = q.EnsureConsumerByEmail(ctx, account.Consumer{
			ID: uuid.Must(uuid.NewV7()), Name: email, Email: email,
			WebhookSecret: secret, WebhookVersion: webhook.Version2, CreatedAt: i.Jobs.now(),
		})
		return err
	})
	return consumer, err
}

// bound is how many jobs invites may make for the consumer in a month; 0 is no
// bound.
func (i *InviteScheduler) bound(ctx context.Context, consumer uuid.UUID) (int, error) {
	if i.FreeTierJobs == 0 {
		return 0, nil
	}
	plan, err := i.Plans.ConsumerPlan(ctx, consumer)
	if err != nil || plan.Active() {
		return 0, err
	}
	return i.FreeTierJobs, nil
}

// scheduling is one invite on its way to its job, within one transaction.
type scheduling struct {
	jobs     *Service
	consumer uuid.UUID
	invite   calendar.Invite
	bound    int

	change Change // of the job that is found or made
	result calendar.Result
}

func newScheduling(jobs *Service, q *store.Queries, consumer uuid.UUID, invite calendar.Invite, bound int) *scheduling {
	return &scheduling{
		jobs: jobs, consumer: consumer, invite: invite, bound: bound,
		change: Change{Now: jobs.now(), q: q},
	}
}

// run finds or makes the job.
func (s *scheduling) run(ctx context.Context) error {
	// One invite of a consumer's at a time: two could otherwise both be the
	// last of the free tier.
	if err := s.change.q.LockConsumer(ctx, s.consumer); err != nil {
		return err
	}
	found, err := s.find(ctx)
	if err != nil {
		return err
	}
	within, err := s.withinBound(ctx)
	if err != nil {
		return err
	}
	if found && s.change.FailureCode == job.QuotaExceeded {
		if !within {
			return s.answer(calendar.FreeTierExhausted)
		}
		if err := s.forget(ctx); err != nil {
			return err
		}
		found = false
	}
	if !found {
		found, err = s.findToMove(ctx)
		if err != nil {
			return err
		}
	}
	if found {
		return s.adopt(ctx)
	}
	return s.make(ctx, within)
}

// find looks for the job that the invite, or one that asks for the same,
// made before.
func (s *scheduling) find(ctx context.Context) (bool, error) {
	r, err := s.change.q.LockJobByCalendarKey(ctx, s.consumer, s.invite.Key())
	if job.ErrorIs(err, job.NotFound) {
		anonymous := s.invite.ICalUID != "" // a job with another icalUid is for another event
		r, err = s.change.q.LockJobByMeeting(ctx, s.consumer, s.invite.MeetingURL, s.invite.JoinAt, anonymous)
	}
	return s.take(r, err)
}

// findToMove looks for the job of the same icalUid at another time.
func (s *scheduling) findToMove(ctx context.Context) (bool, error) {
	if s.invite.ICalUID == "" {
		return false, nil
	}
	return s.take(s.change.q.LockUndispatchedByICalUID(ctx, s.consumer, s.invite.ICalUID))
}

func (s *scheduling) take(r job.Record, err error) (bool, error) {
	if job.ErrorIs(err, job.NotFound) {
		return false, nil
	}
	s.change.Record = r
	return err == nil, err
}

// withinBound reports whether the free tier has room for one more job.
func (s *scheduling) withinBound(ctx context.Context) (bool, error) {
	if s.bound == 0 {
		return true, nil
	}
	now := s.change.Now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	made, err := s.change.q.CountCalendarJobs(ctx, s.consumer, month, month.AddDate(0, 1, 0))
	return made < s.bound, err
}

// forget takes the invite from a job that was refused for the quota, so that
// another can have it.
func (s *scheduling) forget(ctx context.Context) error {
	s.change.ICalUID, s.change.CalendarKey = "", ""
	return s.change.q.SaveJobRequest(ctx, s.change.Record)
}

// adopt answers with a job that is there, moved to what the invite says as far
// as it is an invite's and not yet dispatched.
func (s *scheduling) adopt(ctx context.Context) error {
	c := &s.change
	if c.CalendarKey == "" || !undispatched(c.Status) {
		return s.answer(calendar.Deduped)
	}
	before := c.Record
	var changed []string
	if key := s.invite.Key(); s.invite.ICalUID != "" && key != c.CalendarKey {
		c.ICalUID, c.CalendarKey = s.invite.ICalUID, key
		if c.joinAt(s.invite.JoinAt) {
			changed = append(changed, "joinAt")
		}
	}
	if replace(&c.MeetingURL, &s.invite.MeetingURL) {
		changed = append(changed, "meetingUrl")
	}
	if replace(&c.Platform, &s.invite.Platform) {
		changed = append(changed, "platform")
	}
	switch {
	case len(changed) > 0:
		if err := c.saveRequest(ctx, byInvite, changed); err != nil {
			return err
		}
	case before.CalendarKey != c.CalendarKey:
		if err := c.q.SaveJobRequest(ctx, c.Record); err != nil {
			return err
		}
	}
	if err := c.q.SaveJob(ctx, c.Record); err != nil {
		return err
	}
	return s.answer(calendar.Deduped)
}

// make makes the invite's job, which fails at once when the free tier is
// spent.
func (s *scheduling) make(ctx context.Context, within bool) error {
	c := &s.change
	r, err := s.newRecord()
	if err != nil {
		return err
	}
	c.Record = r
	inserted, err := c.q.InsertJob(ctx, c.Record)
	if err != nil {
		return err
	}
	if !inserted {
		return fmt.Errorf("another job has the externalId %s", c.ExternalID)
	}
	if within {
		return s.answer(calendar.Scheduled)
	}
	_, err = c.ApplyFromService(ctx, job.Event{
		Trigger: job.GivenUp, FailureCode: job.QuotaExceeded,
		FailureDetail: fmt.Sprintf("calendar invites may schedule %d meetings in a calendar month (UTC) without a plan, and they have", s.bound),
	}, nil)
	if err != nil {
		return err
	}
	c.WakeAt = time.Time{} // nothing was begun, so nothing is left to do
	if err := c.q.SaveJob(ctx, c.Record); err != nil {
		return err
	}
	return s.answer(calendar.FreeTierExhausted)
}

// newRecord is the job that the invite asks for.
func (s *scheduling) newRecord() (job.Record, error) {
	metadata := map[string]string{"subject": s.invite.Subject, "organizerEmail": s.invite.OrganizerEmail}
	if s.invite.ICalUID != "" {
		metadata["icalUid"] = s.invite.ICalUID
	}
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return job.Record{}, fmt.Errorf("encode an invite's metadata: %w", err)
	}
	id := uuid.Must(uuid.NewV7())
	return job.Record{
		Job: job.Job{
			ID:          id,
			ConsumerID:  s.consumer,
			Mode:        job.Live,
			ExternalID:  "calendar-invite:" + id.String(),
			MeetingURL:  s.invite.MeetingURL,
			Platform:    s.invite.Platform,
			DisplayName: job.DefaultDisplayName,
			JoinAt:      s.invite.JoinAt,
			CreatedAt:   s.change.Now.UTC().Truncate(time.Millisecond),
			Metadata:    encoded,
			AutoLeave:   job.DefaultAutoLeave(),
			State:       job.New(),
		},
		StatusSince: s.change.Now,
		WakeAt:      s.invite.JoinAt,
		ICalUID:     s.invite.ICalUID,
		CalendarKey: s.invite.Key(),
	}, nil
}

func (s *scheduling) answer(kind calendar.Kind) error {
	s.result = calendar.Result{Kind: kind, JobID: s.change.ID, ConsumerID: s.consumer}
	return nil
}
