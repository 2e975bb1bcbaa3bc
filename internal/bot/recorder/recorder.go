// Package recorder records video and audio, or audio only, of a browser page as one
// fragmented MP4 stream, which is playable up to its last complete chunk. A second
// tab, the recorder tab, captures the tab of the page, encodes it in the browser,
// and posts the chunks to an HTTP server of the bot on the loopback interface. The
// package passes the chunks to a Sink. It does not depend on meetings or jobs.
package recorder

import (
	"context"
	_ "embed" // for the script
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"standin/internal/bot/browser"
)

const (
	// A fragment is complete at each key frame, and the encoder delivers complete
	// fragments after each timeslice. The sum limits what a killed browser loses.
	keyFrameInterval = time.Second
	timeslice        = 500 * time.Millisecond

	// captureTimeout limits the tab capture. The browser selects the tab at once,
	// or waits for a user if no tab has the title.
	captureTimeout = 10 * time.Second

	// stableSizeTime is how long the video must have its size before recording
	// starts: an infobar appears up to 0.3 s after the capture.
	stableSizeTime = 350 * time.Millisecond

	// checkInterval is how often missing chunks and the size of the video are
	// checked.
	checkInterval = 500 * time.Millisecond

	// maxChunkDelay is how long a browser that runs again may take to send the next chunk.
	maxChunkDelay = 3 * time.Second

	// shutdownTimeout limits the shutdown of the chunk server. Its requests are
	// short, and the recorder tab is closed by then.
	shutdownTimeout = 5 * time.Second
)

//go:embed receivers.js
var receiversScript string

//go:embed microphone.js
var microphoneScript string

//go:embed audioonly.js
var audioOnlyScript string

// Prepare installs the scripts that a recorded page needs. It must be called before
// the page is loaded. The page gets a microphone whose sound is not processed. With
// AudioOnly, it receives no video over WebRTC.
func Prepare(ctx context.Context, meeting *browser.Page, settings Settings) error {
	scripts := []string{receiversScript, microphoneScript, participantAudioScript, participantSoundScript}
	if settings.AudioOnly {
		scripts = append(scripts, audioOnlyScript)
	}
	if settings.Streams {
		// The page's policy may forbid the worker.
		if err := meeting.BypassContentSecurityPolicy(ctx); err != nil {
			return fmt.Errorf("prepare the page for recording: %w", err)
		}
		scripts = append(scripts, streamsScript)
	}
	for _, script := range scripts {
		if err := meeting.EvalOnNewDocument(ctx, script); err != nil {
			return fmt.Errorf("prepare the page for recording: %w", err)
		}
	}
	return nil
}

// Chunk is a part of a recording. The chunks of a recording, concatenated, are one
// MP4 file.
type Chunk struct {
	// Sequence is the index of the chunk, from 0 without gaps.
	Sequence int
	// Data is owned by the sink.
	Data []byte
	// Offset is the duration recorded so far, without pauses, when the chunk left
	// the encoder.
	Offset time.Duration
}

// Sink stores chunks. Append is called in order and not concurrently. When it
// returns nil, the chunk is durable. When it fails, it must leave nothing of the
// chunk behind: the browser keeps the chunk and sends it again.
type Sink interface {
	Append(Chunk) error
}

// Recording is a recording in progress: a Recorder, or one of a platform's own streams. Recorder's methods
// say what each does.
type Recording interface {
	StartedAt() time.Time
	Pause(context.Context) (time.Time, error)
	Resume(context.Context) (time.Time, error)
	Stats() Stats
	Done() <-chan struct{}
	Err() error
	Stop(context.Context) error
	Close()
}

