package service

import (
	"time"

	"standin/internal/launch/simulator"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
)

// newLiveTranscriber makes the live transcriber, if the settings name one.
func (s *Service) newLiveTranscriber() error {
	recognizer, err := streaming.New(s.Live)
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

// newTranscriber returns the worker that transcribes recordings.
func (s *Service) newTranscriber() (*transcript.Worker, error) {
	settings := transcript.Settings{
		Config:   s.Transcriber,
		Simulate: simulator.Transcript,
		Queue:    s.store, Jobs: s.jobs, Storage: s.storage, BaseURL: s.Settings.BaseURL, TempDir: s.DataDir,
		Now: time.Now, Log: s.Log,
	}
	recognizer, err := transcript.NewClient(settings.Config)
	if err != nil {
		return nil, err
	}
	if recognizer != nil { // a nil *Client is not a nil Recognizer
		settings.Recognizer = recognizer
	}
	return transcript.NewWorker(settings), nil
}
