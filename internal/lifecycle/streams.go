package lifecycle

import (
	"context"

	"github.com/google/uuid"

	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/webhook"
)

// StreamsOf returns a job and the secrets that sign the requests to its streams.
func (s *Service) StreamsOf(ctx context.Context, id uuid.UUID) (job.Job, []webhook.Secret, error) {
	j, err := s.Store.JobView(ctx, id)
	if err != nil {
		return job.Job{}, nil, err
	}
	consumer, err := s.Store.Consumer(ctx, j.ConsumerID)
	if err != nil {
		return job.Job{}, nil, err
	}
	return j, consumer.WebhookSecrets(), nil
}

// streamEntries are the kinds of timeline entries by the state of a stream.
var streamEntries = map[job.StreamState]job.Trigger{
	job.StreamConnected: StreamConnected, job.StreamLost: StreamLost, job.StreamGaveUp: StreamGaveUp,
}

// RecordStream records a change of a stream on the timeline, and reports it to the job's
// webhooks.
func (s *Service) RecordStream(ctx context.Context, id uuid.UUID, change job.StreamChange) error {
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := c.addEntry(ctx, streamEntries[change.State], change); err != nil {
			return err
		}
		return c.Emit(ctx, webhook.StreamChanged(c.Job, change))
	})
	if err == nil {
		s.Events.Publish(event.StreamChanged{JobID: id})
	}
	return err
}
