package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/job"
)

const (
	recorderStartTimeout = 20 * time.Second
	recorderStopTimeout  = 10 * time.Second
	// A recorder that keeps failing is restarted at most maxRecorderStarts
	// times within recorderStartWindow.
	maxRecorderStarts   = 10
	recorderStartWindow = 10 * time.Minute
	// maxFailedBrowsers is how many browsers may fail to record a meeting: each
	// must be admitted anew.
	maxFailedBrowsers = 2
	// resumeSpace is the free space, in bytes, that lets a recording continue
	// after the spool was full: about a minute's, and at most a quarter of the
	// spool's limit.
	resumeSpace = 8 << 20
)

// recordingState is what an attempt keeps about its recording when the browser
// is replaced.
type recordingState struct {
	paused         bool
	stopped        bool          // by command, for good
	full           bool          // the spool takes no more segments now
	suspended      bool          // the page shows no meeting now
	recorded       time.Duration // length of the parts that have ended
	lastAudio      time.Time     // when audio was last received; zero if never
	failedBrowsers int
}

// recordingSession records the meeting in one browser: in one part, or in
// several if the recorder fails. While it does not record, it monitors the
// audio. Its queue runs one task at a time, so parts do not overlap.
type recordingSession struct {
	log              *slog.Logger
	page             *meetingPage
	spool            *spool.Spool
	report           *report
	events           *emitter
	settings         recorder.Settings
	consent          *consent
	state            *recordingState
	recordingQueue   taskQueue
	recorder         *recorder.Recorder // nil while nothing is recorded
	stopping         bool               // the recorder is being stopped
	recordedAnything bool
	starts           limit
	listener         *recorder.SoundMonitor // nil unless the audio is only monitored
}

// shouldRecord reports whether a recorder should be started: never without proof
// of admission. Commands outlive recorders and browsers.
func (r *recordingSession) shouldRecord() bool {
	return r.page.phase == phaseAdmitted && r.page.admission != nil && r.recorder == nil && r.consent.allowsRecording() &&
		!r.state.stopped && !r.state.paused && !r.state.full && !r.state.suspended
}

// start starts a recording part, if one should be recorded; otherwise the audio
// is monitored.
func (r *recordingSession) start(ctx context.Context) {
	var number int
	var listener *recorder.SoundMonitor
	var started *recorder.Recorder
	r.recordingQueue.add(ctx, task{
		name: "start recording", timeout: recorderStartTimeout,
		shouldRun: func() bool {
			if !r.shouldRecord() {
				return false
			}
			listener, r.listener = r.listener, nil
			return true
		},
		do: func(ctx context.Context) (err error) {
			if listener != nil {
				listener.Close()
			}
			number = r.report.nextPart()
			sink := &segmentSink{spool: r.spool, report: r.report, part: number}
			started, err = recorder.Start(ctx, r.page.browser, r.page.tab, r.settings, sink)
			return err
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			if err != nil {
				return r.handleFailure(ctx, err)
			}
			r.recorder, r.recordedAnything = started, true
			r.log.Info("recording", "part", number)
			r.report.startPart(number, started.StartedAt())
			if r.page.phase != phaseAdmitted {
				return nil // the page was left meanwhile; the next task stops the recorder
			}
			return r.events.emitOrExit(job.BotRecordingStarted, nil)
		},
	})
	r.monitorAudio(ctx)
}

// ended is closed when the recorder ended without being stopped.
func (r *recordingSession) ended() <-chan struct{} {
	if r.recorder == nil || r.stopping {
		return nil
	}
	return r.recorder.Done()
}

// handleEnd starts a new part after the recorder ended without being stopped.
func (r *recordingSession) handleEnd(ctx context.Context) *exitResult {
	err := r.recorder.Err()
	r.endPart(err)
	if browserLost(err) {
		return pageFailed(err)
	}
	if err == nil {
		err = errors.New("the recorder ended unexpectedly")
	}
	return r.handleFailure(ctx, err)
}

// handleFailure starts another recorder, or another browser if this one does
// not record.
func (r *recordingSession) handleFailure(ctx context.Context, err error) *exitResult {
	if r.page.phase != phaseAdmitted || ctx.Err() != nil {
		return nil // the page was left meanwhile
	}
	if browserLost(err) {
		return pageFailed(err)
	}
	if full := new(spool.FullError); errors.As(err, &full) {
		r.log.Error("the spool is full; recording continues when there is space", "error", full)
		r.state.full = true
		r.report.setFull(time.Now())
		r.monitorAudio(ctx)
		return nil
	}
	r.log.Warn("recorder failed", "error", err)
	if _, ok := r.starts.allow(time.Now()); ok && r.recordedAnything {
		r.start(ctx)
		return nil
	}
	r.state.failedBrowsers++
	return &exitResult{
		code: job.InternalError, reason: reasonNoRecording, retry: r.state.failedBrowsers < maxFailedBrowsers, needsDiagnostics: true,
		detail: fmt.Sprintf("The meeting cannot be recorded: %v", err),
	}
}

// resumeIfSpace continues a recording that the full spool ended. Uploads make
// space.
func (r *recordingSession) resumeIfSpace(ctx context.Context) {
	if !r.state.full || !r.spool.HasSpace(min(resumeSpace, r.spool.Limit()/4)) {
		return
	}
	r.log.Info("the spool has space again")
	r.state.full = false
	r.start(ctx)
}

// endPart updates the state after the recorder ended. A nil err means that the
// part is complete.
func (r *recordingSession) endPart(err error) {
	r.updateLastAudio()
	r.state.recorded += r.recorder.Stats().Recorded
	r.report.endPart(time.Now(), err)
	r.recorder, r.stopping = nil, false
}

// running reports whether the meeting is being recorded.
func (r *recordingSession) running() bool { return r.recorder != nil && !r.stopping }

// length returns the length of the recording so far.
func (r *recordingSession) length() time.Duration {
	if r.recorder == nil {
		return r.state.recorded
	}
	return r.state.recorded + r.recorder.Stats().Recorded
}

// close ends the recording, as far as the browser still allows it.
func (r *recordingSession) close(end exitResult) {
	ctx, cancel := context.WithTimeout(context.Background(), recorderStopTimeout)
	defer cancel()
	if r.recorder != nil {
		err := r.recorder.Stop(ctx)
		if err != nil && !browserLost(err) {
			r.log.Warn("stop the recorder", "error", err)
		}
		r.endPart(err)
		if end.retry {
			r.report.setPartEnd(end.reason)
		}
	}
	if r.listener != nil {
		r.listener.Close()
	}
}

// segmentSink writes the segments of a part to the spool, from where they are
// uploaded at once.
type segmentSink struct {
	spool  *spool.Spool
	report *report
	part   int
}

// Append implements recorder.Sink.
func (s *segmentSink) Append(chunk recorder.Chunk) error {
	if err := s.spool.AppendSegment(s.part, chunk.Sequence, chunk.Data); err != nil {
		return fmt.Errorf("spool segment %d: %w", chunk.Sequence, err)
	}
	s.report.addSegment(s.part, chunk.Sequence)
	return nil
}
