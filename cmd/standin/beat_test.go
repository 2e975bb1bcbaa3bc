package main

import (
	"math"
	"os"
	"slices"
	"testing"

	"standin/internal/testing/mediacheck"
)

const (
	// maxOffset is the largest median offset between beep and flash, in ms, over
	// the first and the last edgeSeconds of a recording.
	maxOffset   = 80
	edgeSeconds = 10
	// minPresent is the share of seconds that must contain a flash and a beep.
	minPresent = 0.99
	// frameRate is the configured frame rate. A page that always moves must reach
	// minFrameRateShare of it.
	frameRate         = 15
	minFrameRateShare = 0.9
)

// TestBeat records the meeting for STANDIN_TEST_SECONDS (make beat: one
// minute, then 30 minutes). Audio and video must be in sync at the start and at
// the end, every second must be present, and the frame rate must be as
// configured. Run it on an idle machine.
func TestBeat(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_SECONDS") == "" {
		t.Skip("STANDIN_TEST_SECONDS is not set; make beat sets it")
	}
	report := recordBeats(t, int(envInt(t, "STANDIN_TEST_SECONDS", 60)))
	seconds := report.DurationMs / 1000
	present := math.Min(share(report.FlashesMs, report.DurationMs), share(report.BeepsMs, report.DurationMs))
	start, end := medianOffsets(report.Pairs())
	rate := float64(report.Frames) / seconds
	t.Logf("%.1f s: beep after flash by %.0f ms at the start and %.0f ms at the end; %.2f%% of the seconds present; %.2f frames/s; longest frame %.0f ms at %.0f ms",
		seconds, start, end, 100*present, rate, report.LongestFrameGapMs, report.LongestFrameAtMs)
	if math.Abs(start) > maxOffset || math.Abs(end) > maxOffset {
		t.Errorf("offset between beep and flash is %.0f ms at the start and %.0f ms at the end, want at most %d", start, end, maxOffset)
	}
	if present < minPresent {
		t.Errorf("%.2f%% of the seconds are present, want %.0f%%; gaps after the flashes at %.0f ms and the beeps at %.0f ms",
			100*present, 100*minPresent, unfollowed(report.FlashesMs), unfollowed(report.BeepsMs))
	}
	if rate < minFrameRateShare*frameRate || rate > frameRate/minFrameRateShare {
		t.Errorf("%.2f frames/s, want about %d", rate, frameRate)
	}
}

// share returns the share of a recording's seconds that contain a moment. The
// first and the last moment may fall just outside the recording.
func share(moments []float64, lastsMs float64) float64 {
	const outside = 1500 // milliseconds
	if len(moments) == 0 || moments[0] > outside || lastsMs-moments[len(moments)-1] > outside {
		return 0
	}
	return float64(len(moments)) / (math.Round((moments[len(moments)-1]-moments[0])/1000) + 1)
}

// unfollowed returns the moments without another one in the next second.
func unfollowed(moments []float64) (last []float64) {
	for i := 1; i < len(moments); i++ {
		if moments[i]-moments[i-1] > 1500 {
			last = append(last, moments[i-1])
		}
	}
	return last
}

// medianOffsets returns the median delay of beeps after flashes in the first and
// the last edgeSeconds, in ms.
func medianOffsets(pairs []mediacheck.Pair) (start, end float64) {
	if len(pairs) < edgeSeconds {
		return math.Inf(1), math.Inf(1)
	}
	median := func(some []mediacheck.Pair) float64 {
		var all []float64
		for _, pair := range some {
			all = append(all, pair.DifferenceMs())
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return median(pairs[:edgeSeconds]), median(pairs[len(pairs)-edgeSeconds:])
}
