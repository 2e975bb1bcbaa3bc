// Package recorder records a page of a running browser, picture and sound or the
// sound alone, into one fragmented MP4 stream that is playable up to its last chunk whatever
// happens afterwards. A second tab, the recorder tab, captures the page's tab,
// encodes it in the browser and posts the chunks to a listener of the bot on
// the loopback interface. The package must know nothing about meetings, jobs or
// where chunks go: it records a page and hands chunks to a Sink.
package recorder

import (
	"context"
	_ "embed" // for the script
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"standin/internal/bot/browser"
)

const (
	// keyFrameInterval is how often a fragment becomes complete, and timeslice
	// how often the encoder is asked for complete ones: their sum bounds what
	// a killed browser takes with it.
	keyFrameInterval = time.Second
	timeslice        = 500 * time.Millisecond

	// captureTimeout bounds the tab capture. The browser picks the tab at once
	// or, when no tab has the title, waits for a user for ever.
	captureTimeout = 10 * time.Second

	// settleTime is how long the picture must have its size before recording
	// starts: the bar was seen to begin to unfold up to 0.3 s after the
	// capture.
	settleTime = 350 * time.Millisecond

	// watchInterval is how often the chunk flow and the picture's size are
	// looked at.
	watchInterval = 500 * time.Millisecond

	// shutdownTimeout bounds the end of the listener. Its exchanges are short
	// and their peer, the recorder tab, is closed by then.
	shutdownTimeout = 5 * time.Second
)

//go:embed receivers.js
var receiversScript string

// Prepare makes the page to be recorded keep sound and picture of its calls
// together. It has to be called before the page is opened.
func Prepare(ctx context.Context, meeting *browser.Page) error {
	for _, script := range []string{receiversScript, voicesScript} {
		if err := meeting.EvalOnNewDocument(ctx, script); err != nil {
			return fmt.Errorf("preparing the page for recording: %w", err)
		}
	}
	return nil
}

// Chunk is a piece of the recording. All chunks of one recording, one after the
// other, are one MP4 file.
type Chunk struct {
	// Sequence counts from 0 without a gap.
	Sequence int
	// Data belongs to the receiver.
	Data []byte
	// Captured is when the chunk arrived from the browser.
	Captured time.Time
	// Offset is how much had been recorded, pauses left out, when the chunk
	// left the encoder.
	Offset time.Duration
}

// Sink takes the chunks, in order and one at a time. A chunk is durable when
// Append returns nil; until then the browser keeps it and offers it again, so a
// failed Append must leave nothing of the chunk behind.
type Sink interface {
	Append(Chunk) error
}

// ErrCaptureEnded is the end of a recording whose page was closed or crashed.
// All that was recorded has been handed to the sink.
var ErrCaptureEnded = errors.New("the recorded page is gone")

// ErrStopTimeout is the end of a recording whose Stop ran out of time: what was
// still in the browser is lost.
var ErrStopTimeout = errors.New("the end of the recording was not waited for")

// EncoderError is the end of a recording whose encoder failed. All that was
// recorded has been handed to the sink.
type EncoderError struct {
	Detail string
}

// Error tells what the encoder reported.
func (e *EncoderError) Error() string { return "the browser's encoder failed: " + e.Detail }

// StallError is the end of a recording that brought no chunk for too long.
type StallError struct {
	// Since is when the last chunk was taken, or recording began or resumed.
	Since time.Time
	// Cause is the last failure of the sink, if that is what stopped the flow.
	Cause error
}

// Error tells since when nothing came.
func (e *StallError) Error() string {
	text := "nothing was recorded since " + e.Since.UTC().Format(time.RFC3339)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the failure of the sink.
func (e *StallError) Unwrap() error { return e.Cause }

// Recorder is a recording in progress.
type Recorder struct {
	settings Settings
	browser  *browser.Browser
	meeting  *browser.Page
	tab      *browser.Page
	intake   *intake
	voices   *voices // nil where none are wanted

	startedAt time.Time

	abandoned   chan struct{} // Stop gave up waiting
	abandonOnce sync.Once
	done        chan struct{}
	err         error // valid once done is closed
}

// Start begins to record the meeting page and returns when the encoder runs. It
// opens a page of its own in the same browser. ctx bounds the start only. While
// the browser picks the tab, for well under a second, the page bears another
// title.
func Start(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings, sink Sink) (*Recorder, error) {
	settings = settings.withDefaults()
	intake, err := listen(ctx, settings, sink)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		settings:  settings,
		browser:   b,
		meeting:   meeting,
		intake:    intake,
		abandoned: make(chan struct{}),
		done:      make(chan struct{}),
	}
	if err := r.open(ctx); err != nil {
		if r.tab != nil {
			r.show()
			r.tab.Close()
		}
		return nil, errors.Join(fmt.Errorf("starting to record: %w", err), intake.close())
	}
	r.voices = hear(meeting, settings)
	go r.watch()
	return r, nil
}

