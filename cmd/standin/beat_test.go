package main

import (
	"math"
	"os"
	"slices"
	"testing"

	"standin/internal/testing/mediacheck"
)

const (
	// mostApart is how far a beep may be from its flash, in ms, at the start
	// and at the end: the median of so many seconds there.
	mostApart   = 80
	edgeSeconds = 10
	// leastPresent is the share of seconds whose flash and beep are there.
	leastPresent = 0.99
	// usualCadence is the set frame rate, and leastCadence the share of it that
	// a page which always moves must reach.
	usualCadence = 15
	leastCadence = 0.9
)

// TestBeat records the demo's meeting for STANDIN_TEST_SECONDS (make beat: a
// minute, then half an hour): sound and picture are together at the start and
// at the end, nothing is missing, and the frames come at the set rate. It wants
// a machine that does nothing else.
func TestBeat(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_SECONDS") == "" {
		t.Skip("STANDIN_TEST_SECONDS is not set; make beat sets it")
	}
	seconds := int(fromEnvironment(t, "STANDIN_TEST_SECONDS", 60))
	report := recordDemo(t, seconds)
	lasts := report.DurationMs / 1000
	present := math.Min(share(report.FlashesMs, report.DurationMs), share(report.BeepsMs, report.DurationMs))
	start, end := edges(report.Pairs())
	cadence := float64(report.Frames) / lasts
	t.Logf("%.1f s: beep after flash by %.0f ms at the start and %.0f ms at the end; %.2f%% of the seconds are there; %.2f frames/s; the longest frame %.0f ms at %.0f ms",
		lasts, start, end, 100*present, cadence, report.LongestFrameGapMs, report.LongestFrameAtMs)
	if math.Abs(start) > mostApart || math.Abs(end) > mostApart {
		t.Errorf("beep and flash are %.0f ms apart at the start and %.0f ms at the end, want at most %d", start, end, mostApart)
	}
	if present < leastPresent {
		t.Errorf("%.2f%% of the seconds are there, want %.0f%%; no flash follows those at %.0f ms, and no beep those at %.0f ms",
			100*present, 100*leastPresent, lonely(report.FlashesMs), lonely(report.BeepsMs))
	}
	if cadence < leastCadence*usualCadence || cadence > usualCadence/leastCadence {
		t.Errorf("%.2f frames/s, want about %d", cadence, usualCadence)
	}
}

// share is how many of the seconds of a recording have their flash or beep. The
// first and the last one may fall just outside.
func share(moments []float64, lastsMs float64) float64 {
	const outside = 1500 // milliseconds
	if len(moments) == 0 || moments[0] > outside || lastsMs-moments[len(moments)-1] > outside {
		return 0
	}
	return float64(len(moments)) / (math.Round((moments[len(moments)-1]-moments[0])/1000) + 1)
}

// lonely are the moments that the next second's does not follow.
func lonely(moments []float64) (last []float64) {
	for i := 1; i < len(moments); i++ {
		if moments[i]-moments[i-1] > 1500 {
			last = append(last, moments[i-1])
		}
	}
	return last
}

// edges are the medians of how much later beeps come than flashes, in the first
// and the last seconds, in ms.
func edges(pairs []mediacheck.Pair) (start, end float64) {
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
