package service

import (
	"errors"
	"fmt"
	"time"

	"standin/internal/lifecycle"
	"standin/internal/transcript"
	"standin/internal/webhook"
)

// TranscriberSettings configure the transcription of recordings. Zero values have
// the defaults of package transcript.
type TranscriberSettings struct {
	URL         string // of a server with OpenAI's audio transcriptions; no transcripts when empty
	APIKey      string
	Model       string
	Language    string
	AllowCIDRs  string        // networks that the URL may be in although they are not public
	Timeout     time.Duration // of a request
	Concurrency int           // transcriptions at a time on this node
	MaxPiece    time.Duration // of audio in one request
	MaxAudio    time.Duration // of one job that is sent
	GiveUpAfter time.Duration // since the end of the recording
}

// check returns an error for settings that cannot work.
func (s TranscriberSettings) check() error {
	switch {
	case s.Timeout < 0:
		return errors.New("STANDIN_TRANSCRIBER_TIMEOUT must not be negative")
	case s.Concurrency < 0:
		return errors.New("STANDIN_TRANSCRIBER_CONCURRENCY must not be negative")
	case s.MaxPiece != 0 && (s.MaxPiece < 10*time.Second || s.MaxPiece > time.Hour):
		return errors.New("STANDIN_TRANSCRIBER_PIECE must be from 10s to 1h")
	case s.MaxAudio < 0:
		return errors.New("STANDIN_TRANSCRIBER_MAX_MINUTES must not be negative")
	case s.GiveUpAfter < 0:
		return errors.New("STANDIN_TRANSCRIBER_GIVE_UP_AFTER must not be negative")
	}
	return nil
}

// newTranscriber returns the worker that transcribes recordings.
func (s *Service) newTranscriber(jobs *lifecycle.Service) (*transcript.Worker, error) {
	from := s.settings.Transcriber
	settings := transcript.Settings{
		Queue: s.store, Jobs: jobs, Storage: s.storage, BaseURL: s.settings.BaseURL, TempDir: s.settings.DataDir,
		Concurrency: from.Concurrency, MaxPiece: from.MaxPiece, MaxAudio: from.MaxAudio, GiveUpAfter: from.GiveUpAfter,
		Now: time.Now, Log: s.settings.Log,
	}
	if from.URL == "" {
		return transcript.NewWorker(settings), nil
	}
	allow, err := webhook.ParseAllow(from.AllowCIDRs)
	if err != nil {
		return nil, fmt.Errorf("networks of the transcriber: %w", err)
	}
	client, err := transcript.NewClient(transcript.ClientSettings{
		URL: from.URL, APIKey: from.APIKey, Model: from.Model, Language: from.Language, Allow: allow, Timeout: from.Timeout,
	})
	if err != nil {
		return nil, err
	}
	settings.Recognizer = client
	return transcript.NewWorker(settings), nil
}
