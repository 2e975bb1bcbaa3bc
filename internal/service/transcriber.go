package service

import (
	"fmt"
	"os"
	"strings"
	"time"

	"standin/internal/lifecycle"
	"standin/internal/transcript"
	"standin/internal/webhook"
)

// NewRecognizer returns the client of the transcriber in the settings, or nil if they
// name none.
func NewRecognizer(config transcript.Config) (*transcript.Client, error) {
	if config.URL == "" {
		return nil, nil
	}
	if config.APIKeyFile != "" {
		content, err := os.ReadFile(config.APIKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the API key of the transcriber: %w", err)
		}
		config.APIKey = strings.TrimSpace(string(content))
	}
	allow, err := webhook.ParseAllow(config.AllowCIDRs)
	if err != nil {
		return nil, fmt.Errorf("networks of the transcriber: %w", err)
	}
	return transcript.NewClient(config, allow)
}

// newTranscriber returns the worker that transcribes recordings.
func (s *Service) newTranscriber(jobs *lifecycle.Service) (*transcript.Worker, error) {
	settings := transcript.Settings{
		Config: s.settings.Transcriber,
		Queue:  s.store, Jobs: jobs, Storage: s.storage, BaseURL: s.settings.BaseURL, TempDir: s.settings.DataDir,
		Now: time.Now, Log: s.settings.Log,
	}
	recognizer, err := NewRecognizer(settings.Config)
	if err != nil {
		return nil, err
	}
	if recognizer != nil { // a nil *Client is not a nil Recognizer
		settings.Recognizer = recognizer
	}
	return transcript.NewWorker(settings), nil
}
