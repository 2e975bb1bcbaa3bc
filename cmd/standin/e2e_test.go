package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/mediacheck"
)

// These tests record in real time.

// TestRecording records a meeting that flashes and beeps once a second. TestBeat checks that
// they are in sync.
func TestRecording(t *testing.T) {
	t.Parallel()
	checkSpan(t, recordBeats(t, 6), 0, math.Inf(1))
}

// recordBeats records a meeting, checks the manifest and that the recording plays, and returns a report of it.
func recordBeats(t *testing.T, seconds int) mediacheck.Report {
	t.Helper()
	h := newHarness(t, fullPicture)
	id := h.create(map[string]any{})
	h.awaitJob(id, job.RecordingStarted)
	<-time.After(time.Duration(seconds) * time.Second) // of recording
	h.meeting.End()
	h.awaitJob(id, job.Completed)
	manifest := h.manifest(id)
	if manifest.Partial || len(manifest.Gaps) > 0 || manifest.End.Reason != "host_ended" {
		t.Fatalf("manifest: partial %v, gaps %v, end %+v, media %v", manifest.Partial, manifest.Gaps, manifest.End, manifest.Media)
	}
	path, report := h.recording(manifest)
	// A busy machine starts and stops recording late: TestRecording only checks that there is a recording.
	if off := math.Abs(report.DurationMs/1000 - float64(seconds)); seconds >= 60 && off > 2 || report.DurationMs < 2000 {
		t.Errorf("the recording is %.0f ms long, want %d s ± 2 s in make beat, else at least 2 s", report.DurationMs, seconds)
	}
	checkPlays(t, path, report)
	return report
}

// span is a part of a recording of the replica meeting, which flashes and beeps
// once a second.
type span struct {
	seconds        float64
	flashes, beeps int
}

// countBeats counts the beeps and flashes between two times, in ms.
func countBeats(report mediacheck.Report, from, to float64) span {
	to = math.Min(to, report.DurationMs)
	within := func(moments []float64) (n int) {
		for _, at := range moments {
			if at >= from && at <= to {
				n++
			}
		}
		return n
	}
	return span{seconds: (to - from) / 1000, flashes: within(report.FlashesMs), beeps: within(report.BeepsMs)}
}

// player starts the browser that plays the recordings of all tests.
var player = sync.OnceValues(func() (*browser.Browser, error) {
	chromium, err := browser.Launch(context.Background(), browser.Options{})
	if err == nil {
		endAtExit(func() { _ = chromium.Close() })
	}
	return chromium, err
})

// checkPlays plays a recording in a browser and seeks in it.
func checkPlays(t *testing.T, path string, report mediacheck.Report) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(path))))
	t.Cleanup(server.Close)
	chromium, err := player()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	page, err := chromium.NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	if err := page.Navigate(ctx, server.URL+"/"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Duration, Played, Sought, Width float64 }
	err = page.EvalInPage(ctx, fmt.Sprintf(`(async () => {
		const video = document.createElement("video");
		video.muted = true;
		video.src = %q;
		const event = (name) => new Promise((resolve, reject) => {
			video.addEventListener(name, resolve, {once: true});
			video.addEventListener("error", () => reject(new Error(video.error.message)), {once: true});
		});
		await event("loadedmetadata");
		await video.play();
		while (video.currentTime < 0.5) await event("timeupdate");
		video.pause();
		const played = video.currentTime;
		video.currentTime = video.duration - 2;
		await event("seeked");
		return {duration: video.duration, played, sought: video.currentTime, width: video.videoWidth};
	})()`, "/"+filepath.Base(path)), &got)
	if err != nil {
		t.Fatalf("play the recording: %v", err)
	}
	if math.Abs(got.Duration*1000-report.DurationMs) > 500 || got.Played < 0.5 || math.Abs(got.Sought-(got.Duration-2)) > 0.2 ||
		int(got.Width) != report.Width {
		t.Errorf("in the browser: %+v, want a duration of %.0f ms, 0.5 s played, the end sought, %d wide", got, report.DurationMs, report.Width)
	}
}

// TestCancelledRecording cancels a job during its recording. The bot leaves, what it has
// recorded is kept, and the job stays cancelled.
func TestCancelledRecording(t *testing.T) {
	t.Parallel()
	h := newHarness(t, smallPicture)
	id := h.create(map[string]any{})
	h.awaitJob(id, job.RecordingStarted)
	<-time.After(4 * time.Second) // of recording
	h.call(http.MethodDelete, "/api/v1/jobs/"+id, nil, nil)
	h.await("the manifest", func() bool {
		return h.target.call(http.MethodGet, "/api/v1/jobs/"+id, h.key, nil).field("manifestUri") != nil
	})
	h.awaitJob(id, job.Cancelled)
	manifest := h.manifest(id)
	if _, report := h.recording(manifest); manifest.End.Reason != "left_on_command" || report.DurationMs < 3000 {
		t.Errorf("the manifest %+v of a recording of %.0f ms", manifest, report.DurationMs)
	}
	if code, out, stderr := command("recordings", "verify", id, "--data-dir", h.dir); code != 0 {
		t.Errorf("verify: exit code %d, %s%s", code, out, stderr)
	}
	for _, hook := range h.hooks.of(id) {
		if hook.Event == webhook.JobFinalized {
			t.Error("a cancelled job sent job.finalized")
		}
	}
}
