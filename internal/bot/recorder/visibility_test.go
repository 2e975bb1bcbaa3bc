package recorder_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
)

// visibilityVariable is the duration of TestRecordedPageIsVisible in seconds.
// Chromium throttles background pages after five minutes, so the long form of the test
// takes more than six minutes.
const visibilityVariable = "STANDIN_TEST_VISIBILITY"

// visibilityPath is the path of visibilityPage.
const visibilityPath = "/visibility"

// visibilityPage has three columns, which flash at each full second of its audio
// clock, with a beep: a WebGL canvas, a 2D canvas, and a video that the page receives
// over WebRTC. The sender acts like the server of a meeting: it sends the full size
// while the page is visible and the video is on the screen, and a quarter otherwise.
// The full size is 320x180 at 8 frames per second, or 1280x720 at 15 with ?large.
// The page counts animation frames, timers, intersection changes of a moving element,
// and how often it was hidden, without focus, or received a smaller video.
const visibilityPage = `<!doctype html><meta charset=utf-8><title>Visibility</title>
<style>html,body{margin:0;height:100%;background:#246;overflow:hidden} main{display:flex;height:100%}
canvas,video{display:block;width:33.33%;height:100%;object-fit:fill} div{position:fixed;top:0;width:9px;height:9px}</style>
<main><canvas id=webgl width=426 height=720></canvas><canvas id=flat width=426 height=720></canvas><video id=video autoplay muted></video></main>
<div id=moving></div>
<script>
const [moving, video] = ["moving", "video"].map(id => document.getElementById(id));
const gl = document.getElementById("webgl").getContext("webgl");
// Without a GPU, a headed browser sometimes loses the context soon after its start. It
// restores the context of a page that prevents the default action.
document.getElementById("webgl").addEventListener("webglcontextlost", event => { counts.lost++; event.preventDefault(); });
const pen = document.getElementById("flat").getContext("2d");
const large = location.search === "?large", rate = large ? 15 : 8;
const source = Object.assign(document.createElement("canvas"), large ? {width: 1280, height: 720} : {width: 320, height: 180});
const sourcePen = source.getContext("2d");
const counts = {webgl: gl !== null, frames: 0, timers: 0, intersections: 0, hidden: 0, unfocused: 0, smaller: 0, decoded: 0, lost: 0};

const sound = new AudioContext(), gain = new GainNode(sound, {gain: 0}), tone = new OscillatorNode(sound, {frequency: 1000});
tone.connect(gain).connect(sound.destination);
tone.start();
let next = Math.ceil(sound.currentTime);

const sending = new RTCPeerConnection(), receiving = new RTCPeerConnection();
sending.onicecandidate = event => receiving.addIceCandidate(event.candidate);
receiving.onicecandidate = event => sending.addIceCandidate(event.candidate);
receiving.ontrack = event => { video.srcObject = event.streams[0]; };
const stream = source.captureStream(rate), [track] = stream.getVideoTracks();
track.contentHint = "detail";
const sender = sending.addTrack(track, stream);
(async () => {
	await sending.setLocalDescription();
	await receiving.setRemoteDescription(sending.localDescription);
	await receiving.setLocalDescription();
	await sending.setRemoteDescription(receiving.localDescription);
})();
let onScreen = false, scale = 0;
new IntersectionObserver(entries => { onScreen = entries.at(-1).isIntersecting; }).observe(video);
async function chooseLayer() {
	const wanted = onScreen && document.visibilityState === "visible" ? 1 : 4;
	if (wanted === scale) return;
	const parameters = sender.getParameters();
	if (parameters.encodings.length === 0) return;
	scale = wanted;
	Object.assign(parameters.encodings[0], {scaleResolutionDownBy: scale, maxBitrate: 1500000});
	parameters.degradationPreference = "maintain-resolution";
	await sender.setParameters(parameters);
}

setInterval(async () => {
	for (; next < sound.currentTime + 2; next++) {
		gain.gain.setValueAtTime(0.4, next);
		gain.gain.setValueAtTime(0, next + 0.1);
	}
	counts.timers++;
	if (document.visibilityState !== "visible") counts.hidden++;
	if (!document.hasFocus()) counts.unfocused++;
	if (video.videoWidth !== source.width) counts.smaller++;
	moving.style.left = moving.style.left === "0px" ? "-99px" : "0px";
	chooseLayer();
	(await receiving.getStats()).forEach(report => {
		if (report.type === "inbound-rtp") counts.decoded = report.framesDecoded;
	});
}, 250);
new IntersectionObserver(() => counts.intersections++).observe(moving);
let drawn = -1;
function draw() {
	counts.frames++;
	requestAnimationFrame(draw);
	if (sound.currentTime < drawn + 0.75 / rate) return;
	drawn = sound.currentTime;
	const white = sound.currentTime % 1 < 0.25, level = white ? 1 : 0.2;
	gl?.clearColor(level, level, level, 1);
	gl?.clear(gl.COLOR_BUFFER_BIT);
	for (const one of [pen, sourcePen]) {
		one.fillStyle = white ? "white" : "#333";
		one.fillRect(0, 0, 1280, 720);
	}
}
draw();
</script>`

