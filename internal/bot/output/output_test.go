package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/output"
	"standin/internal/testing/testbrowser"
)

// pageScript connects the microphone to another RTCPeerConnection of the page, and measures
// what arrives there.
const pageScript = `<!doctype html><script>
	window.ready = (async () => {
		const stream = await navigator.mediaDevices.getUserMedia({audio: true, video: true});
		const [from, to] = [new RTCPeerConnection(), new RTCPeerConnection()];
		from.onicecandidate = event => to.addIceCandidate(event.candidate);
		to.onicecandidate = event => from.addIceCandidate(event.candidate);
		const received = new Promise(resolve => { to.ontrack = event => resolve(event.streams[0]); });
		from.addTrack(stream.getAudioTracks()[0], stream);
		await from.setLocalDescription();
		await to.setRemoteDescription(from.localDescription);
		await to.setLocalDescription();
		await from.setRemoteDescription(to.localDescription);
		const remote = await received;
		Object.assign(new Audio(), {srcObject: remote, muted: true}).play();
		const context = new AudioContext(), analyser = context.createAnalyser();
		context.createMediaStreamSource(remote).connect(analyser);
		const samples = new Float32Array(analyser.fftSize);
		window.heard = [];
		setInterval(() => {
			analyser.getFloatTimeDomainData(samples);
			window.heard.push({at: Date.now(), level: Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)});
		}, 10);
		return stream.getTracks().map(track => track.kind + " " + (track.label === "") + " " + (track.getSettings().deviceId === undefined));
	})();
</script>`

func openPage(t *testing.T, content string) (context.Context, *browser.Page) {
	t.Helper()
	testbrowser.Reserve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, content)
	}))
	t.Cleanup(server.Close)
	executable := testbrowser.Full(t)
	chromium, err := browser.Launch(ctx, browser.Options{
		Executable: executable, Mode: browser.Headless, ProfileDir: t.TempDir(), LoopbackPeers: true, Width: 640, Height: 360,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := chromium.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := chromium.GrantMicrophoneAndCamera(ctx, server.URL); err != nil {
		t.Fatal(err)
	}
	page, err := chromium.NewPage(ctx)
	if err == nil {
		err = output.Prepare(ctx, page)
	}
	if err == nil {
		err = page.Navigate(ctx, server.URL)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx, page
}

// tone returns PCM of a tone.
func tone(length time.Duration) []byte {
	pcm := new(bytes.Buffer)
	for i := range int(length.Seconds() * output.SampleRate) {
		sample := int16(12000 * math.Sin(2*math.Pi*700*float64(i)/output.SampleRate))
		pcm.Write([]byte{byte(sample), byte(sample >> 8)})
	}
	return pcm.Bytes()
}

// recorded is a recording that keeps what it gets.
type recorded struct {
	mu    sync.Mutex
	bytes int
	cut   float64
}

func (r *recorded) Mix(_ context.Context, pcm []byte, _ float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += len(pcm)
	return nil
}

func (r *recorded) Cut(_ context.Context, atMs float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = atMs
	return nil
}

func TestPlay(t *testing.T) {
	t.Parallel()
	ctx, page := openPage(t, pageScript)
	var tracks []string
	if err := page.EvalInPage(ctx, "ready", &tracks); err != nil || fmt.Sprint(tracks) != "[audio false false video false false]" {
		t.Fatalf("tracks %v, %v", tracks, err)
	}
	recording := &recorded{}
	player := &output.Player{Page: page, Recording: func() output.Recording { return recording }, Log: slog.New(slog.DiscardHandler)}
	unmuted := false
	unmute := func(context.Context) error { unmuted = true; return nil }

	// heard returns when the sound began and ended at the other connection.
	heard := func() (from, to time.Time) {
		var levels []struct{ At, Level float64 }
		if err := page.EvalInPage(ctx, "heard.splice(0)", &levels); err != nil {
			t.Fatal(err)
		}
		for _, one := range levels {
			if one.Level < 0.05 {
				continue
			}
			at := time.UnixMilli(int64(one.At))
			if from.IsZero() {
				from = at
			}
			to = at
		}
		return from, to
	}
	var started time.Time
	begun := time.Now()
	if err := player.Play(ctx, bytes.NewReader(tone(time.Second)), unmute, func(at time.Time) { started = at }); err != nil || !unmuted {
		t.Fatalf("played: %v", err)
	}
	if lasted := time.Since(begun); lasted < time.Second {
		t.Errorf("playing one second took %s", lasted)
	}
	if err := page.EvalInPage(ctx, "new Promise(resolve => setTimeout(resolve, 300))", nil); err != nil { // the sound arrives
		t.Fatal(err)
	}
	from, to := heard()
	if late := from.Sub(started); late < 0 || late > 500*time.Millisecond || to.Sub(from) < 900*time.Millisecond || to.Sub(from) > 1600*time.Millisecond { // a busy machine stretches it
		t.Errorf("started at %s, heard from %s to %s", started, from, to)
	}
	t.Logf("begin to start %s, start to heard %s, length %s", started.Sub(begun), from.Sub(started), to.Sub(from))
	if recording.bytes != len(tone(time.Second)) {
		t.Errorf("recorded %d bytes", recording.bytes)
	}

	interrupted := errors.New("interrupted")
	playing, cancel := context.WithCancelCause(ctx)
	var cancelled time.Time
	err := player.Play(playing, bytes.NewReader(tone(10*time.Second)), unmute, func(time.Time) {
		time.AfterFunc(500*time.Millisecond, func() { cancelled = time.Now(); cancel(interrupted) })
	})
	if !errors.Is(err, interrupted) || recording.cut == 0 {
		t.Errorf("interrupted: %v", err)
	}
	if err := page.EvalInPage(ctx, "new Promise(resolve => setTimeout(resolve, 500))", nil); err != nil { // more sound would arrive
		t.Fatal(err)
	}
	_, to = heard()
	if late := to.Sub(cancelled); to.IsZero() || late > time.Second {
		t.Errorf("the sound ended %s after it was stopped", late)
	}
	t.Logf("interrupted: sound ended after %s", to.Sub(cancelled))
}

// TestPageCannotPlay checks that the page's scripts reach nothing of the microphone.
func TestPageCannotPlay(t *testing.T) {
	t.Parallel()
	ctx, page := openPage(t, `<!doctype html>`)
	var found bool
	if err := page.EvalInPage(ctx, `Reflect.ownKeys(window).some(key => String(key).includes("standin.microphone"))`, &found); err != nil || found {
		t.Errorf("the page has the microphone: %t, %v", found, err)
	}
	player := &output.Player{Page: page, Recording: func() output.Recording { return nil }, Log: slog.New(slog.DiscardHandler)}
	err := player.Play(ctx, bytes.NewReader(tone(time.Second)), func(context.Context) error { return nil }, func(time.Time) {})
	if !errors.Is(err, output.ErrNoMicrophone) {
		t.Errorf("a page without a microphone: %v", err)
	}
}