// Recorder records a page.
type Recorder struct {
	settings Settings
	browser  *browser.Browser
	meeting  *browser.Page
	tab      *browser.Page // the recorder tab
	server   *chunkServer
	tracks   *participantAudio // nil if participants' audio is not recorded
	streams  *streams          // nil unless participants' video is recorded
	voice    *participantAudio // the same for the bot's own sound, in the recorder tab
	ownTrack atomic.Pointer[string]
	sound    *liveSound // nil if nobody listens

	startedAt time.Time

	abandoned   chan struct{} // closed when Stop times out
	abandonOnce sync.Once
	done        chan struct{}
	err         error // valid once done is closed
}

// Start starts to record the meeting page and returns when the encoder runs. It
// opens another page in the same browser. ctx applies to the start only. While the
// browser selects the tab, for less than a second, the page has another title.
func Start(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings, sink Sink) (*Recorder, error) {
	return start(ctx, b, meeting, settings, sink, "start recording", func(r *Recorder) (err error) {
		if !r.settings.AudioOnly {
			if err := r.resize(ctx); err != nil {
				return err
			}
		}
		if r.startedAt, err = r.controlEncoder(ctx, "standin.record()"); err != nil {
			return fmt.Errorf("start the encoder: %w", err)
		}
		r.server.resume(time.Now())
		return nil
	})
}

// MonitorSound starts to measure the level of a prepared page's sound without recording it, and
// passes the sound to Settings.LiveSound. Like Start, it opens another page in the same browser,
// and ctx applies to the start only. Close ends it.
func MonitorSound(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings) (*Recorder, error) {
	return start(ctx, b, meeting, settings, noChunks{}, "monitor sound", func(r *Recorder) error {
		err := r.tab.EvalInPage(ctx, "standin.monitor()", nil)
		r.startedAt = time.Now()
		return err
	})
}

// noChunks is the sink of MonitorSound, which produces no chunks.
type noChunks struct{}

// Append implements Sink.
func (noChunks) Append(Chunk) error { return errors.New("unexpected chunk of a sound monitor") }

// start opens the recorder tab and begins to capture.
func start(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings, sink Sink, action string,
	begin func(*Recorder) error) (*Recorder, error) {
	settings = settings.withDefaults()
	server, err := startChunkServer(ctx, settings, sink)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		settings: settings, browser: b, meeting: meeting, server: server, abandoned: make(chan struct{}), done: make(chan struct{}),
	}
	running := context.WithoutCancel(ctx)
	if err = r.openTab(ctx); err == nil {
		err = begin(r)
	}
	if err != nil {
		if r.tab != nil {
			r.restore(running)
			r.tab.Close()
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", action, err), server.close())
	}
	r.tracks = startParticipantAudio(running, meeting, settings)
	if settings.Voice {
		r.voice = startParticipantAudio(running, r.tab, settings)
	}
	r.streams = startStreams(running, r)
	r.sound = startLiveSound(running, r.tab, meeting, settings, r.startedAt)
	go func() {
		defer close(r.done)
		r.err = r.waitForEnd(running)
		r.sound.close()
		r.tracks.close()
		r.streams.close(running)
		r.voice.close()
		r.restore(running)
		r.tab.Close()
		r.err = errors.Join(r.err, r.server.close())
	}()
	return r, nil
}

