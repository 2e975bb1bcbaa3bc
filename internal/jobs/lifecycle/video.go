package lifecycle

import (
	"context"

	"github.com/google/uuid"

	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Compose is when the picture of a recording is composed of the videos of its participants.
type Compose string

// The times of composing.
const (
	ComposeAlways  Compose = "always"  // after each meeting
	ComposeRequest Compose = "request" // when somebody asks for it
)

// RequestVideo reports whether the picture of a job's recording is being composed, and requests it unless that was done.
func (s *Service) RequestVideo(ctx context.Context, id uuid.UUID) (due bool, err error) {
	due, known, err := s.Store.RecordingTaskDue(ctx, id, job.VideoTask)
	if known || err != nil {
		return due, err
	}
	if err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertRecordingTask(ctx, id, job.VideoTask, s.Now())
	}); err != nil {
		return false, err
	}
	s.Events.Publish(event.RecordingTaskDue{})
	return true, nil
}

// EndVideo implements formats.Jobs.
func (s *Service) EndVideo(ctx context.Context, id uuid.UUID, lease string, result *job.VideoResult) (valid bool, err error) {
	return s.changeTask(ctx, id, job.VideoTask, lease, func(ctx context.Context, c *Change) error {
		if err := c.tx.EndRecordingTask(ctx, id, job.VideoTask); err != nil || result == nil {
			return err
		}
		if result.Failure != "" {
			return c.addEntry(VideoFailed, map[string]string{"detail": result.Failure})
		}
		if err := c.addEntry(VideoAttached, result); err != nil {
			return err
		}
		if err := c.tx.ChangeSummary(ctx, id, result.Summarize); err != nil {
			return err
		}
		return c.emit(ctx, webhook.VideoReady(c.Job, *result), false)
	})
}
