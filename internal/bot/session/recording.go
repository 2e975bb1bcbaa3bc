package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/bot/sound"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

const (
	recorderStartTimeout = 20 * time.Second
	recorderStopTimeout  = 10 * time.Second
	// maxFailedStarts is how many starts in a row may fail in one browser. Each new one must be
	// admitted anew.
	maxFailedStarts = 2
	// steadyRecording is how long a recorder must have run for the next one to start at once.
	steadyRecording = time.Minute
	// resumeSpace is the free space, in bytes, that lets a recording continue
	// after the spool was full: about a minute's, and at most a quarter of the
	// spool's limit.
	resumeSpace = 8 << 20
)

// recordingState is what an attempt keeps about its recording when the browser
// is replaced.
type recordingState struct {
	disabled     bool // nothing is recorded, by the job's choice
	paused       bool
	stopped      bool          // stopped by command, for good
	full         bool          // the spool takes no more segments now
	suspended    bool          // the page shows no meeting now
	recorded     time.Duration // length of the parts that have ended
	lastAudio    time.Time     // when the captured sound was last audible; zero if never
	failures     int           // of recorders since one has run for steadyRecording
	failingSince time.Time     // the first failure since a recorder has last started
	retryAt      time.Time     // no recorder is started before

	encoding sync.WaitGroup // parts that have ended and are not packed yet
}

// recordingSession records the meeting in one browser: in one part, or in
// several if the recorder fails. While it does not record, it monitors the
// audio. Its queue runs one task at a time, so parts do not overlap.
type recordingSession struct {
	log            *slog.Logger
	page           *meetingPage
	spool          *spool.Spool
	report         *report.Report
	events         events
	settings       recorder.Settings
	consent        *consent
	state          *recordingState
	sound          *sound.Link
	recordingQueue taskQueue
	recorder       recorder.Recording                // nil while nothing is recorded
	voice          atomic.Pointer[recorder.Recorder] // the same of a page, for the bot's own sound
	stopping       bool                              // the recorder is being stopped
	failedStarts   int                               // in a row
	listener       recorder.Recording                // nil unless the audio is only monitored
	sink           *segmentSink                      // of the last recorder
	gaps           soundGaps
	toldGaps       limit
}

// startRecorder is recorder.Start, unless a test replaces it.
type startRecorder func(context.Context, *browser.Browser, *browser.Page, recorder.Settings, recorder.Sink) (*recorder.Recorder, error)

// shouldRecord reports whether a recorder should be started: never without proof
// of admission. Commands outlive recorders and browsers.
func (r *recordingSession) shouldRecord() bool {
	return r.page.phase == phaseAdmitted && r.page.admission != nil && r.recorder == nil && r.consent.allowsRecording() &&
		!r.state.disabled && !r.state.stopped && !r.state.paused && !r.state.full && !r.state.suspended
}