// openTab opens the recorder tab and makes it capture the meeting tab.
func (r *Recorder) openTab(ctx context.Context) (err error) {
	if r.tab, err = r.browser.NewPage(ctx); err != nil {
		return err
	}
	if r.settings.Voice && r.settings.ParticipantAudio != nil {
		if err := r.tab.EvalOnNewDocument(ctx, participantAudioScript); err != nil {
			return fmt.Errorf("prepare the recorder tab: %w", err)
		}
	}
	if err := r.tab.Navigate(ctx, r.server.origin()+r.server.path()); err != nil {
		return fmt.Errorf("open the recorder tab: %w", err)
	}
	// The browser finds the meeting tab by a temporary title.
	title, release, err := r.browser.ReserveCaptureTitle(ctx)
	if err != nil {
		return fmt.Errorf("wait for another capture: %w", err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	if err := r.meeting.EvalInPage(ctx, call(setTitleScript, title), nil); err != nil {
		return fmt.Errorf("set the page's title: %w", err)
	}
	defer func() {
		restoreCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), captureTimeout)
		defer cancel()
		if restoreErr := r.meeting.EvalInPage(restoreCtx, restoreTitleScript, nil); err == nil && restoreErr != nil {
			err = fmt.Errorf("restore the page's title: %w", restoreErr)
		}
	}()
	if err := waitUntil(ctx, func() (bool, error) {
		current, err := r.meeting.Title(ctx)
		return current == title, err
	}); err != nil {
		return fmt.Errorf("set the page's title: %w", err)
	}
	err = r.tab.EvalWithGesture(ctx, call("standin.capture", map[string]any{
		"width":              r.settings.Width,
		"height":             r.settings.Height,
		"framesPerSecond":    r.settings.FramesPerSecond,
		"videoBitsPerSecond": r.settings.VideoBitsPerSecond,
		"audioBitsPerSecond": 64_000,
		"soundThreshold":     0.003, // root mean square of samples between -1 and 1, about -50 dBFS
		"mimeType":           r.settings.mimeType(),
		"audioOnly":          r.settings.AudioOnly,
		"voice":              r.settings.Voice,
		"keyFrameIntervalMs": keyFrameInterval.Milliseconds(),
		"timesliceMs":        timeslice.Milliseconds(),
	}), nil)
	if err != nil {
		return fmt.Errorf("capture the page: %w", err)
	}
	return nil
}

// localTime converts a time of the browser to a time of this process, which has a
// monotonic clock. The browser reports the Unix time and how long ago it was. The
// Unix time is more exact, but it is ignored if it differs by a second or more:
// then the system clock was set after the tab was opened.
func localTime(unixMs, agoMs float64, receivedAt time.Time) time.Time {
	const maxDifference = time.Second
	estimate := receivedAt.Add(-time.Duration(agoMs * float64(time.Millisecond)))
	if difference := time.UnixMicro(int64(unixMs * 1000)).Sub(estimate); difference.Abs() < maxDifference {
		return estimate.Add(difference)
	}
	return estimate
}

// StartedAt returns when the encoder started: time 0 of the recording.
func (r *Recorder) StartedAt() time.Time { return r.startedAt }

// Pause pauses the recording and returns the time of the pause. The recorded file
// does not contain the time until Resume.
func (r *Recorder) Pause(ctx context.Context) (at time.Time, err error) {
	r.server.pause()
	r.sound.pause()
	if at, err = r.controlEncoder(ctx, "standin.pause()"); err != nil {
		r.server.resume(time.Now())
		r.sound.resume(time.Now())
		return time.Time{}, fmt.Errorf("pause recording: %w", err)
	}
	r.setTracksEnabled(ctx, false)
	return at, nil
}

// Resume resumes a paused recording and returns the time of the resumption.
func (r *Recorder) Resume(ctx context.Context) (at time.Time, err error) {
	if at, err = r.controlEncoder(ctx, "standin.resume()"); err != nil {
		return time.Time{}, fmt.Errorf("resume recording: %w", err)
	}
	r.server.resume(time.Now())
	r.sound.resume(at)
	r.setTracksEnabled(ctx, true)
	return at, nil
}

// setTracksEnabled turns the recording of individual tracks on or off.
func (r *Recorder) setTracksEnabled(ctx context.Context, enabled bool) {
	r.tracks.setEnabled(ctx, enabled)
	r.streams.setEnabled(ctx, enabled)
	r.voice.setEnabled(ctx, enabled)
}

// controlEncoder starts, pauses or resumes the encoder and returns the time of that.
func (r *Recorder) controlEncoder(ctx context.Context, script string) (time.Time, error) {
	var done struct{ AtMs, AgoMs float64 }
	if err := r.tab.EvalInPage(ctx, script, &done); err != nil {
		return time.Time{}, err
	}
	return localTime(done.AtMs, done.AgoMs, time.Now()), nil
}

