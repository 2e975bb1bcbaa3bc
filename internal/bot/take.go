package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	// recordTime bounds the start of the recorder.
	recordTime = 20 * time.Second
	// A recorder that keeps ending will not become better: so many starts
	// within so long a time are enough.
	mostStarts   = 10
	startsWindow = 10 * time.Minute
	// mostUnrecorded is how many browsers may fail to record a meeting: each
	// asks to be let in anew.
	mostUnrecorded = 2
	// deafAfter is how long the recorder tab may be silent about the sound
	// before nobody counts as listening.
	deafAfter = 10 * time.Second
	// roomToGoOn is how many bytes there must be room for before a recording
	// that ended for want of it goes on, about a minute's; at most a quarter of
	// what the spool may hold.
	roomToGoOn = 8 << 20
)

// take is the recording of one visit: one stretch after another, usually only
// one.
type take struct {
	recorder *recorder.Recorder     // nil while nothing is recorded
	listener *recorder.SoundMonitor // nil but where nothing is to be recorded
	stopping bool                   // the stretch is being ended
	began    bool                   // something was recorded by this browser
	starts   limit
}

func newTake() take { return take{starts: limit{most: mostStarts, within: startsWindow}} }

// ended is closed when the recorder has ended by itself.
func (t *take) ended() <-chan struct{} {
	if t.recorder == nil || t.stopping {
		return nil
	}
	return t.recorder.Done()
}

// stats are those of whoever listens.
func (t *take) stats() (recorder.Stats, bool) {
	switch {
	case t.recorder != nil:
		return t.recorder.Stats(), true
	case t.listener != nil:
		return t.listener.Stats(), true
	}
	return recorder.Stats{}, false
}

// hear keeps when something was last heard.
func (v *visit) hear() {
	if stats, ok := v.take.stats(); ok && stats.LastSoundAt.After(v.heard) {
		v.heard = stats.LastSoundAt
	}
}

// deaf reports whether nobody listens to the meeting: then its silence is no
// evidence.
func (v *visit) deaf(now time.Time) bool {
	stats, ok := v.take.stats()
	return !ok || now.Sub(stats.LastReportAt) > deafAfter
}

// wanted reports whether a stretch should be recorded: an order outlives
// recorders and browsers.
func (v *visit) wanted() bool {
	return v.phase == inside && !v.stopped && !v.paused && !v.full && v.take.recorder == nil && (!v.RequirePermission || v.permitted)
}

// record begins a stretch, unless it was ordered that nothing be recorded.
func (v *visit) record(ctx context.Context) {
	var number int
	var listener *recorder.SoundMonitor
	var started *recorder.Recorder
	v.desk.add(ctx, errand{
		name: "start recording", patience: recordTime,
		due: func() bool {
			if v.wanted() {
				listener, v.take.listener = v.take.listener, nil
				return true
			}
			return false
		},
		do: func(ctx context.Context) (err error) {
			if listener != nil {
				listener.Close()
			}
			number = v.report.nextStretch()
			started, err = recorder.Start(ctx, v.browser, v.page, v.recorderSettings(), &sink{bot: v.bot, stretch: number})
			return err
		},
		then: func(ctx context.Context, err error) (ending, bool) {
			if err != nil {
				return v.recordingFailed(ctx, err)
			}
			v.take.recorder, v.take.began = started, true
			v.Log.Info("recording", "stretch", number)
			v.report.began(number, started.StartedAt())
			v.report.roomAgain(started.StartedAt())
			return v.told(job.BotRecordingStarted, nil)
		},
	})
	v.listen(ctx) // where nothing is to be recorded
}

// recorderSettings are those of a stretch.
func (b *bot) recorderSettings() recorder.Settings {
	settings := b.Recorder
	settings.Log = b.Log
	if b.ParticipantAudio {
		settings.ParticipantAudio = b.voices
	}
	return settings
}

