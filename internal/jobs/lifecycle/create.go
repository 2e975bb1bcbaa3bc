package lifecycle

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// cancelGrace is how long the bot of a cancelled job has to leave and to upload
// what it recorded before the dispatcher looks at the job.
const cancelGrace = 30 * time.Second

// NewJob is a request for a job. All defaults are filled in but that of JoinAt,
// where zero means now.
type NewJob struct {
	ExternalID  string
	MeetingURL  string
	Platform    job.Platform
	JoinAt      time.Time
	DisplayName string
	Webhooks    job.Webhooks
	Metadata    json.RawMessage
	AutoLeave   job.AutoLeave
	Options     job.Options
	Dedupe      bool // return another job for the meeting at that time instead
}

const (
	// sameTime is how far apart the times of two jobs for the same meeting are that would
	// send two bots into it.
	sameTime = 15 * time.Minute
	// longestMeeting is how long a job can have a bot: autoLeave.afterMaxSeconds is a day at most.
	longestMeeting = 26 * time.Hour
)

// Create creates a job. If the caller has a job with that externalId, Create
// returns it unchanged and reports replayed. So it does with the job that OtherJob
// finds, if the request is to be deduplicated.
func (s *Service) Create(ctx context.Context, caller account.Caller, request NewJob) (j job.Job, replayed bool, err error) {
	now := s.Now()
	joinAt := request.JoinAt
	if joinAt.IsZero() {
		joinAt = now
	}
	r := job.Record{
		Job: job.Job{
			ID:          job.NewID(),
			ConsumerID:  caller.ConsumerID,
			Mode:        caller.Mode,
			ExternalID:  request.ExternalID,
			MeetingURL:  request.MeetingURL,
			Platform:    request.Platform,
			DisplayName: request.DisplayName,
			JoinAt:      job.AsStored(joinAt),
			CreatedAt:   job.AsStored(now),
			Webhooks:    request.Webhooks,
			Metadata:    request.Metadata,
			AutoLeave:   request.AutoLeave,
			Options:     request.Options,
			State:       job.New(),
		},
		StatusSince: now,
		WakeAt:      job.Latest(joinAt, now), // joinAt may be long past, which is no advantage over other jobs
	}
	var inserted, found bool
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if request.Dedupe {
			if j, found, err = existing(ctx, tx, r.Job, now); err != nil || found {
				return err
			}
		}
		inserted, err = tx.InsertJob(ctx, r)
		return err
	})
	if err != nil {
		return job.Job{}, false, err
	}
	if found {
		return j, true, nil
	}
	if !inserted {
		j, err = s.JobByExternalID(ctx, caller, request.ExternalID)
		if err != nil || j.ID != r.ID { // it is this one if the response of the database was lost
			return j, true, err
		}
	}
	s.Events.Publish(jobDue(r))
	return r.Job, false, nil
}

// existing returns the job that a deduplicated request is for. No other deduplicated
// request of the consumer creates one until the transaction ends.
func existing(ctx context.Context, tx *store.Tx, j job.Job, now time.Time) (found job.Job, ok bool, err error) {
	if err := tx.LockConsumer(ctx, j.ConsumerID); err != nil {
		return found, false, err
	}
	found, err = tx.JobByExternalID(ctx, account.Caller{ConsumerID: j.ConsumerID, Mode: j.Mode}, j.ExternalID)
	if !job.IsNotFound(err) {
		return found, err == nil, err
	}
	id, ok, err := otherJob(ctx, tx.Reader, j, now)
	if !ok || err != nil {
		return job.Job{}, false, err
	}
	if err := tx.RequestJob(ctx, id); err != nil {
		return job.Job{}, false, err
	}
	found, err = tx.JobView(ctx, id)
	return found, err == nil, err
}

// OtherJob returns the ID of another job of the same consumer and mode that sends a bot into
// the same meeting at about the same time; false if there is none.
func (s *Service) OtherJob(ctx context.Context, j job.Job) (uuid.UUID, bool, error) {
	return otherJob(ctx, s.Store.Reader, j, s.Now())
}

func otherJob(ctx context.Context, db *store.Reader, j job.Job, now time.Time) (uuid.UUID, bool, error) {
	at := job.Latest(j.JoinAt, now)
	from := at.Add(-sameTime)
	if from.Before(now) {
		from = now.Add(-longestMeeting)
	}
	return db.JobForMeeting(ctx, j.ConsumerID, j.Mode, j.MeetingURL, from, at.Add(sameTime), j.ID)
}

// JobByExternalID returns the caller's job with that externalId, or what is left
// of it once it was erased. The error is a *job.Error with NotFound if there
// never was one.
func (s *Service) JobByExternalID(ctx context.Context, caller account.Caller, externalID string) (job.Job, error) {
	return s.Store.JobByExternalID(ctx, caller, externalID)
}

// Job returns a job of the caller. A job that does not exist or belongs to
// another consumer is a *job.Error with NotFound.
func (s *Service) Job(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Job, error) {
	j, err := s.Store.JobView(ctx, id)
	if err != nil {
		return job.Job{}, err
	}
	return j, checkOwner(j, caller)
}

// Cancel cancels a job. A running bot gets the command to leave, and the commands
// that it has not acknowledged have failed. A bot that was launched before
// joinAt is stopped. A job that has ended does not change.
func (s *Service) Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkOwner(c.Job, caller); err != nil {
			return err
		}
		return c.cancel(ctx, nil)
	})
	return err
}

// cancel cancels the job, unless it has ended. data is shown on the timeline.
func (c *Change) cancel(ctx context.Context, data any) error {
	if c.Status.Terminal() {
		return nil
	}
	dispatched, prelaunched := c.Status.Dispatched(), c.Prelaunch == job.Prelaunched || c.Prelaunch == job.PrelaunchWithdrawn
	if _, err := c.ApplyFromService(ctx, job.Event{Trigger: job.CancelRequested}, data); err != nil {
		return err
	}
	if prelaunched {
		c.WithdrawPrelaunch()
		return nil
	}
	c.WakeAt = time.Time{}
	if !dispatched {
		return nil
	}
	c.WakeAt = c.Now.Add(cancelGrace)
	_, err := c.QueueCommand(ctx, ingest.LeaveCall, nil)
	return err
}

// checkOwner returns an error if the job does not belong to the caller: the same
// as for a job that does not exist.
func checkOwner(j job.Job, caller account.Caller) error {
	if j.ConsumerID != caller.ConsumerID || j.Mode != caller.Mode {
		return job.NewError(job.NotFound, "no such job")
	}
	return nil
}
