package recorder_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/await"
	"standin/internal/testing/mediacheck"
)

// An audio-only recording has no video and, in exact checks, is synchronized.
func TestAudioOnly(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "")
	r, sink := s.record(t, ctx, recorder.Settings{AudioOnly: true})
	sink.await(t, ctx, r, 3*time.Second)
	if _, err := r.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	paused := time.Since(r.StartedAt())
	if _, err := r.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	sink.await(t, ctx, r, 6*time.Second)
	// The time at which the page's audio clock was 0.
	var zero float64
	if err := s.page.EvalInPage(ctx, "performance.timeOrigin + performance.now() - sound.currentTime * 1000", &zero); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if stats := r.Stats(); stats.Width != 0 || stats.LastSoundAt.IsZero() {
		t.Errorf("stats %+v", stats)
	}
	report, err := mediacheck.Decode(ctx, sink.file(t))
	if err != nil {
		t.Fatal(err)
	}
	if report.VideoCodec != "" || report.AudioCodec != "opus" || len(report.BeepsMs) < 3 {
		t.Fatalf("recorded %+v", report)
	}
	for _, beep := range report.BeepsMs {
		if beep > paused.Seconds()*1000 {
			break
		}
		at := float64(r.StartedAt().UnixMicro())/1000 + beep - zero
		off := at - math.Round(at/1000)*1000
		t.Logf("a beep at %.0f ms is %+.0f ms from its second", beep, off)
		if exact() && beep > 150 && math.Abs(off) > 150 { // the recording may start within the first beep
			t.Errorf("a beep at %.0f ms is %.0f ms from its second", beep, off)
		}
	}
}

// videoCallPath is the path of videoCallPage.
const videoCallPath = "/video-call"

// videoCallPage has a peer that sends audio and video, and one that receives them
// and answers or, with ?offers, offers. With ?offers=options it does so in the old
// form, by options of createOffer. received() counts the received packets of audio
// and the decoded frames of video.
const videoCallPage = `<!doctype html><meta charset=utf-8><title>Video call</title><video id=video autoplay muted></video><script>
const sending = new RTCPeerConnection(), receiving = new RTCPeerConnection(), video = document.getElementById("video");
(async () => {
	sending.onicecandidate = e => receiving.addIceCandidate(e.candidate);
	receiving.onicecandidate = e => sending.addIceCandidate(e.candidate);
	receiving.ontrack = e => { video.srcObject = new MediaStream(receiving.getReceivers().map(one => one.track)); };
	const sound = new AudioContext(), target = sound.createMediaStreamDestination(), tone = new OscillatorNode(sound);
	tone.connect(target);
	tone.start();
	const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
	setInterval(() => { pen.fillStyle = Date.now() % 2 ? "red" : "blue"; pen.fillRect(0, 0, 99, 99); }, 100);
	const tracks = [...target.stream.getTracks(), ...canvas.captureStream(10).getTracks()];
	const offers = new URLSearchParams(location.search).get("offers");
	let [first, second] = [sending, receiving];
	if (offers === null) for (const track of tracks) sending.addTrack(track);
	else {
		[first, second] = [receiving, sending];
		if (offers !== "options") for (const kind of ["audio", "video"]) receiving.addTransceiver(kind, {direction: "recvonly"});
	}
	await first.setLocalDescription(await first.createOffer(offers === "options" ? {offerToReceiveAudio: true, offerToReceiveVideo: true} : {}));
	await second.setRemoteDescription(first.localDescription);
	if (offers !== null) for (const track of tracks) sending.addTrack(track);
	await second.setLocalDescription();
	await first.setRemoteDescription(second.localDescription);
})();
async function received() {
	const sums = {audio: 0, frames: 0, bytes: 0};
	for (const report of (await receiving.getStats()).values()) {
		if (report.type !== "inbound-rtp") continue;
		if (report.kind === "audio") sums.audio += report.packetsReceived;
		else { sums.frames += report.framesDecoded; sums.bytes += report.bytesReceived; }
	}
	return sums;
}
</script>`

// A page that is prepared for recording audio only receives audio and no video. Its
// microphone is not processed.
func TestAudioOnlyPageReceivesNoVideo(t *testing.T) {
	t.Parallel()
	type sums struct{ Audio, Frames, Bytes int }
	ctx, f := prepare(t, "?still&silent")
	receive := func(t *testing.T, settings recorder.Settings, query string, enough func(sums) bool) (got sums) {
		t.Helper()
		f := f.open(t, ctx, strings.TrimPrefix(videoCallPath, "/")+query, settings)
		defer f.page.Close()
		await.Until(t, "the media", func() bool {
			if err := f.page.EvalInPage(ctx, "received()", &got); err != nil {
				t.Fatal(err)
			}
			return enough(got)
		})
		return got
	}
	for _, query := range []string{"", "?offers", "?offers=options"} {
		t.Run(query, func(t *testing.T) {
			const packets = 100 // two seconds
			if got := receive(t, recorder.Settings{AudioOnly: true}, query, func(s sums) bool { return s.Audio > packets }); got.Frames > 0 ||
				got.Bytes > 0 {
				t.Errorf("received %+v", got)
			}
		})
	}
	t.Run("with video", func(t *testing.T) {
		receive(t, recorder.Settings{}, "", func(s sums) bool { return s.Audio > 0 && s.Frames > 0 })
	})
	t.Run("microphone", func(t *testing.T) {
		if err := f.browser.GrantMicrophoneAndCamera(ctx, f.address); err != nil {
			t.Fatal(err)
		}
		for _, audio := range []string{"true", "{echoCancellation: {ideal: true}}"} {
			var processed bool
			err := f.page.EvalInPage(ctx, `(async () => {
				const [track] = (await navigator.mediaDevices.getUserMedia({audio: `+audio+`})).getTracks(), settings = track.getSettings();
				track.stop();
				return settings.echoCancellation || settings.noiseSuppression || settings.autoGainControl;
			})()`, &processed)
			if err != nil || processed {
				t.Errorf("the microphone of %s is processed: %t, %v", audio, processed, err)
			}
		}
	})
}
