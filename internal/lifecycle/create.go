package lifecycle

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
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
}

// Create creates a job. If the caller has a job with that externalId, Create
// returns it unchanged and reports replayed.
func (s *Service) Create(ctx context.Context, caller account.Caller, request NewJob) (j job.Job, replayed bool, err error) {
	now := s.Now()
	joinAt := request.JoinAt
	if joinAt.IsZero() {
		joinAt = now
	}
	r := job.Record{
		Job: job.Job{
			ID:          uuid.Must(uuid.NewV7()),
			ConsumerID:  caller.ConsumerID,
			Mode:        caller.Mode,
			ExternalID:  request.ExternalID,
			MeetingURL:  request.MeetingURL,
			Platform:    request.Platform,
			DisplayName: request.DisplayName,
			JoinAt:      joinAt.UTC().Truncate(time.Millisecond),
			CreatedAt:   now.UTC().Truncate(time.Millisecond),
			Webhooks:    request.Webhooks,
			Metadata:    request.Metadata,
			AutoLeave:   request.AutoLeave,
			State:       job.New(),
		},
		StatusSince: now,
		WakeAt:      laterOf(joinAt, now), // joinAt may be long past, which is no advantage over other jobs
	}
	var inserted bool
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		inserted, err = tx.InsertJob(ctx, r)
		return err
	})
	if err != nil {
		return job.Job{}, false, err
	}
	if !inserted {
		j, err = s.JobByExternalID(ctx, caller, request.ExternalID)
		return j, true, err
	}
	s.Events.Publish(jobDue(r))
	return r.Job, false, nil
}

// JobByExternalID returns the caller's job with that externalId, or what is left
// of it once it was erased. The error is a *job.Error with NotFound if there
// never was one.
func (s *Service) JobByExternalID(ctx context.Context, caller account.Caller, externalID string) (job.Job, error) {
	return s.Store.JobByExternalID(ctx, caller.ConsumerID, caller.Mode, externalID)
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
		return &job.Error{Code: job.NotFound, Message: "no such job"}
	}
	return nil
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
