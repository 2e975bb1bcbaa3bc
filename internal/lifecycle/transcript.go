package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/webhook"
)

// queueTranscription makes the transcription of a finalized recording due. Without
// a transcriber there is only something to do if the bots reported texts, which
// become searchable.
func (c *Change) queueTranscription(ctx context.Context) error {
	if !c.service.Transcribe {
		texts, err := c.tx.HasTexts(ctx, c.ID)
		if err != nil || !texts {
			return err
		}
	}
	return c.tx.InsertTranscription(ctx, c.ID, c.Now)
}

// changeTranscription calls fn if the lease of a transcription is valid and the
// recording was not deleted.
func (s *Service) changeTranscription(ctx context.Context, id uuid.UUID, lease string, fn func(context.Context, *Change) error) (valid bool, err error) {
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if valid, err = c.tx.HoldsTranscription(ctx, id, lease); err != nil || !valid {
			return err
		}
		if valid = c.RecordingDeletedAt.IsZero(); !valid {
			return nil
		}
		return fn(ctx, c)
	})
	if job.ErrorIs(err, job.NotFound) {
		return false, nil // the job was erased
	}
	return valid, err
}

// StoreSearchTexts implements transcript.Jobs.
func (s *Service) StoreSearchTexts(ctx context.Context, id uuid.UUID, lease string, kind job.TextKind, texts []job.SearchText) (valid bool, err error) {
	return s.changeTranscription(ctx, id, lease, func(ctx context.Context, c *Change) error { return c.tx.ReplaceSearchTexts(ctx, c.Job, kind, texts) })
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
func (s *Service) ReportTranscriptRetry(ctx context.Context, id uuid.UUID, lease string, retry job.TranscriptRetry) (valid bool, err error) {
	return s.changeTranscription(ctx, id, lease, func(ctx context.Context, c *Change) error { return c.addEntry(ctx, TranscriptRetrying, retry) })
}

// EndTranscription implements transcript.Jobs.
func (s *Service) EndTranscription(ctx context.Context, id uuid.UUID, lease string, result *job.TranscriptResult) (valid bool, err error) {
	return s.changeTranscription(ctx, id, lease, func(ctx context.Context, c *Change) error {
		if err := c.tx.EndTranscription(ctx, id); err != nil || result == nil {
			return err
		}
		if result.Failure != "" {
			return c.addEntry(ctx, TranscriptFailed, map[string]string{"detail": result.Failure})
		}
		if err := c.addEntry(ctx, TranscriptAttached, result); err != nil {
			return err
		}
		if err := c.tx.ChangeSummary(ctx, id, func(s *job.Summary) { s.Transcript = true }); err != nil {
			return err
		}
		return c.emitOptional(ctx, webhook.TranscriptReady(c.Job, *result), func(of account.Consumer) bool { return of.TranscriptEvent })
	})
}