// Stats returns the statistics of the recording.
func (r *Recorder) Stats() Stats {
	stats := r.server.stats()
	stats.Streams, stats.StreamsProblem = r.streams.current()
	return stats
}

// SetOwners tells which participants' tiles play which tracks of the page now, for Settings.Streams.
func (r *Recorder) SetOwners(owners map[string]string) {
	if s := r.streams; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owners = owners
	}
}

// Done returns a channel that is closed when the recording has ended, for any
// reason, and all available chunks are stored.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Err returns why the recording ended: nil after Stop, or ErrCaptureEnded,
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

// Stop ends the recording and returns when its last chunk is stored. If ctx ends
// first, chunks that are still in the browser are lost and Stop returns the error of
// ctx. If the recording has already ended, Stop returns Err.
func (r *Recorder) Stop(ctx context.Context) error {
	r.sound.pause()
	var stopping sync.WaitGroup
	stopping.Go(func() { r.tracks.setEnabled(ctx, false) })
	stopping.Go(func() { r.streams.setEnabled(ctx, false) })
	defer stopping.Wait()
	r.voice.setEnabled(ctx, false) // before the tab is closed
	// The end is reported to the chunk server. Then the tab is closed.
	if err := r.tab.EvalInPage(ctx, stopScript(reasonStopped), nil); err != nil {
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
		r.Close()
		return fmt.Errorf("stop recording: %w", ctx.Err())
	}
}

// Close ends the capture without waiting for the encoder.
func (r *Recorder) Close() {
	r.abandonOnce.Do(func() { close(r.abandoned) })
	<-r.done
}

// waitForEnd returns why the recording ended.
func (r *Recorder) waitForEnd(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	pageCrashed := r.meeting.Crashed()
	var streamsMissing <-chan struct{}
	if r.streams != nil {
		streamsMissing = r.streams.missing
	}
	var silentAt time.Time // when the browser last did not answer
	// stop lets the recorder tab send the remaining chunks and end the recording. The checks notice what fails.
	stop := func(reason string) {
		stopping, cancel := context.WithTimeout(ctx, checkInterval)
		defer cancel()
		_ = r.tab.EvalInPage(stopping, stopScript(reason), nil)
	}
	for {
		select {
		case report := <-r.server.ended:
			return report.err()
		case <-r.browser.Done():
			return r.browser.Err()
		case <-r.tab.Crashed():
			return fmt.Errorf("the recorder tab: %w", browser.ErrPageCrashed)
		case <-pageCrashed:
			pageCrashed = nil // the browser continues to capture a crashed tab
			stop(reasonCaptureEnded)
		case <-streamsMissing:
			streamsMissing = nil
			stop(reasonStreamsMissing)
		case <-r.abandoned:
			return ErrStopTimeout
		case now := <-ticker.C:
			// A browser that does not run sends its chunks when it runs again. If it runs, it answers even if its pages do not.
			asking, cancel := context.WithTimeout(ctx, checkInterval)
			if _, err := r.tab.Title(asking); errors.Is(err, context.DeadlineExceeded) {
				silentAt = time.Now()
			}
			cancel()
			if err := r.server.checkStall(now, r.settings.ChunkTimeout); err != nil && now.Sub(silentAt) > maxChunkDelay {
				return err
			}
			r.restoreSize(ctx)
		}
	}
}

// stopScript returns the script that stops the encoder. The recorder tab reports the
// reason after the last chunk.
func stopScript(reason string) string { return "void " + call("standin.stop", reason) }

// call returns the script that calls a function with one JSON argument.
func call(function string, argument any) string { return function + "(" + encoded(argument) + ")" }

// encoded returns a value as JSON.
func encoded(value any) string {
	text, _ := json.Marshal(value) // numbers, strings and their maps always encode
	return string(text)
}

// waitUntil polls the condition until it is true or fails, or ctx ends.
func waitUntil(ctx context.Context, condition func() (bool, error)) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := condition()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