// open sets up the recorder tab and starts the encoder.
func (r *Recorder) open(ctx context.Context) error {
	if err := r.openTab(ctx); err != nil {
		return err
	}
	if !r.settings.AudioOnly {
		if err := r.fit(ctx); err != nil {
			return err
		}
	}
	var err error
	if r.startedAt, err = r.encoder(ctx, "standin.record()"); err != nil {
		return fmt.Errorf("starting the encoder: %w", err)
	}
	r.intake.resume(time.Now())
	return nil
}

// openTab opens the recorder tab and makes it capture the meeting tab.
func (r *Recorder) openTab(ctx context.Context) (err error) {
	if r.tab, err = r.browser.NewPage(ctx); err != nil {
		return err
	}
	if err := r.tab.Navigate(ctx, r.intake.address()); err != nil {
		return fmt.Errorf("opening the recorder tab: %w", err)
	}
	return r.capture(ctx)
}

// startedAt tells when the encoder started by the clock of this process, which
// goes on evenly however the machine's is set. The browser's word is exact, but
// for a clock that was set since the tab was opened.
func startedAt(told, heard time.Time) time.Time {
	const believable = time.Second
	if late := heard.Sub(told); late.Abs() < believable {
		return heard.Add(-late)
	}
	return heard
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// capture makes the recorder tab capture the meeting tab, which the browser
// finds by the title that the meeting tab bears for that moment.
func (r *Recorder) capture(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	title := r.browser.CaptureTitle()
	if err := r.meeting.Eval(ctx, call(holdTitleScript, title), nil); err != nil {
		return fmt.Errorf("marking the page to capture: %w", err)
	}
	defer func() {
		releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), captureTimeout)
		defer cancel()
		if releaseErr := r.meeting.Eval(releasing, releaseTitleScript, nil); err == nil && releaseErr != nil {
			err = fmt.Errorf("putting the page's title back: %w", releaseErr)
		}
	}()
	if err := awaitCondition(ctx, func() (bool, error) {
		known, err := r.meeting.Title(ctx)
		return known == title, err
	}); err != nil {
		return fmt.Errorf("marking the page to capture: %w", err)
	}
	err = r.tab.EvalWithGesture(ctx, call("standin.capture", map[string]any{
		"width":              r.settings.Width,
		"height":             r.settings.Height,
		"framesPerSecond":    r.settings.FramesPerSecond,
		"videoBitsPerSecond": r.settings.VideoBitsPerSecond,
		"audioBitsPerSecond": r.settings.AudioBitsPerSecond,
		"soundThreshold":     r.settings.SoundThreshold,
		"mimeType":           r.settings.mimeType(),
		"audioOnly":          r.settings.AudioOnly,
		"keyFrameIntervalMs": keyFrameInterval.Milliseconds(),
		"timesliceMs":        timeslice.Milliseconds(),
	}), nil)
	if err != nil {
		return fmt.Errorf("capturing the page: %w", err)
	}
	return nil
}

// fit makes sure that the page and the captured picture have the wanted size
// before the encoder fixes it. A Chromium that shows a bar to announce the
// capture does so a moment later and takes the bar's height from the page, so
// the size has to hold for a while.
func (r *Recorder) fit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	var fitSince time.Time
	err := awaitCondition(ctx, func() (bool, error) {
		fits, err := r.fits(ctx)
		switch {
		case err != nil:
			return false, err
		case !fits:
			fitSince = time.Time{}
			return false, r.meeting.SetContentSize(ctx, r.settings.Width, r.settings.Height)
		case fitSince.IsZero():
			fitSince = time.Now()
		}
		return time.Since(fitSince) >= settleTime, nil
	})
	if err != nil {
		return fmt.Errorf("giving the page its size: %w", err)
	}
	r.minimize(ctx, true)
	return nil
}

// minimize keeps the captured page from being drawn for its window too, at which
// nobody looks: that is a good part of what a recording costs, and no more than
// that depends on it.
func (r *Recorder) minimize(ctx context.Context, minimized bool) {
	if err := r.meeting.SetMinimized(ctx, minimized); err != nil && ctx.Err() == nil {
		r.settings.Log.Debug("the page's window does not change", "minimized", minimized, "error", err)
	}
}

// fits reports whether page and captured picture have the wanted size.
func (r *Recorder) fits(ctx context.Context) (bool, error) {
	var page, picture struct{ Width, Height int }
	if err := r.meeting.Eval(ctx, "({width: innerWidth, height: innerHeight})", &page); err != nil {
		return false, err
	}
	if err := r.tab.Eval(ctx, "standin.size()", &picture); err != nil {
		return false, err
	}
	return page.Width == r.settings.Width && page.Height == r.settings.Height && picture == page, nil
}

// StartedAt returns when the encoder started: the recording's time 0.
func (r *Recorder) StartedAt() time.Time { return r.startedAt }

// Pause suspends the recording. The time until Resume does not exist in the
// recorded file. It returns when the encoder was suspended.
func (r *Recorder) Pause(ctx context.Context) (at time.Time, err error) {
	r.intake.pause()
	if at, err = r.encoder(ctx, "standin.suspend()"); err != nil {
		r.intake.resume(time.Now())
		return time.Time{}, fmt.Errorf("pausing the recording: %w", err)
	}
	r.voices.set(ctx, false)
	return at, nil
}

