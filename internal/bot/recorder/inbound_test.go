package recorder_test

import (
	"testing"

	"standin/internal/bot/recorder"
	"standin/internal/testing/await"
)

// The video of visibilityPage moves, and the page receives no audio. The video flows
// also when the page has paused it, and plays again.
func TestInboundVideo(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "visibility")
	receivesMotion := func() bool {
		inbound, err := recorder.MeasureInbound(ctx, f.page)
		if err != nil {
			t.Fatal(err)
		}
		if inbound.ReceivesSound() || inbound.Packets > 0 {
			t.Fatalf("audio that nobody sends: %+v", inbound)
		}
		return inbound.ReceivesMotion()
	}
	await.Until(t, "the video moves", receivesMotion)
	var paused int
	if err := f.page.EvalInPage(ctx, `[...document.querySelectorAll("video")].filter(video => video.srcObject && (video.pause(), video.paused)).length`, &paused); err != nil || paused == 0 {
		t.Fatalf("%d videos paused, %v", paused, err)
	}
	receivesMotion() // what changed until the pause
	for range 3 {    // the first measurement of a track has nothing to compare with
		await.Until(t, "the track of a paused video moves", receivesMotion)
	}
	resumed, err := recorder.ResumeVideos(ctx, f.page)
	if err != nil || resumed == 0 {
		t.Fatalf("%d videos resumed, %v", resumed, err)
	}
	await.Until(t, "the videos play", func() bool {
		var playing bool
		if err := f.page.EvalInPage(ctx, `[...document.querySelectorAll("video")].filter(video => video.srcObject).every(video => !video.paused)`, &playing); err != nil {
			t.Fatal(err)
		}
		return playing
	})
}
