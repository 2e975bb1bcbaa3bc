package recorder_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// visibilityVariable is the duration of TestMinimizedPageIsRendered in seconds.
// Chromium throttles background pages after five minutes, so the long form of the test
// takes more than six minutes.
const visibilityVariable = "STANDIN_TEST_VISIBILITY"

// visibilityPath is the path of visibilityPage.
const visibilityPath = "/visibility"

// visibilityPage flashes and beeps like clockPage, drawn with WebGL and, with ?canvas,
// with a 2D canvas. It counts animation frames, intersection changes of a moving
// element, and the times at which it is hidden or has no focus.
const visibilityPage = `<!doctype html><meta charset=utf-8><title>Visibility</title>
<style>html,body{margin:0;height:100%;background:#246;overflow:hidden} canvas{display:block} div{position:fixed;top:0;width:9px;height:9px}</style>
<canvas id=canvas width=1280 height=720></canvas><div id=moving></div>
<script>
const canvas = document.getElementById("canvas"), moving = document.getElementById("moving");
const gl = location.search === "?canvas" ? null : canvas.getContext("webgl");
const pen = gl ? null : canvas.getContext("2d");
const counts = {webgl: gl !== null, frames: 0, intersections: 0, hidden: 0, unfocused: 0};
const sound = new AudioContext(), gain = new GainNode(sound, {gain: 0}), tone = new OscillatorNode(sound, {frequency: 1000});
tone.connect(gain).connect(sound.destination);
tone.start();
let next = Math.ceil(sound.currentTime);
setInterval(() => {
	for (; next < sound.currentTime + 2; next++) {
		gain.gain.setValueAtTime(0.4, next);
		gain.gain.setValueAtTime(0, next + 0.1);
	}
	if (document.visibilityState !== "visible") counts.hidden++;
	if (!document.hasFocus()) counts.unfocused++;
	moving.style.left = moving.style.left === "0px" ? "-99px" : "0px";
}, 250);
new IntersectionObserver(() => counts.intersections++).observe(moving);
function draw() {
	counts.frames++;
	const white = sound.currentTime % 1 < 0.25;
	if (gl) {
		const level = white ? 1 : 0.2;
		gl.clearColor(level, level, level, 1);
		gl.clear(gl.COLOR_BUFFER_BIT);
	} else {
		pen.fillStyle = white ? "white" : "#333";
		pen.fillRect(0, 0, canvas.width, canvas.height);
	}
	requestAnimationFrame(draw);
}
draw();
</script>`

// A page in a minimized window is visible, has the focus, gets animation frames and
// intersection changes, and is recorded, with WebGL and with a 2D canvas.
func TestMinimizedPageIsRendered(t *testing.T) {
	t.Parallel()
	duration := 6 * time.Second
	if text := os.Getenv(visibilityVariable); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", visibilityVariable, err)
		}
		duration = time.Duration(seconds) * time.Second
	}
	for name, query := range map[string]string{"WebGL": "", "canvas": "?canvas"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, f := prepareFor(t, "visibility"+query, testTimeout+duration)
			r, sink := f.record(t, ctx, recorder.Settings{})
			type counts struct {
				WebGL                                    bool
				Frames, Intersections, Hidden, Unfocused int
			}
			var before, after counts
			if err := f.page.Eval(ctx, "counts", &before); err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			sink.await(t, ctx, r, duration)
			if err := f.page.Eval(ctx, "counts", &after); err != nil {
				t.Fatal(err)
			}
			seconds := time.Since(started).Seconds()
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if after.WebGL != (query == "") {
				t.Errorf("WebGL = %v", after.WebGL)
			}
			if after.Hidden != 0 || after.Unfocused != 0 {
				t.Errorf("the page was hidden at %d checks and without focus at %d", after.Hidden, after.Unfocused)
			}
			frames := float64(after.Frames-before.Frames) / seconds
			intersections := float64(after.Intersections-before.Intersections) / seconds
			t.Logf("%.1f animation frames and %.1f intersection changes per second in %.0f s", frames, intersections, seconds)
			if frames < 8 || intersections < 1 {
				t.Errorf("%.1f animation frames and %.1f intersection changes per second, want at least 8 and 1", frames, intersections)
			}
			report := decode(t, ctx, sink)
			pairs := report.Pairs()
			if recorded := report.VideoEndMs / 1000; float64(len(pairs)) < 0.7*recorded || report.LongestFrameGapMs > 5000 {
				t.Errorf("%d flashes with a beep in %.0f s, longest frame %.0f ms", len(pairs), recorded, report.LongestFrameGapMs)
			}
			checkAlignment(t, pairs)
		})
	}
}