// recordingFailed tries again while that makes sense; then another browser may
// do better.
func (v *visit) recordingFailed(ctx context.Context, err error) (ending, bool) {
	if v.phase != inside || ctx.Err() != nil {
		return ending{}, false // the page went away under it
	}
	var gone *browser.GoneError
	if errors.As(err, &gone) || errors.Is(err, browser.ErrPageCrashed) {
		return v.lost(err), true
	}
	if full := new(spool.FullError); errors.As(err, &full) {
		v.outOfRoom(ctx, full)
		return ending{}, false
	}
	v.Log.Warn("the recorder does not run", "error", err)
	if _, ok := v.take.starts.take(time.Now()); ok && v.take.began {
		v.record(ctx)
		return ending{}, false
	}
	v.unrecorded++
	return ending{
		code: job.InternalError, reason: reasonNoRecording, again: v.unrecorded < mostUnrecorded, unclear: true,
		detail: fmt.Sprintf("The meeting cannot be recorded: %v", err),
	}, true
}

// outOfRoom stays in the meeting though nothing more can be kept: what the bot
// holds is still to be handed in, and with that there will be room again.
func (v *visit) outOfRoom(ctx context.Context, full *spool.FullError) {
	v.Log.Error("nothing more can be kept; the recording goes on as soon as there is room", "error", full)
	v.full = true
	v.report.outOfRoom(time.Now())
	v.listen(ctx)
}

// recordAgain goes on with the recording once there is room again.
func (v *visit) recordAgain(ctx context.Context) {
	if !v.full || !v.spool.HasSpace(min(roomToGoOn, v.spool.Limit()/4)) {
		return
	}
	v.Log.Info("there is room again")
	v.full = false
	v.record(ctx)
}

// recorderEnded begins a new stretch after the recorder ended by itself.
func (v *visit) recorderEnded(ctx context.Context) (ending, bool) {
	why := v.take.recorder.Err()
	v.closeStretch(why)
	var gone *browser.GoneError
	if errors.As(why, &gone) || errors.Is(why, browser.ErrPageCrashed) {
		return v.lost(why), true
	}
	if why == nil {
		why = errors.New("it ended by itself")
	}
	return v.recordingFailed(ctx, why)
}

// closeStretch notes the end of a stretch; why is nil when it ended in order.
func (v *visit) closeStretch(why error) {
	v.hear()
	v.kept += v.take.recorder.Stats().Recorded
	v.report.ended(time.Now(), why)
	v.take.recorder, v.take.stopping = nil, false
}

// endStretch ends what is being recorded, for a reason that the manifest gives
// to what is missing after it.
func (v *visit) endStretch(ctx context.Context, reason string) {
	v.stopStretch(ctx, nil, func(ended bool, _ error) {
		if ended {
			v.report.interrupted(reason)
		}
	})
}

// stopStretch ends what is being recorded, in order, if anything is.
func (v *visit) stopStretch(ctx context.Context, command *ingest.Command, then func(ended bool, err error)) {
	var running *recorder.Recorder
	v.desk.add(ctx, errand{
		name: "stop recording", patience: finishTime, command: command, whole: true,
		due: func() bool {
			running = v.take.recorder
			v.take.stopping = running != nil
			return true
		},
		do: func(ctx context.Context) error {
			if running == nil {
				return nil
			}
			return running.Stop(ctx)
		},
		then: func(_ context.Context, err error) (ending, bool) {
			if running != nil {
				v.closeStretch(err)
			}
			then(running != nil, err)
			return ending{}, false
		},
	})
}

// pause suspends the recording.
func (v *visit) pause(ctx context.Context, command ingest.Command) {
	v.turn(ctx, turning{
		command: command, refused: func() bool { return v.paused || v.stopped }, why: "nothing is being recorded",
		do: (*recorder.Recorder).Pause,
		then: func(ctx context.Context, _ bool, at time.Time) (ending, bool) {
			v.paused = true
			v.report.paused(at)
			v.listen(ctx)
			return v.told(job.BotRecordingPaused, nil)
		},
	})
}

// resume goes on with a paused recording.
func (v *visit) resume(ctx context.Context, command ingest.Command) {
	v.turn(ctx, turning{
		command: command, refused: func() bool { return !v.paused }, why: "no recording is paused",
		do: (*recorder.Recorder).Resume,
		then: func(ctx context.Context, running bool, at time.Time) (ending, bool) {
			v.paused = false
			v.report.resumed(at)
			if !running { // it was lost during the pause
				v.record(ctx)
				return ending{}, false
			}
			return v.told(job.BotRecordingStarted, nil)
		},
	})
}

