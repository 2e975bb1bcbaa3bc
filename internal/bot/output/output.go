// Package output lets a bot be heard and seen: it replaces the microphone, the camera and
// the shared screen of a meeting's page, plays sound and shows pictures.
//
// Sound and pictures are made in a world of the page that the page's own scripts cannot
// reach, so no page can put its own into what the bot says and shows, or read them before.
// The page gets tracks, as from any device.
package output

import (
	"cmp"
	"context"
	_ "embed" // for the scripts
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
)

//go:embed devices.js
var devicesScript string

//go:embed microphone.js
var microphoneScript string

//go:embed pictures.js
var picturesScript string

// Prepare replaces the devices of a page. It must be called before the page is loaded.
func Prepare(ctx context.Context, page *browser.Page) error {
	return prepare(ctx, page, microphoneScript, picturesScript)
}

// PrepareMicrophone is Prepare for a page that Hear lets hear: it replaces only the
// microphone.
func PrepareMicrophone(ctx context.Context, page *browser.Page) error {
	return prepare(ctx, page, microphoneScript)
}

func prepare(ctx context.Context, page *browser.Page, scripts ...string) error {
	for _, script := range scripts {
		if err := page.EvalApartOnNewDocument(ctx, script); err != nil {
			return fmt.Errorf("prepare the bot's devices: %w", err)
		}
	}
	if err := page.EvalOnNewDocument(ctx, devicesScript); err != nil {
		return fmt.Errorf("replace the page's devices: %w", err)
	}
	return nil
}

const (
	// maxPiece is how much sound is sent to the page at once, at most.
	maxPiece = 500 * time.Millisecond
	// minPiece is the least sound that is sent at once: a packet's.
	minPiece = 20 * time.Millisecond
	// maxWaiting is how much sound waits in the page before more is sent. It bridges a
	// busy machine; stopping discards it.
	maxWaiting = time.Second
	// callTimeout limits one call of the page.
	callTimeout = 2 * time.Second
	// pushTimeout limits the call that sends sound: on a busy machine, a gap is better than
	// the end of the sound.
	pushTimeout = 10 * time.Second
)

// ErrNoMicrophone means that the page has not asked for a microphone.
var ErrNoMicrophone = errors.New("the page has not asked for a microphone")

var errPageBusy = errors.New("the page does not respond")

// ErrReloaded means that the page was loaded again while a sound was played.
var ErrReloaded = errors.New("the page was loaded again")

// Recording receives what is played, to mix it into the recording. Times are those of the
// browser's clock.
type Recording interface {
	// StartBotAudio begins a sound: the recording waits for it until StopBotAudio.
	StartBotAudio(ctx context.Context) error
	// MixBotAudio adds PCM that begins at a time.
	MixBotAudio(ctx context.Context, pcm []byte, atMs float64) error
	// StopBotAudio ends the sound at a time, and removes what was added for later.
	StopBotAudio(ctx context.Context, atMs float64) error
}

// Player plays sound on the microphone of a prepared page. Play must not be called
// concurrently.
type Player struct {
	Page *browser.Page
	// Recording returns where the sound is recorded now; nil where it is not.
	Recording func() Recording
	Log       *slog.Logger
}

// bytesPerSample is that of PCM S16LE, mono.
const bytesPerSample = 2

// Play plays PCM until it ends or ctx ends; then it stops at once and returns the cause of
// ctx. Before the first sound it calls unmute, and once that has been sent started, with
// its time. pcm must end when ctx does. It may be live: a Read returns what has arrived.
func (p *Player) Play(ctx context.Context, pcm io.Reader, unmute func(context.Context) error, started func(time.Time)) error {
	p.record(ctx, "the recording may lack the beginning of the bot's sound",
		func(ctx context.Context, r Recording) error { return r.StartBotAudio(ctx) })
	err, endMs := p.play(ctx, pcm, unmute, started), float64(time.Now().UnixMicro())/1000
	if err != nil {
		stopped := struct{ AtMs float64 }{endMs} // unless the page is gone, its time
		stopErr := eval(context.WithoutCancel(ctx), p.Page, microphone+".stop()", &stopped)
		if stopErr != nil {
			stopErr = fmt.Errorf("stop the page's microphone: %w", stopErr)
		}
		err, endMs = errors.Join(cmp.Or(context.Cause(ctx), err), stopErr), stopped.AtMs
	}
	p.record(context.WithoutCancel(ctx), "the recording may have more of the bot's sound than others heard",
		func(ctx context.Context, r Recording) error { return r.StopBotAudio(ctx, endMs) })
	return err
}

