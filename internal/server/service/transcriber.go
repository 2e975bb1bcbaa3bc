package service

import (
	"fmt"
	"path/filepath"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/recording/speech"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
)

// NewRecognizer returns the client of the transcriber in the settings, or nil if they
// name none.
func NewRecognizer(config transcript.Config) (*transcript.Client, error) {
	if config.URL == "" {
		return nil, nil
	}
	if err := readKey(&config.APIKey, config.APIKeyFile); err != nil {
		return nil, fmt.Errorf("read the API key of the transcriber: %w", err)
	}
	return transcript.NewClient(config)
}

// NewLiveRecognizer returns the live transcriber in the settings, or nil if they name none.
func NewLiveRecognizer(config streaming.Config) (streaming.Recognizer, error) {
	if err := readKey(&config.APIKey, config.APIKeyFile); err != nil {
		return nil, fmt.Errorf("read the API key of the live transcriber: %w", err)
	}
	return streaming.New(config)
}

// newLiveTranscriber makes the live transcriber, if the settings name one.
func (s *Service) newLiveTranscriber() error {
	recognizer, err := NewLiveRecognizer(s.Live)
	if err != nil || recognizer == nil {
		return err
	}
	s.meetings = streaming.NewMeetings(streaming.Settings{
		Recognizer: recognizer, Sounds: s.sound, Records: s.store, Jobs: s.jobs, Log: s.Log,
	})
	s.sound.Connected = s.meetings.Begin
	s.metrics.Register(s.meetings.Collectors()...)
	return nil
}

// readKey replaces a key with that of a file, if there is one.
func readKey(key *string, file string) error {
	if file == "" {
		return nil
	}
	secret, err := fsutil.ReadSecret(file)
	if err == nil {
		*key = secret
	}
	return err
}

// newTranscriber returns the worker that transcribes recordings.
func (s *Service) newTranscriber() (*transcript.Worker, error) {
	settings := transcript.Settings{
		Config: s.Transcriber,
		Queue:  s.store, Jobs: s.jobs, Storage: s.storage, BaseURL: s.Settings.BaseURL, TempDir: s.DataDir,
		Now: time.Now, Log: s.Log,
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

// newOutputMaker returns the maker of what bots play and show. It fetches files from
// where webhooks may be sent.
func (s *Service) newOutputMaker() (*speech.Maker, error) {
	maker, err := speech.NewMaker(speech.Settings{
		Config: s.Speech, Files: s.network, Dir: filepath.Join(s.DataDir, "sounds"),
	})
	if err != nil {
		return nil, fmt.Errorf("configure speech: %w", err)
	}
	return maker, nil
}
