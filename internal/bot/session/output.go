package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/base/text"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/output"
	"standin/internal/bot/sound"
	"standin/internal/jobs/job"
)

const (
	// maxOutput limits one sound, from its download to its end.
	maxOutput = ingest.MaxSound + time.Minute
	// maxLive limits the live sound without a pause.
	maxLive = 24 * time.Hour
	// muteDelay is how long the microphone stays on after a sound, for the next one.
	muteDelay = 2 * time.Second
	// recordingCheck is how often a sound that waits for the recording checks it.
	recordingCheck = 50 * time.Millisecond
)

// outputError is why a sound was not played to its end.
type outputError struct {
	reason ingest.OutputFailure
	detail string
}

func (e *outputError) Error() string { return e.detail }

var (
	errMutedByHost = &outputError{ingest.StoppedByHost, "the bot's microphone was turned off in the meeting"}
	errInterrupted = &outputError{ingest.Interrupted, "another command stopped it"}
	errPageLeft    = &outputError{ingest.Interrupted, "the bot left the page"}
)

// speaker plays the sounds of commands in one browser, one after the other, and turns the
// microphone on for them. The session's loop calls all methods.
type speaker struct {
	pageDevice

	recording  *recordingSession
	startedAt  time.Time // when others heard the current sound; zero before
	quietSince time.Time
}

// play queues the sound of a command.
func (s *speaker) play(ctx context.Context, command ingest.Command) {
	var args ingest.SoundArgs
	if !s.decode(command, &args) {
		return
	}
	if args.Interrupt {
		s.interrupt(ctx, errInterrupted)
	}
	s.add(ctx, command)
}

func (s *speaker) add(ctx context.Context, command ingest.Command) {
	s.queue.add(ctx, task{
		timeout: maxOutput, command: &command,
		do:     func(ctx context.Context) error { return s.run(ctx, command) },
		onDone: func(ctx context.Context, err error) *exitResult { s.done(ctx, err); return nil },
	})
}

// playLive queues what a receiver of the job's streams or a shown page says; kind is which.
func (s *speaker) playLive(ctx context.Context, speech *sound.Speech, kind string) {
	if s.page.phase != phaseAdmitted || !s.enabled {
		speech.Stop()
		return
	}
	command := ingest.Command{Kind: ingest.CommandKind(kind)}
	s.queue.add(ctx, task{
		timeout: maxLive,
		do: func(ctx context.Context) error {
			ctx, cancel := context.WithCancelCause(ctx)
			var watching sync.WaitGroup
			defer watching.Wait()
			defer cancel(nil)
			defer context.AfterFunc(ctx, speech.Stop)() // Read does not wait any longer
			watching.Go(func() {
				select {
				case <-speech.Stopped():
					cancel(errInterrupted)
				case <-ctx.Done():
				}
			})
			return s.playPCM(ctx, speech, func() {})
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			s.end()
			s.done(ctx, err)
			if err != nil {
				if failure := s.failure(err); failure.reason != ingest.Interrupted {
					s.emit(job.BotOutputFailed, command, failure)
				}
			}
			return nil
		},
	})
}

// interrupt ends the current sound and those that wait.
func (s *speaker) interrupt(ctx context.Context, cause *outputError) {
	s.cause = cause
	s.queue.clear(ctx)
	s.cause = nil
	s.quietSince = time.Now()
}

// run plays a sound. It runs beside the loop.
func (s *speaker) run(ctx context.Context, command ingest.Command) error {
	pcm, err := s.read(ctx, cmp.Or(command.ID, ingest.OnJoinOutput))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &outputError{ingest.OutputUnavailable, "the sound could not be read from the service: " + err.Error()}
	}
	return s.playPCM(ctx, bytes.NewReader(pcm), func() { s.emit(job.BotOutputStarted, command, nil) })
}

// playPCM plays a sound, which may be live. The loop calls started when others hear it.
func (s *speaker) playPCM(ctx context.Context, pcm io.Reader, started func()) error {
	if err := s.awaitRecording(ctx); err != nil {
		return err
	}
	running := func() output.Recording {
		if recording := s.recording.voice.Load(); recording != nil {
			return recording
		}
		return nil
	}
	player := &output.Player{Page: s.page.tab, Recording: running, Log: s.log}
	return player.Play(ctx, pcm, s.turnOn, func(at time.Time) {
		s.page.inLoop(ctx, func(context.Context) {
			s.startedAt = at
			started()
		})
	})
}