// record calls the recording, if there is one. What is heard does not depend on it.
func (p *Player) record(ctx context.Context, consequence string, call func(context.Context, Recording) error) {
	recording := p.Recording()
	if recording == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errPageBusy)
	defer cancel()
	if err := call(ctx, recording); err != nil {
		p.Log.Warn(consequence, "error", err) // it may just have ended
	}
}

func (p *Player) play(ctx context.Context, pcm io.Reader, unmute func(context.Context) error, started func(time.Time)) error {
	piece := make([]byte, bytesOf(maxPiece))
	var end time.Time // of the sound that was pushed
	for begun := false; ; {
		n, err := io.ReadAtLeast(pcm, piece, bytesOf(minPiece))
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return fmt.Errorf("read the sound: %w", err)
		}
		if n -= n % bytesPerSample; n > 0 {
			if !begun {
				if err := unmute(ctx); err != nil {
					return err
				}
			}
			sending, cancel := context.WithTimeoutCause(ctx, pushTimeout, errPageBusy)
			sent, err := push(sending, p.Page, piece[:n], begun)
			if recording := p.Recording(); err == nil && recording != nil {
				if err := recording.MixBotAudio(sending, piece[:n], sent.atMs); err != nil {
					p.Log.Warn("the recording lacks a piece of the bot's sound", "error", err) // it may just have ended
				}
			}
			cancel()
			if err != nil {
				return err
			}
			end = sent.to
			if !begun {
				begun = true
				started(sent.from)
			}
		}
		if ended {
			return retry.Sleep(ctx, time.Until(end))
		}
		if err := retry.Sleep(ctx, time.Until(end)-maxWaiting); err != nil {
			return err
		}
	}
}

// pushed is when sound that was sent to a page begins and ends.
type pushed struct {
	atMs     float64 // the begin, in the browser's clock
	from, to time.Time
}

// push sends PCM, which may be the rest of a sound, to the microphone of a page.
func push(ctx context.Context, page *browser.Page, pcm []byte, rest bool) (pushed, error) {
	var answer struct {
		Opened bool
		AtMs   float64
	}
	script := fmt.Sprintf("%s.push(%q, %t)", microphone, base64.StdEncoding.EncodeToString(pcm), rest)
	if err := page.Eval(ctx, script, &answer); err != nil {
		return pushed{}, fmt.Errorf("play on the page's microphone: %w", err)
	}
	switch {
	case !answer.Opened && rest:
		return pushed{}, ErrReloaded
	case !answer.Opened:
		return pushed{}, ErrNoMicrophone
	}
	now := time.Now()
	from := now.Add(time.Duration((answer.AtMs - float64(now.UnixMicro())/1000) * float64(time.Millisecond)))
	return pushed{answer.AtMs, from, from.Add(time.Duration(len(pcm)/bytesPerSample) * time.Second / ingest.SoundRate)}, nil
}

// microphone is the expression of the object that microphone.js makes.
const microphone = `window[Symbol.for("standin.microphone")]`

// eval evaluates an expression in a page, for callTimeout at most.
func eval(ctx context.Context, page *browser.Page, expression string, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errPageBusy)
	defer cancel()
	return page.Eval(ctx, expression, out)
}

// bytesOf returns the size of a length of sound.
func bytesOf(length time.Duration) int {
	return int(length.Milliseconds()) * ingest.SoundRate / 1000 * bytesPerSample
}
