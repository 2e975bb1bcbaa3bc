package recorder_test

import (
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
)

// The video of visibilityPage moves, and the page receives no audio.
func TestMeasureInbound(t *testing.T) {
	t.Parallel()
	ctx, f := prepareIn(t, browser.Headless, "visibility", testTimeout, recorder.Settings{})
	ticker := time.NewTicker(300 * time.Millisecond)
	defer ticker.Stop()
	for {
		inbound, err := recorder.MeasureInbound(ctx, f.page)
		if err != nil {
			t.Fatal(err)
		}
		if inbound.ReceivesSound() || inbound.Packets > 0 {
			t.Fatalf("audio that nobody sends: %+v", inbound)
		}
		if inbound.ReceivesMotion() {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the received video does not move: %+v", inbound)
		}
	}
}
