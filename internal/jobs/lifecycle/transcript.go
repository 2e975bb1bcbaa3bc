package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// queueTasks makes the tasks of a finalized recording due. Without a transcriber there is only
// something to do for one if the bots reported texts, which become searchable.
func (c *Change) queueTasks(ctx context.Context) error {
	texts, err := c.service.Transcribe, error(nil)
	if !texts {
		texts, err = c.tx.HasTexts(ctx, c.ID)
	}
	if err == nil && texts {
		err = c.tx.InsertRecordingTask(ctx, c.ID, job.TranscriptTask, c.Now)
	}
	// The recording may have videos of participants, and no picture.
	options := c.Resolved().Recording
	streams := c.Platform == job.ZoomSDK || cmp.Or(options.Capture, c.service.Capture) == job.CaptureStreams
	video := streams && c.Mode == job.Live && cmp.Or(options.Mode, job.RecordVideo) == job.RecordVideo
	if err == nil && c.service.Compose == ComposeAlways && video {
		err = c.tx.InsertRecordingTask(ctx, c.ID, job.VideoTask, c.Now)
	}
	return err
}

// RequestTranscription transcribes the recording of a job of the caller again, with other
// options. A job whose recording cannot be transcribed now is a *job.Error with
// InvalidState.
func (s *Service) RequestTranscription(ctx context.Context, caller account.Caller, id uuid.UUID, options job.TranscriptionOptions) error {
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkOwner(c.Job, caller); err != nil {
			return err
		}
		switch {
		case !c.RecordingDeletedAt.IsZero():
			return job.NewInvalidState("the recording was deleted")
		case c.ManifestURI == "":
			return job.NewInvalidState("the job has no recording")
		case !s.Transcribe && c.Mode != job.Test:
			return job.NewInvalidState("the service has no transcriber: its operator has not set STANDIN_TRANSCRIBER_URL")
		}
		queued, err := c.tx.RequestTranscription(ctx, id, c.Now, options)
		if err != nil {
			return err
		}
		if !queued {
			return job.NewInvalidState(
				"the recording is being transcribed; try again when the timeline has transcript_attached or transcript_failed")
		}
		return c.addEntry(TranscriptRequested, options)
	})
	if err == nil {
		s.Events.Publish(event.RecordingTaskDue{})
	}
	return err
}

// changeTask calls fn if the lease of a recording's task is valid. If the recording was deleted meanwhile, what the task has
// stored of it is deleted, too.
func (s *Service) changeTask(ctx context.Context, id uuid.UUID, kind job.TaskKind, lease string,
	fn func(context.Context, *Change) error) (valid bool, err error) {
	deleted := false
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if deleted = !c.RecordingDeletedAt.IsZero(); deleted {
			return nil
		}
		if valid, err = c.tx.HoldsRecordingTask(ctx, id, kind, lease); err != nil || !valid {
			return err
		}
		return fn(ctx, c)
	})
	if deleted || job.IsNotFound(err) { // then the job was erased
		return false, s.Recordings.DeleteRecording(ctx, id)
	}
	return valid, err
}

// StoreSearchTexts implements transcript.Jobs.
func (s *Service) StoreSearchTexts(ctx context.Context, id uuid.UUID, lease string, kind job.TextKind,
	texts []job.SearchText) (valid bool, err error) {
	return s.changeTask(ctx, id, job.TranscriptTask, lease, func(ctx context.Context, c *Change) error {
		return c.tx.ReplaceSearchTexts(ctx, c.Job, kind, texts)
	})
}

// TranscriptProblem returns why a job has no transcript, as a sentence; empty when
// nothing has failed.
func (s *Service) TranscriptProblem(ctx context.Context, id uuid.UUID) (string, error) {
	entries, err := s.Store.Timeline(ctx, id)
	if err != nil {
		return "", err
	}
	for _, entry := range slices.Backward(entries) {
		if entry.Kind != TranscriptRetrying && entry.Kind != TranscriptFailed {
			continue
		}
		var data struct{ Detail string }
		if err := json.Unmarshal(entry.Data, &data); err != nil {
			return "", fmt.Errorf("read a timeline entry: %w", err)
		}
		if entry.Kind == TranscriptFailed {
			return "The transcription has failed: " + data.Detail + ".", nil
		}
		return "The transcription is retried: " + data.Detail + ".", nil
	}
	return "", nil
}

