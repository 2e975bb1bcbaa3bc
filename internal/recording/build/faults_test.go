package build

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"standin/internal/recording"
	"standin/internal/testing/s3test"
)

// newLostBotHarness returns a finisher with the uploads of the lost bots of some attempts
// in a new bucket, and the proxy to that bucket.
func newLostBotHarness(t *testing.T, attempts ...[][]byte) (finisherHarness, *s3test.Store) {
	t.Helper()
	proxy := s3test.Start(t)
	finisher := newFinisherHarnessOn(t, openStorage(t, proxy.Address()))
	for attempt, segments := range attempts {
		finisher.upload(t, attempt, 0, segments)
	}
	finisher.report(t, lostReport(0, openPart(0, 0)))
	return finisher, proxy
}

// TestInterruptedFinishingCanBeRepeated interrupts a run at its first request and at
// each request that writes, as when the service is killed, and checks that the next
// run has the same result as an uninterrupted one. Interruptions at other requests
// leave the same storage.
func TestInterruptedFinishingCanBeRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 4}))
	finisher, proxy := newLostBotHarness(t, segments)
	var writes atomic.Int64
	proxy.SetFaults(func(r *http.Request, _ int64) s3test.Fault {
		writes.Add(written(r))
		return s3test.Fault{}
	})
	manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil)
	if err != nil {
		t.Fatal(err)
	}
	total := writes.Load()
	finisher.check(t, manifest)
	if total < 2 { // the media and the manifest
		t.Fatalf("finishing wrote %d times", total)
	}
	t.Logf("%d of %d requests write", total, proxy.Requests())
	for last := range total + 1 {
		t.Run(fmt.Sprintf("interrupted at write %d", last), func(t *testing.T) {
			t.Parallel()
			interrupted, proxy := newLostBotHarness(t, segments)
			ctx, interrupt := context.WithCancel(t.Context())
			var writes atomic.Int64
			proxy.SetFaults(func(r *http.Request, _ int64) s3test.Fault {
				if writes.Add(written(r)) < last {
					return s3test.Fault{}
				}
				interrupt()
				return s3test.Fault{DropResponse: true} // the result of the request is unknown
			})
			if _, err := interrupted.FinishWithoutBot(ctx, interrupted.input, "bot_lost", nil); err == nil {
				t.Error("no error")
			}
			interrupt()
			proxy.ClearFaults()
			again, err := interrupted.FinishWithoutBot(t.Context(), interrupted.input, "bot_lost", nil)
			if err != nil {
				t.Fatalf("repeated: %v", err)
			}
			if again.Media[0].SHA256 != manifest.Media[0].SHA256 || again.Partial != manifest.Partial {
				t.Errorf("%+v, want %+v", again, manifest)
			}
			interrupted.check(t, again)
		})
	}
}

// written returns 1 for a request that writes, else 0.
func written(r *http.Request) int64 {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return 0
	}
	return 1
}

// TestStoreThatLoses checks that a recording is not finished while the store answers
// with success and keeps nothing, or does not say what it has.
func TestStoreThatLoses(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 4}))
	for name, lost := range map[string]func(r *http.Request) s3test.Fault{
		"the media": func(r *http.Request) s3test.Fault {
			return s3test.Fault{Lose: r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/media/")}
		},
		"the manifest": func(r *http.Request) s3test.Fault {
			return s3test.Fault{Lose: r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "manifest.json")}
		},
		"the answer to HEAD": func(r *http.Request) s3test.Fault {
			if r.Method == http.MethodHead && strings.Contains(r.URL.Path, "/media/") {
				return s3test.Fault{Status: http.StatusForbidden}
			}
			return s3test.Fault{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finisher, proxy := newLostBotHarness(t, segments)
			proxy.SetFaults(func(r *http.Request, _ int64) s3test.Fault { return lost(r) })
			if _, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil); err == nil {
				t.Error("the recording is finished")
			}
			proxy.ClearFaults()
			manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil)
			if err != nil {
				t.Fatal(err)
			}
			finisher.check(t, manifest)
		})
	}
}

// TestHoleInSegments checks that a recording goes on after missing segments, at its time, with a gap
// in the manifest.
func TestHoleInSegments(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 6}))
	segments[2], segments[3] = nil, nil // two fragments of 1.11 s, after the header and the first one
	finisher.upload(t, 0, 0, segments)
	part := completePart(0, 0, 6)
	part.Segments = len(segments)
	finisher.report(t, leftReport(0, part))
	manifest, err := finisher.FinishWithoutBot(t.Context(), finisher.input, "bot_lost", nil)
	if err != nil {
		t.Fatal(err)
	}
	finisher.check(t, manifest)
	near := func(got, want int64) bool { return got > want-150 && got < want+150 }
	if len(manifest.Gaps) == 0 || manifest.Gaps[0].Reason != recording.GapMediaLost || !near(manifest.Gaps[0].StartMs, 1110) ||
		!near(manifest.Gaps[0].EndMs, 3340) {
		t.Errorf("gaps: %+v", manifest.Gaps)
	}
	if len(manifest.Media) != 1 || !near(manifest.Media[0].DurationMs, 6000) || !manifest.Partial {
		t.Errorf("partial %t, media %+v", manifest.Partial, manifest.Media)
	}
	for _, gap := range manifest.Gaps[1:] {
		if gap.EndMs-gap.StartMs > 500 {
			t.Errorf("another gap: %+v", gap)
		}
	}
}
