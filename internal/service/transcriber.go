package service

import (
	"fmt"
	"time"

	"standin/internal/lifecycle"
	"standin/internal/transcript"
	"standin/internal/webhook"
)

// newTranscriber returns the worker that transcribes recordings.
func (s *Service) newTranscriber(jobs *lifecycle.Service) (*transcript.Worker, error) {
	settings := transcript.Settings{
		Config: s.settings.Transcriber,
		Queue:  s.store, Jobs: jobs, Storage: s.storage, BaseURL: s.settings.BaseURL, TempDir: s.settings.DataDir,
		Now: time.Now, Log: s.settings.Log,
	}
	if settings.URL != "" {
		allow, err := webhook.ParseAllow(settings.AllowCIDRs)
		if err != nil {
			return nil, fmt.Errorf("networks of the transcriber: %w", err)
		}
		if settings.Recognizer, err = transcript.NewClient(settings.Config, allow); err != nil {
			return nil, err
		}
	}
	return transcript.NewWorker(settings), nil
}
