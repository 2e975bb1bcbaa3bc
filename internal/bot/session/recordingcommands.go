package session

import (
	"context"
	"errors"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// pause suspends the recording. Audio is still monitored.
func (r *recordingSession) pause(ctx context.Context, command ingest.Command) {
	check := func() error {
		if r.state.disabled || r.state.paused || r.state.stopped {
			return errors.New("nothing is being recorded")
		}
		return nil
	}
	r.setPaused(ctx, command, check, recorder.Recording.Pause, func(ctx context.Context, _ bool, at time.Time) *exitResult {
		r.state.paused = true
		r.report.SetGap(at, recording.GapPaused)
		r.monitorAudio(ctx)
		return r.events.emitOrExit(job.BotRecordingPaused, nil)
	})
}

// resume continues a paused recording, with a new part if the recorder was lost
// during the pause.
func (r *recordingSession) resume(ctx context.Context, command ingest.Command) {
	check := func() error {
		if !r.state.paused {
			return errors.New("no recording is paused")
		}
		return nil
	}
	r.setPaused(ctx, command, check, recorder.Recording.Resume, func(ctx context.Context, running bool, at time.Time) *exitResult {
		r.state.paused, r.state.failingSince = false, time.Time{}
		r.report.SetGap(at, "")
		if !running {
			r.start(ctx)
			return nil
		}
		return r.events.emitOrExit(job.BotRecordingStarted, nil)
	})
}

// setPaused pauses or resumes the recorder. If none runs, the change applies to
// the next one. check returns why the command cannot be executed.
func (r *recordingSession) setPaused(ctx context.Context, command ingest.Command, check func() error,
	do func(recorder.Recording, context.Context) (time.Time, error),
	onDone func(ctx context.Context, running bool, at time.Time) *exitResult) {
	var running recorder.Recording
	var refusal error
	var at time.Time
	r.recordingQueue.add(ctx, task{
		timeout: r.page.timeouts.Command, command: &command,
		shouldRun: func() bool {
			running, refusal = r.recorder, check()
			return true
		},
		do: func(ctx context.Context) (err error) {
			at = time.Now()
			if refusal != nil || running == nil {
				return refusal
			}
			at, err = do(running, ctx)
			return err
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			if err != nil {
				return nil
			}
			return onDone(ctx, running != nil, at)
		},
	})
}

// stop ends the recording for good. Audio is still monitored.
func (r *recordingSession) stop(ctx context.Context, command ingest.Command) {
	if r.state.disabled || r.state.stopped {
		problem := "the recording is already stopped"
		if r.state.disabled {
			problem = "nothing is being recorded"
		}
		r.recordingQueue.settle(command, errors.New(problem))
		return
	}
	r.stopPart(ctx, &command, "", func() {
		r.state.stopped, r.state.paused = true, false
		r.report.SetGap(time.Now(), "")
		if err := r.events.Emit(job.BotRecordingStopped, nil); err != nil {
			r.log.Error("cannot report that the recording stopped", "error", err)
		}
	})
}

// interrupt ends the current part because the page left the meeting. reason is
// the manifest's reason for the gap that follows.
func (r *recordingSession) interrupt(ctx context.Context, reason string) {
	r.stopPart(ctx, nil, reason, func() {})
}

// stopPart stops the recorder, if one is running, and then monitors audio. reason is that of the gap that follows; may be "".
func (r *recordingSession) stopPart(ctx context.Context, command *ingest.Command, reason string, onDone func()) {
	var running recorder.Recording
	r.recordingQueue.add(ctx, task{
		timeout: recorderStopTimeout, command: command, uncancellable: true,
		shouldRun: func() bool {
			running = r.recorder
			r.stopping = running != nil
			return true
		},
		do: func(ctx context.Context) error {
			if running == nil {
				return nil
			}
			return running.Stop(ctx)
		},
		onDone: func(_ context.Context, err error) *exitResult {
			if running != nil {
				r.endPart(err, reason)
			}
			onDone()
			r.monitorAudio(ctx)
			return nil
		},
	})
}
