package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/event"
	"standin/internal/job"
	"standin/internal/store"
)

// StoreLiveTexts stores what the live transcriber has heard of an attempt. Texts that come
// too late are dropped: those of an earlier attempt, and once the recording is finalized
// or deleted.
func (s *Service) StoreLiveTexts(ctx context.Context, id uuid.UUID, attempt int, texts []job.MeetingText) error {
	var stored []job.MeetingText
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		stored = nil // of a repeated transaction
		r, err := tx.LockJob(ctx, id)
		if err != nil || admitText(r, attempt) != "" {
			return err
		}
		stored, err = tx.AppendTexts(ctx, id, texts)
		return err
	})
	if job.ErrorIs(err, job.NotFound) {
		return nil // the job was erased
	}
	if err == nil && len(stored) > 0 {
		s.Events.Publish(event.TextsStored{JobID: id, Texts: stored})
	}
	return err
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
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) error { return c.addEntry(ctx, kind, data) })
	if job.ErrorIs(err, job.NotFound) {
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
