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

// cancelGrace is how long a cancelled job's bot has to leave and to hand in
// what it recorded before the service looks after it.
const cancelGrace = 30 * time.Second

// NewJob is what a consumer asks for, with all defaults filled in but JoinAt,
// which is zero for now.
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

// Create makes a job, or returns the one that the caller already has under
// that externalId, untouched (specification, POST /api/v1/jobs; contract,
// Jobs).
func (s *Service) Create(ctx context.Context, caller account.Caller, request NewJob) (j job.Job, replayed bool, err error) {
	now := s.now()
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
		WakeAt:      joinAt,
	}
	err = s.store.Write(ctx, func(q *store.Queries) error {
		inserted, err := q.InsertJob(ctx, r)
		if err != nil {
			return err
		}
		replayed = !inserted
		if inserted {
			j = r.Job
			return nil
		}
		existing, err := q.JobByExternalID(ctx, caller.ConsumerID, caller.Mode, request.ExternalID)
		j = existing.Job
		return err
	})
	if err != nil {
		return job.Job{}, false, err
	}
	if !replayed {
		s.wakeJobs()
	}
	return j, replayed, nil
}

// Job returns a job of the caller's, or a *job.Error with NotFound when there
// is none or it is another's.
func (s *Service) Job(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Job, error) {
	r, err := s.store.Job(ctx, id)
	if err != nil {
		return job.Job{}, err
	}
	return r.Job, owned(r, caller)
}

// Cancel cancels a job. A bot that runs is told to leave; a job that has
// ended stays as it is (contract, Jobs).
func (s *Service) Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	_, err := s.Change(ctx, id, func(c *Change) error {
		if err := owned(c.Record, caller); err != nil {
			return err
		}
		if c.Status.Terminal() {
			return nil
		}
		dispatched := c.Status.Dispatched()
		if _, err := c.ApplyFromService(ctx, job.Event{Trigger: job.CancelRequested}, nil); err != nil {
			return err
		}
		c.WakeAt = time.Time{}
		if !dispatched {
			return nil
		}
		c.WakeAt = c.Now.Add(cancelGrace)
		return c.QueueCommand(ctx, ingest.LeaveCall, nil)
	})
	return err
}

// Queue adds a command for the job's bot.
func (c *Change) QueueCommand(ctx context.Context, kind ingest.CommandKind, args json.RawMessage) error {
	_, err := c.queue(ctx, kind, args)
	return err
}

// queue is Queue, and returns the command's id.
func (c *Change) queue(ctx context.Context, kind ingest.CommandKind, args json.RawMessage) (uuid.UUID, error) {
	c.told = true
	id := uuid.Must(uuid.NewV7())
	return id, c.q.InsertCommand(ctx, store.Command{
		ID:        id,
		JobID:     c.ID,
		Kind:      kind,
		Args:      args,
		CreatedAt: c.Now,
	})
}

// owned is the error for a caller to whom the job does not belong: the same
// as for a job that is not there (specification, What the service does, 8).
func owned(r job.Record, caller account.Caller) error {
	if r.ConsumerID != caller.ConsumerID || r.Mode != caller.Mode {
		return &job.Error{Code: job.NotFound, Message: "no such job"}
	}
	return nil
}
