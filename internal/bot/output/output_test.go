package output_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
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
	executable := testbrowser.Full(t)
	testbrowser.Reserve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, content)
	}))
	t.Cleanup(server.Close)
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
	for i := range int(length.Seconds() * ingest.SoundRate) {
		sample := int16(12000 * math.Sin(2*math.Pi*700*float64(i)/ingest.SoundRate))
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

func (r *recorded) StartBotAudio(context.Context) error { return nil }

func (r *recorded) MixBotAudio(_ context.Context, pcm []byte, _ float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += len(pcm)
	return nil
}

func (r *recorded) StopBotAudio(_ context.Context, atMs float64) error {
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
	// a busy machine stretches it
	if late := from.Sub(started); late < 0 || late > 500*time.Millisecond || to.Sub(from) < 900*time.Millisecond ||
		to.Sub(from) > 1600*time.Millisecond {
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
	if err := page.EvalInPage(ctx, `Reflect.ownKeys(window).some(key => String(key).includes("standin.microphone"))`, &found); err != nil ||
		found {
		t.Errorf("the page has the microphone: %t, %v", found, err)
	}
	player := &output.Player{Page: page, Recording: func() output.Recording { return nil }, Log: slog.New(slog.DiscardHandler)}
	err := player.Play(ctx, bytes.NewReader(tone(time.Second)), func(context.Context) error { return nil }, func(time.Time) {})
	if !errors.Is(err, output.ErrNoMicrophone) {
		t.Errorf("a page without a microphone: %v", err)
	}
}

// picturePage sends the camera and the shared screen to another RTCPeerConnection of the
// page, and returns the color in the center of what arrives there.
const picturePage = `<!doctype html><script>
	const watch = async track => {
		const [from, to] = [new RTCPeerConnection(), new RTCPeerConnection()];
		from.onicecandidate = event => to.addIceCandidate(event.candidate);
		to.onicecandidate = event => from.addIceCandidate(event.candidate);
		const received = new Promise(resolve => { to.ontrack = event => resolve(event.streams[0]); });
		from.addTrack(track, new MediaStream([track]));
		await from.setLocalDescription();
		await to.setRemoteDescription(from.localDescription);
		await to.setLocalDescription();
		await from.setRemoteDescription(to.localDescription);
		const video = Object.assign(document.createElement("video"), {srcObject: await received, muted: true});
		video.play();
		return video;
	};
	const color = video => {
		const context = new OffscreenCanvas(1, 1).getContext("2d");
		context.drawImage(video, video.videoWidth / 2, video.videoHeight / 2, 1, 1, 0, 0, 1, 1);
		return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
	};
	window.camera = async () => {
		const [track] = (await navigator.mediaDevices.getUserMedia({video: true})).getTracks();
		window.settings = track.getSettings();
		window.cameraColor = (await watch(track.clone()), color.bind(null, await watch(track)));
	};
	window.share = async () => {
		const [track] = (await navigator.mediaDevices.getDisplayMedia({video: true})).getTracks();
		track.onended = () => { window.shareEnded = true; };
		window.shareColor = color.bind(null, await watch(track));
	};
</script>`

// TestShow shows pictures on the camera and on the shared screen of a page.
func TestShow(t *testing.T) {
	t.Parallel()
	ctx, page := openPage(t, picturePage)
	show := func(screen output.Screen, shown color.RGBA) {
		t.Helper()
		canvas := image.NewRGBA(image.Rect(0, 0, 640, 360))
		draw.Draw(canvas, canvas.Bounds(), image.NewUniform(shown), image.Point{}, draw.Src)
		var file bytes.Buffer
		if err := jpeg.Encode(&file, canvas, nil); err != nil {
			t.Fatal(err)
		}
		if err := screen.Show(ctx, page, file.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	see := func(function string, want color.RGBA) {
		t.Helper()
		var got []int
		script := fmt.Sprintf(`new Promise(resolve => {
			const start = performance.now(), near = (a, b) => Math.abs(a - b) < 40;
			const look = () => {
				const [r, g, b] = %s();
				if (near(r, %d) && near(g, %d) && near(b, %d) || performance.now() - start > 20000) resolve([r, g, b]);
				else setTimeout(look, 50);
			};
			look();
		})`, function, want.R, want.G, want.B)
		if err := page.EvalInPage(ctx, script, &got); err != nil {
			t.Fatal(err)
		}
		for i, value := range []uint8{want.R, want.G, want.B} {
			if difference := got[i] - int(value); max(difference, -difference) >= 40 {
				t.Fatalf("%s is %v, want %v", function, got, want)
			}
		}
	}
	red, green := color.RGBA{R: 200, A: 255}, color.RGBA{G: 160, A: 255}
	if err := output.Camera.CheckUsed(ctx, page); !errors.Is(err, output.ErrNotUsed) {
		t.Errorf("an unused camera: %v", err)
	}
	show(output.Camera, red)
	if err := page.EvalInPage(ctx, "camera()", nil); err != nil {
		t.Fatal(err)
	}
	see("cameraColor", red)
	show(output.Camera, green)
	see("cameraColor", green)
	if err := output.Camera.CheckUsed(ctx, page); err != nil {
		t.Error(err)
	}
	var settings struct{ Width, Height int }
	if err := page.EvalInPage(ctx, "settings", &settings); err != nil || settings.Width != 1280 || settings.Height != 720 {
		t.Errorf("settings %+v, %v", settings, err)
	}
	if err := output.Camera.ShowName(ctx, page, `Ada's "notes" 📝`); err != nil {
		t.Error(err)
	}

	if err := output.SharedScreen.Offer(ctx, page); err != nil {
		t.Fatal(err)
	}
	show(output.SharedScreen, red)
	if err := page.EvalWithGesture(ctx, "share()", nil); err != nil {
		t.Fatal(err)
	}
	see("shareColor", red)
	if err := output.SharedScreen.End(ctx, page); err != nil {
		t.Fatal(err)
	}
	if err := page.EvalInPage(ctx,
		"new Promise(resolve => { const look = () => window.shareEnded ? resolve() : setTimeout(look, 50); look(); })", nil); err != nil {
		t.Errorf("the page was not told that sharing ended: %v", err)
	}
}
