package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/job"
)

// maxTakes is how often the recorder is started in one visit. A recorder that
// keeps ending will not become better.
const maxTakes = 10

// take is the recording of one visit: one stretch after another, usually only
// one.
type take struct {
	*bot
	browser *browser.Browser
	page    *browser.Page

	recorder *recorder.Recorder // nil while nothing is recorded
	starts   int
	never    chan struct{}
}

func newTake(b *bot, chromium *browser.Browser, page *browser.Page) *take {
	return &take{bot: b, browser: chromium, page: page, never: make(chan struct{})}
}

// start begins a stretch, unless it was ordered that nothing be recorded: an
// order outlives recorders and browsers.
func (t *take) start(ctx context.Context) error {
	if t.stopped || t.paused {
		return nil
	}
	if t.starts == maxTakes {
		return fmt.Errorf("the recorder was started %d times", t.starts)
	}
	t.starts++
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	number := t.report.nextStretch()
	started, err := recorder.Start(ctx, t.browser, t.page, t.Recorder, &sink{bot: t.bot, stretch: number})
	if err != nil {
		return err
	}
	t.recorder = started
	t.Log.Info("recording", "stretch", number, "picture_lag", started.PictureLag())
	t.report.began(number, started.StartedAt())
	return t.tell(job.BotRecordingStarted, nil)
}

// ended is closed when the recorder has ended by itself.
func (t *take) ended() <-chan struct{} {
	if t.recorder == nil {
		return t.never
	}
	return t.recorder.Done()
}

// close ends the stretch of a recorder that has ended, and returns why it did.
func (t *take) close() error {
	err := t.recorder.Err()
	t.endStretch(err)
	return err
}

// endStretch notes the end of a stretch; why is nil when it ended in order.
func (t *take) endStretch(why error) {
	t.kept += t.recorder.Stats().Recorded
	t.report.ended(time.Now(), why)
	t.recorder = nil
}

// pause suspends the recording.
func (t *take) pause(ctx context.Context) error {
	if t.recorder == nil || t.paused {
		return errors.New("nothing is being recorded")
	}
	if err := t.recorder.Pause(ctx); err != nil {
		return err
	}
	t.paused = true
	t.report.paused(time.Now())
	return t.tell(job.BotRecordingPaused, nil)
}

// resume goes on with a paused recording.
func (t *take) resume(ctx context.Context) error {
	if !t.paused {
		return errors.New("no recording is paused")
	}
	if t.recorder == nil { // it was lost during the pause
		t.paused = false
		err := t.start(ctx)
		t.paused = err != nil
		return err
	}
	if err := t.recorder.Resume(ctx); err != nil {
		return err
	}
	t.paused = false
	t.report.resumed(time.Now())
	return t.tell(job.BotRecordingStarted, nil)
}

// stop ends the recording for good, as ordered.
func (t *take) stop(ctx context.Context) error {
	if t.stopped {
		return nil
	}
	t.stopped, t.paused = true, false
	return errors.Join(t.finish(ctx), t.tell(job.BotRecordingStopped, nil))
}

// finish ends the stretch that is being recorded.
func (t *take) finish(ctx context.Context) error {
	if t.recorder == nil {
		return nil
	}
	err := t.recorder.Stop(ctx)
	if err == nil {
		err = t.recorder.Err()
	}
	t.endStretch(err)
	return err
}

// note brings the report up to date with what was recorded.
func (t *take) note() {
	if err := t.report.keep(); err != nil {
		t.Log.Error("cannot keep the report", "error", err)
	}
}

// length is how long the recording is so far.
func (t *take) length() time.Duration {
	if t.recorder == nil {
		return t.kept
	}
	return t.kept + t.recorder.Stats().Recorded
}

// lastSound is when something was last heard. Before a recorder listened
// nobody did: that is no silence of the meeting.
func (t *take) lastSound() time.Time {
	if t.recorder == nil {
		return time.Now()
	}
	if heard := t.recorder.LastSoundAt(); heard.After(t.recorder.StartedAt()) {
		return heard
	}
	return t.recorder.StartedAt()
}

// sink puts the chunks of a stretch into the spool, from where they are
// uploaded at once.
type sink struct {
	*bot
	stretch int
}

// Append implements recorder.Sink.
func (s *sink) Append(chunk recorder.Chunk) error {
	if err := s.spool.Append(s.stretch, chunk.Sequence, chunk.Data); err != nil {
		return fmt.Errorf("spool segment %d: %w", chunk.Sequence, err)
	}
	s.report.recordedSegment(s.stretch, chunk.Sequence)
	return nil
}