// ReportTranscriptRetry implements transcript.Jobs.
func (s *Service) ReportTranscriptRetry(ctx context.Context, id uuid.UUID, lease string,
	retry job.TranscriptRetry) (valid bool, err error) {
	return s.changeTask(ctx, id, job.TranscriptTask, lease, func(ctx context.Context, c *Change) error {
		return c.addEntry(TranscriptRetrying, retry)
	})
}

// EndTranscription implements transcript.Jobs.
func (s *Service) EndTranscription(ctx context.Context, id uuid.UUID, lease string, result *job.TranscriptResult) (valid bool, err error) {
	defer s.Events.Publish(event.RecordingTaskDue{}) // the picture may wait for it
	return s.changeTask(ctx, id, job.TranscriptTask, lease, func(ctx context.Context, c *Change) error {
		if err := c.tx.EndRecordingTask(ctx, id, job.TranscriptTask); err != nil || result == nil {
			return err
		}
		if result.Failure != "" {
			return c.addEntry(TranscriptFailed, map[string]string{"detail": result.Failure})
		}
		if err := c.addEntry(TranscriptAttached, result); err != nil {
			return err
		}
		if err := c.tx.ChangeSummary(ctx, id, func(s *job.Summary) { s.Transcript, s.Words = true, result.Words }); err != nil {
			return err
		}
		consumer, err := c.Consumer(ctx)
		if err != nil {
			return err
		}
		return c.emit(ctx, webhook.TranscriptReady(c.Job, *result), consumer.TranscriptEvent)
	})
}

// ReportLiveFailure adds to the timeline why a meeting is not transcribed while it runs.
func (s *Service) ReportLiveFailure(ctx context.Context, id uuid.UUID, detail string) error {
	return s.noteLive(ctx, id, LiveTranscriptFailed, map[string]string{"detail": detail})
}

// EndLiveTranscript adds to the timeline what became of a live transcription.
func (s *Service) EndLiveTranscript(ctx context.Context, id uuid.UUID, result job.LiveTranscript) error {
	return s.noteLive(ctx, id, LiveTranscriptEnded, result)
}

func (s *Service) noteLive(ctx context.Context, id uuid.UUID, kind job.Trigger, data any) error {
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error { return c.addEntry(kind, data) })
	if job.IsNotFound(err) {
		return nil // the job was erased
	}
	return err
}

// LiveTranscripts implements transcript.Jobs.
func (s *Service) LiveTranscripts(ctx context.Context, id uuid.UUID) ([]job.LiveTranscript, error) {
	entries, err := s.Store.Timeline(ctx, id)
	if err != nil {
		return nil, err
	}
	var results []job.LiveTranscript
	for _, entry := range entries {
		if entry.Kind != LiveTranscriptEnded {
			continue
		}
		var result job.LiveTranscript
		if err := json.Unmarshal(entry.Data, &result); err != nil {
			return nil, fmt.Errorf("read a timeline entry: %w", err)
		}
		results = append(results, result)
	}
	return results, nil
}

// StreamsOf returns a job and the secrets that sign the requests to its streams.
func (s *Service) StreamsOf(ctx context.Context, id uuid.UUID) (j job.Job, secrets []webhook.Secret, err error) {
	if j, err = s.Store.JobView(ctx, id); err != nil {
		return j, nil, err
	}
	consumer, err := s.Store.Consumer(ctx, j.ConsumerID)
	return j, consumer.WebhookSecrets(), err
}

// streamEntries are the kinds of timeline entries by the state of a stream.
var streamEntries = map[job.StreamState]job.Trigger{
	job.StreamConnected: StreamConnected, job.StreamDisconnected: StreamDisconnected, job.StreamFailed: StreamFailed,
}

// RecordStream records a change of a stream on the timeline, and reports it to the job's
// webhooks.
func (s *Service) RecordStream(ctx context.Context, id uuid.UUID, change job.StreamChange) error {
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := c.addEntry(streamEntries[change.State], change); err != nil {
			return err
		}
		return c.Emit(ctx, webhook.StreamChanged(c.Job, change))
	})
	if err == nil {
		s.Events.Publish(event.StreamChanged{JobID: id})
	}
	return err
}