// turning is an order to suspend the encoder or to have it go on.
type turning struct {
	command ingest.Command
	refused func() bool
	why     string // it is refused
	do      func(*recorder.Recorder, context.Context) (time.Time, error)
	then    func(ctx context.Context, running bool, at time.Time) (ending, bool)
}

// turn obeys such an order; where no encoder runs, it holds for the next.
func (v *visit) turn(ctx context.Context, t turning) {
	var running *recorder.Recorder
	var refused error
	var at time.Time
	v.desk.add(ctx, errand{
		name: string(t.command.Kind), patience: v.Timeouts.Command, command: &t.command,
		due: func() bool {
			running = v.take.recorder
			if t.refused() {
				refused = errors.New(t.why)
			}
			return true
		},
		do: func(ctx context.Context) (err error) {
			at = time.Now()
			if refused != nil || running == nil {
				return refused
			}
			at, err = t.do(running, ctx)
			return err
		},
		then: func(ctx context.Context, err error) (ending, bool) {
			v.obeyed(t.command, err)
			if err != nil {
				return ending{}, false
			}
			return t.then(ctx, running != nil, at)
		},
	})
}

// stopRecording ends the recording for good, as ordered.
func (v *visit) stopRecording(ctx context.Context, command ingest.Command) {
	if v.stopped {
		v.obeyed(command, errors.New("it is stopped already"))
		return
	}
	v.stopStretch(ctx, &command, func(_ bool, err error) {
		v.stopped, v.paused = true, false
		v.obeyed(command, err)
		if err := v.tell(job.BotRecordingStopped, nil); err != nil {
			v.Log.Error("cannot tell that the recording has stopped", "error", err)
		}
		v.listen(ctx)
	})
}

// listen follows the meeting's sound where nothing is recorded of it: a paused
// or stopped recording does not end the job's interest in silence. Before the
// host permitted to record nobody listens.
func (v *visit) listen(ctx context.Context) {
	needed := func() bool {
		return v.phase == inside && v.take.recorder == nil && v.take.listener == nil && (v.paused || v.stopped || v.full)
	}
	if !needed() {
		return
	}
	var listener *recorder.SoundMonitor
	v.desk.add(ctx, errand{
		name: "listen", patience: recordTime,
		due: needed,
		do: func(ctx context.Context) (err error) {
			listener, err = recorder.MonitorSound(ctx, v.browser, v.page, v.Recorder)
			return err
		},
		then: func(_ context.Context, err error) (ending, bool) {
			if err != nil {
				v.Log.Warn("cannot listen to the meeting; trying again later", "error", err)
				return ending{}, false
			}
			v.take.listener = listener
			return ending{}, false
		},
	})
}

// listenAgain listens where that failed before, or has ended.
func (v *visit) listenAgain(ctx context.Context) {
	if v.take.listener != nil {
		select {
		case <-v.take.listener.Done():
			v.take.listener = nil
		default:
		}
	}
	v.listen(ctx)
}

// note brings the report up to date with what was recorded.
func (b *bot) note() {
	if err := b.report.keep(); err != nil {
		b.Log.Error("cannot keep the report", "error", err)
	}
}

// length is how long the recording is so far.
func (v *visit) length() time.Duration {
	if v.take.recorder == nil {
		return v.kept
	}
	return v.kept + v.take.recorder.Stats().Recorded
}

// sink puts the chunks of a stretch into the spool, from where they are
// uploaded at once.
type sink struct {
	*bot
	stretch int
}

// Append implements recorder.Sink.
func (s *sink) Append(chunk recorder.Chunk) error {
	if err := s.spool.AppendSegment(s.stretch, chunk.Sequence, chunk.Data); err != nil {
		return fmt.Errorf("spool segment %d: %w", chunk.Sequence, err)
	}
	s.report.recordedSegment(s.stretch, chunk.Sequence)
	return nil
}