// Resume continues a paused recording. It returns when the encoder went on.
func (r *Recorder) Resume(ctx context.Context) (at time.Time, err error) {
	if at, err = r.encoder(ctx, "standin.resume()"); err != nil {
		return time.Time{}, fmt.Errorf("resuming the recording: %w", err)
	}
	r.intake.resume(time.Now())
	r.voices.set(ctx, true)
	return at, nil
}

// encoder has the recorder tab do something to the encoder, and returns when it
// did.
func (r *Recorder) encoder(ctx context.Context, script string) (time.Time, error) {
	var done struct{ AtMs, AgoMs float64 }
	if err := r.tab.Eval(ctx, script, &done); err != nil {
		return time.Time{}, err
	}
	return startedAt(time.UnixMicro(int64(done.AtMs*1000)), time.Now().Add(-milliseconds(done.AgoMs))), nil
}

// Stats returns how the recording is going.
func (r *Recorder) Stats() Stats { return r.intake.stats() }

// Done is closed when the recording is over, for whatever reason, and every
// chunk that could be had was handed to the sink.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Err tells why the recording is over: nil after Stop, else ErrCaptureEnded,
// ErrStopTimeout, a *StallError, an *EncoderError, or an error of package browser.
// It is nil before Done is closed.
func (r *Recorder) Err() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// Stop ends the recording and returns when its last chunk was handed to the
// sink. When ctx ends first, what is still in the browser is lost and the
// context's error is returned. A recording that is already over returns how it
// ended.
func (r *Recorder) Stop(ctx context.Context) error {
	var hearing sync.WaitGroup
	hearing.Go(func() { r.voices.set(ctx, false) })
	defer hearing.Wait()
	// The answer comes through the intake: the tab is closed once it is there.
	if err := r.tab.Eval(ctx, stopScript(reasonStopped), nil); err != nil {
		select {
		case <-r.done:
			return r.err
		case <-ctx.Done():
		}
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		r.abandonOnce.Do(func() { close(r.abandoned) })
		<-r.done
		return fmt.Errorf("stopping the recording: %w", ctx.Err())
	}
}

// watch waits for the end of the recording, cleans up and announces it.
func (r *Recorder) watch() {
	defer close(r.done)
	r.err = r.untilEnd()
	r.voices.close()
	r.show()
	r.tab.Close()
	if err := r.intake.close(); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

// untilEnd returns why the recording is over.
func (r *Recorder) untilEnd() error {
	again := time.NewTicker(watchInterval)
	defer again.Stop()
	pageCrashed := r.meeting.Crashed()
	for {
		select {
		case report := <-r.intake.ended:
			return report.err()
		case <-r.browser.Done():
			return r.browser.Err()
		case <-r.tab.Crashed():
			return fmt.Errorf("the recorder tab: %w", browser.ErrPageCrashed)
		case <-pageCrashed:
			// The browser goes on capturing a crashed tab. What is recorded
			// is fetched, and the tab's word ends the recording.
			pageCrashed = nil
			r.request(stopScript(reasonCaptureEnded))
		case <-r.abandoned:
			return ErrStopTimeout
		case now := <-again.C:
			if err := r.intake.stalled(now, r.settings.ChunkTimeout); err != nil {
				return err
			}
			r.refit()
		}
	}
}

// refit gives the page its size back when the browser's bars have changed it
// again. Failing is no reason to end a recording: the next look tries again.
func (r *Recorder) refit() {
	stats := r.intake.stats()
	if stats.Width == 0 || (stats.Width == r.settings.Width && stats.Height == r.settings.Height) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), watchInterval)
	defer cancel()
	if r.meeting.SetContentSize(ctx, r.settings.Width, r.settings.Height) == nil {
		r.minimize(ctx, true)
	}
}

// show gives a page that was minimized a window that is seen again, before it is no
// longer captured.
func (r *Recorder) show() {
	if r.settings.AudioOnly {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), watchInterval)
	defer cancel()
	r.minimize(ctx, false)
}

// request runs a script in the recorder tab, whose effect shows elsewhere.
func (r *Recorder) request(script string) {
	ctx, cancel := context.WithTimeout(context.Background(), watchInterval)
	defer cancel()
	_ = r.tab.Eval(ctx, script, nil)
}

// stopScript makes the recorder tab stop and report the reason once it has
// handed everything over.
func stopScript(reason string) string { return "void " + call("standin.stop", reason) }

// call returns the script that calls a function with one JSON argument.
func call(function string, argument any) string {
	// Maps of numbers and strings always encode.
	encoded, _ := json.Marshal(argument)
	return function + "(" + string(encoded) + ")"
}

// awaitCondition looks until the condition holds, fails or ctx ends.
func awaitCondition(ctx context.Context, condition func() (bool, error)) error {
	const pause = 20 * time.Millisecond
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		holds, err := condition()
		if holds || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