// start starts a recording part, if one should be recorded and the last recorder did not fail just
// now; otherwise the audio is monitored. Until the recorder runs, there is a gap.
func (r *recordingSession) start(ctx context.Context) {
	now := time.Now()
	if r.shouldRecord() {
		r.report.OpenGap(now, recording.GapNotRecording)
	}
	if now.Before(r.state.retryAt) {
		r.monitorAudio(ctx)
		return
	}
	r.state.retryAt = time.Time{}
	var number int
	var listener, started recorder.Recording
	r.recordingQueue.add(ctx, task{
		timeout: recorderStartTimeout,
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
			number = r.report.NextPart()
			r.sink = &segmentSink{log: r.log, spool: r.spool, report: r.report, part: number}
			started, err = r.page.way.Record(ctx, r.settings, r.sink)
			return err
		},
		onDone: func(ctx context.Context, err error) *exitResult {
			if err != nil {
				r.failedStarts++
				return r.handleFailure(ctx, err)
			}
			r.recorder, r.failedStarts, r.state.failingSince = started, 0, time.Time{}
			ofPage, _ := started.(*recorder.Recorder)
			r.voice.Store(ofPage)
			r.log.Info("recording", "part", number)
			r.report.StartPart(number, started.StartedAt())
			r.sound.Start(r.report.RecordingStart())
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
	if !r.running() {
		return nil
	}
	return r.recorder.Done()
}

// handleFailure starts another recorder after a pause that grows, with another browser if this one does
// not record. A bot that has recorded nothing for too long leaves the meeting to another one.
func (r *recordingSession) handleFailure(ctx context.Context, err error) *exitResult {
	if r.page.phase != phaseAdmitted || ctx.Err() != nil {
		return nil // the page was left meanwhile
	}
	if browserLost(err) {
		return pageFailed(err)
	}
	if full, ok := errors.AsType[*spool.FullError](err); ok {
		r.log.Error("the spool is full; recording continues when there is space", "error", full)
		r.state.full = true
		r.report.SetGap(time.Now(), recording.GapDiskFull)
		r.monitorAudio(ctx)
		return nil
	}
	now, timeouts := time.Now(), r.page.timeouts
	pause := timeouts.recorderPause(r.state.failures + min(r.failedStarts, 1)) // after a part: none at first
	r.state.failures++
	if r.state.retryAt = now.Add(pause); r.state.failingSince.IsZero() {
		r.state.failingSince = now
	}
	r.log.Warn("recorder failed", "error", err, "pause", pause)
	end := &exitResult{
		code: job.InternalError, reason: report.ReasonNoRecording, retry: true, needsDiagnostics: true,
		detail: fmt.Sprintf("The meeting cannot be recorded: %v", err),
	}
	switch {
	case now.Sub(r.state.failingSince) >= timeouts.NoRecorder:
		end.final = true
		return end
	case r.failedStarts >= maxFailedStarts:
		return end
	}
	r.start(ctx)
	return nil
}

// endPart updates the state after the recorder ended. A nil err means that the
// part is complete. reason is that of the gap that follows; "" when the recording ends.
func (r *recordingSession) endPart(err error, reason string) {
	r.gaps.end(time.Now())
	r.updateSound()
	stats, now := r.recorder.Stats(), time.Now()
	length, ended := stats.Recorded, stats.EndedAt
	if ended.IsZero() || ended.After(now) {
		ended = now
	}
	tellLastGap(r, stats, ended)
	r.state.recorded += length
	if length >= steadyRecording {
		r.state.failures = 0
	}
	switch {
	case errors.As(err, new(*spool.FullError)):
		reason = recording.GapDiskFull
	case err != nil && reason != "":
		reason = recording.GapMediaLost
	}
	r.report.EndPart(ended, err, reason)
	if encoder := r.sink.encoder; encoder != nil {
		r.state.encoding.Go(encoder.Close)
	}
	r.recorder, r.stopping = nil, false
	r.voice.Store(nil)
}

// running reports whether the meeting is being recorded.
func (r *recordingSession) running() bool { return r.recorder != nil && !r.stopping }

// keepsTexts reports whether chat messages and captions belong to the result.
func (r *recordingSession) keepsTexts() bool {
	return r.running() && !r.state.paused || r.state.disabled && r.page.phase == phaseAdmitted && r.consent.allowsRecording()
}

// length returns the length of the recording so far.
func (r *recordingSession) length() time.Duration {
	if r.recorder == nil {
		return r.state.recorded
	}
	return r.state.recorded + r.recorder.Stats().Recorded
}

// close ends the recording, as far as the browser still allows it.
func (r *recordingSession) close(ctx context.Context, end exitResult) {
	ctx, cancel := context.WithTimeout(ctx, recorderStopTimeout)
	defer cancel()
	if r.recorder != nil {
		err := r.recorder.Stop(ctx)
		if err != nil && !browserLost(err) {
			r.log.Warn("cannot stop the recorder", "error", err)
		}
		reason := ""
		switch {
		case end.reason == report.ReasonShutdown:
			reason = recording.GapBotLost
		case end.retry:
			reason = end.reason
		}
		r.endPart(err, reason)
	}
	if r.listener != nil {
		r.listener.Close()
	}
}

// segmentSink writes the segments of a part to the spool, from where they are
// uploaded at once.
type segmentSink struct {
	log     *slog.Logger
	spool   *spool.Spool
	report  *report.Report
	part    int
	encoder *build.Encoder // nil before the first segment

	soundOnly bool // the picture is not needed
}

// Append implements recorder.Sink.
func (s *segmentSink) Append(chunk recorder.Chunk) error {
	if err := s.spool.AppendSegment(s.part, chunk.Sequence, chunk.Data); err != nil {
		return err
	}
	s.report.AddSegment(s.part, chunk.Sequence)
	if s.encoder == nil {
		s.encoder = build.StartEncoder(s.spool.ScratchDir(), s.part, s.log)
	}
	s.encoder.Append(chunk.Data)
	return nil
}

// maxPulseAge is how long the recorder's page may report nothing about the
// sound before silence is no longer evidence.
const maxPulseAge = 10 * time.Second

// monitorAudio follows the meeting's audio while nothing is recorded: the limit
// of silence applies to a paused or stopped recording too. Without the host's
// permission audio is not monitored.
func (r *recordingSession) monitorAudio(ctx context.Context) {
	if r.listener != nil {
		select {
		case <-r.listener.Done():
			r.listener = nil
		default:
		}
	}
	needed := func() bool {
		return r.page.phase == phaseAdmitted && r.recorder == nil && r.listener == nil &&
			(r.state.disabled && r.consent.allowsRecording() || r.state.paused || r.state.stopped || r.state.full || r.state.suspended)
	}
	if !needed() {
		return
	}
	var listener recorder.Recording
	r.recordingQueue.add(ctx, task{
		timeout:   recorderStartTimeout,
		shouldRun: needed,
		do: func(ctx context.Context) (err error) {
			settings := r.settings
			settings.ParticipantAudio, settings.Tracks, settings.Voice = nil, nil, false // nothing is recorded
			if !r.state.disabled {
				settings.LiveSound = nil // nobody hears what is not recorded, unless nothing is by the job's choice
			}
			listener, err = r.page.way.Record(ctx, settings, nil)
			return err
		},
		onDone: func(_ context.Context, err error) *exitResult {
			if err != nil {
				r.log.Warn("monitoring audio failed; trying again later", "error", err)
				return nil
			}
			r.listener = listener
			if r.state.disabled {
				r.sound.Start(r.report.AdmittedAt())
			}
			return nil
		},
	})
}

// audioStats returns the statistics of the audio; false if it is not monitored.
func (r *recordingSession) audioStats() (recorder.Stats, bool) {
	if running := cmp.Or(r.recorder, r.listener); running != nil {
		return running.Stats(), true
	}
	return recorder.Stats{}, false
}

// updateSound updates when the captured sound was last audible, and reports when it began
// and ended.
func (r *recordingSession) updateSound() {
	stats, ok := r.audioStats()
	if !ok {
		return
	}
	if stats.LastSoundAt.After(r.state.lastAudio) {
		r.state.lastAudio = stats.LastSoundAt
	}
	r.report.AddSound(stats.SoundChanges)
	r.gaps.update(r, stats)
}

// updateStreams follows whether the streams of participants are recorded instead of the page's picture.
func (r *recordingSession) updateStreams() *exitResult {
	if r.recorder == nil || !r.settings.Streams {
		return nil
	}
	switch stats := r.recorder.Stats(); stats.Streams {
	case recorder.StreamsConfirmed:
		if !r.sink.soundOnly {
			r.log.Info("the video of participants is recorded; the page decodes none", "part", r.sink.part)
			r.sink.soundOnly = true
			r.report.DropPicture()
		}
	case recorder.StreamsMissing:
		r.settings.Streams = false // of the recorders that follow
		r.log.Warn("the page is recorded instead of the video of participants", "reason", stats.StreamsProblem)
		return r.events.emitOrExit(job.BotMediaFault, faultData{Fault: faultNoStreams, State: "not_repaired", Detail: stats.StreamsProblem})
	}
	return nil
}

// audioStatus is what is known about the meeting's sound.
type audioStatus struct {
	last      time.Time // when the captured sound was last audible; zero if never
	received  time.Time // when the page last received sound; zero if never
	monitored bool      // the capture reports its sound
	faulty    bool      // the capture is known to be silent although others speak
}

// maxSpeechSilence is how long the meeting's sound may have been silent while a
// participant speaks.
const maxSpeechSilence = 1500 * time.Millisecond

// withMarked returns the participants of an observation, of whom those speak whom the page
// marks, when the levels of all audio are 0 although the recorded sound is audible.
func withMarked(seen meeting.Observation, stats recorder.Stats, monitored bool) []meeting.Participant {
	if len(seen.Marked) == 0 || !monitored || stats.LastSoundAt.IsZero() || stats.LastReportAt.Sub(stats.LastSoundAt) >= maxSpeechSilence {
		return seen.Participants
	}
	heard := slices.Clone(seen.Participants)
	for i := range heard {
		heard[i].Speaking = slices.Contains(seen.Marked, heard[i].ID)
	}
	return heard
}

// withoutSilent returns participants of whom nobody speaks while the meeting's sound
// is silent. Pages mark the last speaker, or one whose sound does not arrive.
func withoutSilent(participants []meeting.Participant, stats recorder.Stats, monitored bool) []meeting.Participant {
	if !monitored || stats.LastReportAt.Sub(stats.LastSoundAt) < maxSpeechSilence {
		return participants
	}
	silent := slices.Clone(participants)
	for i := range silent {
		silent[i].Speaking = false
	}
	return silent
}