// awaitRecording waits for a recording that is about to start, because it is to contain the
// sound. It runs beside the loop.
func (s *speaker) awaitRecording(ctx context.Context) error {
	for deadline := time.Now().Add(recorderStartTimeout); ; {
		starting := make(chan bool, 1)
		s.page.inLoop(ctx, func(context.Context) { starting <- s.recording.shouldRecord() })
		select {
		case wait := <-starting:
			if !wait || time.Now().After(deadline) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := retry.Sleep(ctx, recordingCheck); err != nil {
			return err
		}
	}
}

// done handles the end of a sound. When the page was left, those that wait are deferred:
// a page that was loaded again is not in the meeting yet.
func (s *speaker) done(ctx context.Context, err error) {
	s.quietSince = time.Now()
	if err != nil && s.failure(err) == errPageLeft {
		s.queue.clear(ctx)
	}
}

// settle reports how a sound ended. A command of which nothing was heard when the page was
// left is deferred until the bot is in the meeting again.
func (s *speaker) settle(command ingest.Command, err error) {
	if err != nil && command.ID != "" && s.startedAt.IsZero() && s.failure(err) == errPageLeft {
		s.ack(command, errNotStarted)
		return
	}
	s.end()
	var failure *outputError
	if err != nil {
		failure = s.failure(err)
	}
	s.finish(command, failure, err)
}

// end adds the sound that has ended to the report.
func (s *speaker) end() {
	if !s.startedAt.IsZero() {
		s.recording.report.AddOwnSpeech(s.page.displayName, s.startedAt, time.Now())
	}
	s.startedAt, s.quietSince = time.Time{}, time.Now()
}

// failure returns why a sound was not played to its end.
func (s *speaker) failure(err error) *outputError {
	if s.cause != nil {
		return s.cause
	}
	return outputFailure(err)
}

// outputFailure returns why output failed, by the error of a page or a browser.
func outputFailure(err error) *outputError {
	known, ok := errors.AsType[*outputError](err)
	switch {
	case ok:
		return known
	case errors.Is(err, errNotStarted), errors.Is(err, context.Canceled), browserLost(err), meeting.Transient(err):
		return errPageLeft
	case errors.As(err, new(*browser.ScriptError)), errors.Is(err, output.ErrReloaded): // a new document has no devices of the bot yet
		return errPageLeft
	case errors.Is(err, output.ErrNoMicrophone), errors.Is(err, output.ErrNotUsed), errors.Is(err, meeting.ErrNoDevice):
		return &outputError{ingest.NoDevice, err.Error()}
	case errors.Is(err, meeting.ErrDeviceRefused):
		return &outputError{ingest.DeviceRefused, err.Error()}
	}
	return &outputError{ingest.OutputUnavailable, text.Clean(err.Error(), ingest.MaxCommandFailure)}
}

// handleSnapshot ends the sounds when the host turns the microphone off.
func (s *speaker) handleSnapshot(ctx context.Context, snap snapshot) {
	switch {
	case s.queue.idle():
		s.off = 0
	case s.turnedOff(snap):
		s.interrupt(ctx, errMutedByHost)
		s.mute(ctx) // otherwise the page could turn it on again
	}
}

// check turns the microphone off when nothing was played for a while.
func (s *speaker) check(ctx context.Context, now time.Time) {
	if recording := s.recording.voice.Load(); recording != nil {
		if track := recording.OwnTrack(); track != "" {
			s.recording.report.UpdatePlayed([]meeting.TrackOwner{{Track: track, ParticipantID: ingest.OwnID}})
		}
	}
	if s.on && s.queue.idle() && now.Sub(s.quietSince) >= muteDelay {
		s.mute(ctx)
	}
}

// mute turns the microphone off.
func (s *speaker) mute(ctx context.Context) {
	s.turnOff(ctx, task{
		shouldRun: func() bool { return s.queue.idle() },
		do:        func(ctx context.Context) error { return s.set(ctx, false) },
	})
}