// visibilityCounts are the counts of visibilityPage.
type visibilityCounts struct {
	WebGL                                                              bool
	Frames, Timers, Intersections, Hidden, Unfocused, Smaller, Decoded int
	Lost                                                               int
}

// A recorded page is visible and has the focus in every mode, also in a minimized
// window. It gets animation frames, timers and intersection changes, receives video
// in full size, and is recorded with its canvases and videos.
func TestRecordedPageIsVisible(t *testing.T) {
	t.Parallel()
	duration, query := 5*time.Second, "visibility"
	if text := os.Getenv(visibilityVariable); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", visibilityVariable, err)
		}
		duration, query = time.Duration(seconds)*time.Second, "visibility?large"
	}
	for _, mode := range []browser.Mode{browser.Headless, browser.Headed} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			ctx, f := prepareIn(t, mode, query, testTimeout+duration)
			if err := f.page.EvalInPage(ctx, `new Promise(resolve => { video.onresize = () => video.videoWidth === source.width && resolve(); video.onresize(); })`, nil); err != nil {
				t.Fatalf("the page receives no full-size video: %v", err)
			}
			r, sink := f.record(t, ctx, recorder.Settings{})
			var before, after visibilityCounts
			if err := f.page.EvalInPage(ctx, "counts", &before); err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			sink.await(t, ctx, r, duration)
			if err := f.page.EvalInPage(ctx, "counts", &after); err != nil {
				t.Fatal(err)
			}
			seconds := time.Since(started).Seconds()
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if !after.WebGL {
				t.Error("the page has no WebGL")
			}
			t.Logf("the context of WebGL was lost %d times", after.Lost)
			if hidden, unfocused, smaller := after.Hidden-before.Hidden, after.Unfocused-before.Unfocused, after.Smaller-before.Smaller; hidden+
				unfocused+smaller != 0 {
				t.Errorf("the page was hidden at %d checks, without focus at %d, and received a smaller video at %d", hidden, unfocused, smaller)
			}
			for _, rate := range []struct {
				name          string
				before, after int
				min           float64
			}{
				{"animation frames", before.Frames, after.Frames, 3},
				{"timers", before.Timers, after.Timers, 2},
				{"intersection changes", before.Intersections, after.Intersections, 0.5},
				{"received frames", before.Decoded, after.Decoded, 2},
			} {
				perSecond := float64(rate.after-rate.before) / seconds
				t.Logf("%.1f %s per second in %.0f s", perSecond, rate.name, seconds)
				if perSecond < rate.min {
					t.Errorf("%.1f %s per second, want at least %.1f", perSecond, rate.name, rate.min)
				}
			}
			checkVisibleColumns(t, sink, decode(t, t.Context(), sink))
		})
	}
}

// checkVisibleColumns requires that each column of visibilityPage is recorded.
func checkVisibleColumns(t *testing.T, sink *memorySink, report mediacheck.Report) {
	t.Helper()
	recorded := report.VideoEndMs / 1000
	flashes, err := mediacheck.FlashesByColumn(t.Context(), sink.file(t), 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"WebGL", "2D canvas", "received video"} {
		t.Logf("%s: %d flashes in %.0f s", name, len(flashes[i]), recorded)
		if float64(len(flashes[i])) < 0.3*recorded { // a busy machine misses some
			t.Errorf("%s: %d flashes in %.0f s", name, len(flashes[i]), recorded)
		}
	}
	t.Logf("%d of %d flashes with a beep, longest frame %.0f ms", len(report.Pairs()), len(report.FlashesMs), report.LongestFrameGapMs)
	if exact() && report.LongestFrameGapMs > 5000 {
		t.Errorf("the longest frame has %.0f ms", report.LongestFrameGapMs)
	}
	checkAlignment(t, report.Pairs())
}
