package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// successStatuses returns the statuses of a successful job, in order.
func successStatuses() []job.Status {
	return []job.Status{
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted, job.RecordingStopped,
		job.Finalizing, job.PostProcessing, job.MediaUploading, job.Completed,
	}
}

// These tests record in real time.

// TestDemo runs the README's demo and compares the recording with the meeting,
// which shows a flash and a beep once a second. TestBeat checks that they are in
// sync.
func TestDemo(t *testing.T) {
	t.Parallel()
	needTools(t)
	testbrowser.Reserve(t)
	checkSpan(t, recordDemo(t, 6), 0, math.Inf(1))
}

// recordDemo runs the demo, checks its output except for sync, and returns a
// report of the decoded recording.
func recordDemo(t *testing.T, seconds int) mediacheck.Report {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "demo", "--once", "--seconds", strconv.Itoa(seconds), "--data-dir", dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("standin demo: %v\n%s", err, stderr.String())
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(stdout.Bytes(), &manifest); err != nil {
		t.Fatalf("standard output is not a manifest: %v\n%s", err, stdout.String())
	}
	if manifest.Partial || len(manifest.Gaps) > 0 || manifest.End.Reason != "host_ended" {
		t.Fatalf("manifest: partial %v, gaps %v, end %+v, media %v", manifest.Partial, manifest.Gaps, manifest.End, manifest.Media)
	}
	file := recordingFile(t, manifest)
	path := filepath.Join(dir, "recordings", "jobs", manifest.JobID, "media", file.Name)
	report := checkFile(t, path, file, fullPicture)
	for what, ms := range map[string]float64{"the file": report.DurationMs, "the manifest": float64(file.DurationMs)} {
		// A busy machine starts and stops recording late: make test only checks that there is a recording.
		if off := math.Abs(ms/1000 - float64(seconds)); seconds >= 60 && off > 2 || ms < 2000 {
			t.Errorf("duration of %s is %.0f ms, want %d s ± 2 s in make beat, else at least 2 s", what, ms, seconds)
		}
	}
	checkPlays(t, path, report)
	for _, want := range []string{"scheduled → dispatching", "media_uploading → completed", "job.finalized"} {
		if strings.Count(stderr.String(), want) != 1 {
			t.Errorf("the terminal shows %d times %q:\n%s", strings.Count(stderr.String(), want), want, stderr.String())
		}
	}
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
		atExit = append(atExit, func() { _ = chromium.Close() })
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
	ctx, cancel := context.WithTimeout(t.Context(), awaitTimeout)
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
	if math.Abs(got.Duration*1000-report.DurationMs) > 500 || got.Played < 0.5 || math.Abs(got.Sought-(got.Duration-2)) > 0.2 || int(got.Width) != report.Width {
		t.Errorf("in the browser: %+v, want a duration of %.0f ms, 0.5 s played, the end sought, %d wide", got, report.DurationMs, report.Width)
	}
}

// TestServiceAndBrowserKilled kills the service during a recording and restarts it.
// The same bot continues, and nothing is lost or duplicated. Then it kills the bot's
// browser. The recorded part is kept, the bot rejoins, and the manifest lists this gap
// only.
func TestServiceAndBrowserKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	h := newHarness(t)
	id := h.send()
	h.hooks.awaitStatus(t, job.RecordingStarted)
	recording := time.Now()
	bot := h.bot(id, 0)
	h.awaitMedia(id, 0, 0)
	h.stopService(syscall.SIGKILL)
	<-time.After(3 * time.Second) // of absence, while the meeting goes on
	h.startService(strings.TrimPrefix(h.base, "http://"))
	absent := time.Since(recording)
	if current := h.bot(id, 0); current != bot {
		t.Errorf("bot %d replaced bot %d", current, bot)
	}
	h.awaitSegments(id, 0, 0, int(absent.Seconds())+5)
	if err := syscall.Kill(h.browserOf(bot), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.awaitMedia(id, 0, 1)
	h.meeting.End()
	h.hooks.awaitStatus(t, job.Completed)
	h.hooks.await(t, "job.finalized", func(hook received) bool { return hook.Event == "job.finalized" })
	h.hooks.checkTransitions(t, successStatuses()...)
	gap := h.checkOneGap(id)
	if least := absent.Milliseconds(); gap.StartMs < least {
		t.Errorf("the gap starts at %d ms, want at least %d ms", gap.StartMs, least)
	}
}

// TestBotKilled kills the bot. A second attempt continues, and the media, captions
// and chat messages of both attempts make one recording.
func TestBotKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	h := newHarness(t)
	id := h.sendWith(map[string]any{"captions": true, "chat": true, "captionsLanguage": "en-US"})
	h.hooks.awaitStatus(t, job.RecordingStarted)
	h.speak(id, "Before the bot was killed.")
	h.awaitMedia(id, 0, 0)
	if err := syscall.Kill(h.bot(id, 0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.hooks.awaitStatusAfter(t, job.RecordingStarted, 5) // 5 is the event of the first recording
	h.speak(id, "After the bot was killed.")
	h.awaitMedia(id, 1, 0)
	h.meeting.End()
	h.hooks.awaitStatus(t, job.Completed)
	h.checkTexts(id, "Before the bot was killed.", "After the bot was killed.")
	h.hooks.checkTransitions(t,
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted,
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted, job.RecordingStopped,
		job.Finalizing, job.PostProcessing, job.MediaUploading, job.Completed)
	h.checkOneGap(id)
}

// awaitMedia waits until the service stores more than four seconds of a part of an
// attempt's recording, and of both participants' audio in it. Parts before it have
// two audio tracks each.
func (h *harness) awaitMedia(id string, attempt, part int) {
	h.Helper()
	h.awaitSegments(id, attempt, part, 5)
}

// awaitSegments is awaitMedia for a number of segments, of about a second each.
func (h *harness) awaitSegments(id string, attempt, part, segments int) {
	h.Helper()
	uploads := filepath.Join(h.dir, "recordings", "jobs", id, "uploads", strconv.Itoa(attempt))
	deadline := time.Now().Add(awaitTimeout)
	for ; ; time.Sleep(200 * time.Millisecond) {
		video, tracks := 0, make(map[int]int) // numbers of segments
		entries, _ := os.ReadDir(uploads)     // created with the first upload
		for _, entry := range entries {
			if number, _, ok := ingest.ParseSegmentName(entry.Name()); ok && number == part {
				video++
			}
			if ingest.IsBundleName(entry.Name()) {
				countSegments(h.T, filepath.Join(uploads, entry.Name()), tracks)
			}
		}
		maps.DeleteFunc(tracks, func(_, count int) bool { return count < segments })
		if video >= segments && len(tracks) >= 2*(part+1) {
			return
		}
		if time.Now().After(deadline) {
			h.Fatalf("the service stores %d segments of part %d, and %d segments or more of the tracks %v", video, part, segments, tracks)
		}
	}
}

// countSegments adds the number of segments of each audio track in a bundle.
func countSegments(t *testing.T, bundle string, tracks map[int]int) {
	t.Helper()
	file, err := os.Open(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for reader := tar.NewReader(file); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if track, _, ok := ingest.ParseTrackSegmentName(header.Name); ok {
			tracks[track]++
		}
	}
}

// checkOneGap checks an interrupted recording: the manifest is partial and lists
// one gap, and the media contain the parts before and after it.
func (h *harness) checkOneGap(id string) recording.Gap {
	h.Helper()
	manifest := h.manifest(id)
	if !manifest.Partial || len(manifest.Gaps) != 1 {
		h.Fatalf("partial %v, gaps %+v; want a partial recording with one gap", manifest.Partial, manifest.Gaps)
	}
	gap := manifest.Gaps[0]
	path, report := h.recording(manifest)
	// The service stored more than 4 s before the gap and more than 4 s after it.
	if report.DurationMs < 7500 || gap.StartMs < 3500 || gap.EndMs <= gap.StartMs {
		h.Errorf("the recording lasts %.0f ms with the gap %+v; want 4 s before and 4 s after the gap", report.DurationMs, gap)
	}
	checkSpan(h.T, report, 0, float64(gap.StartMs)-500)
	checkSpan(h.T, report, float64(gap.StartMs)+1500, math.Inf(1))
	checkPlays(h.T, path, report)
	h.checkParticipantAudio(manifest, 2)
	return gap
}

// TestCancelledRecording cancels a job during its recording, which is of audio only.
// The bot leaves with the page's own button, the captured media is kept, and the job
// stays cancelled. Before that, the host denies a request for recording permission in
// the chat.
func TestCancelledRecording(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.sendWith(map[string]any{"recordingMode": "audio", "participantAudio": false})
	h.hooks.awaitStatus(t, job.RecordingStarted)
	<-time.After(4 * time.Second) // of recording
	ctx, cancel := context.WithTimeout(t.Context(), awaitTimeout)
	defer cancel()
	h.call(http.MethodPost, "/api/v1/jobs/"+id+"/request-recording-permission", nil, nil)
	if _, err := h.meeting.Wait(ctx, replica.EventChat); err != nil {
		t.Fatalf("the bot did not ask the host: %v", err)
	}
	if err := h.meeting.Say("Ada Quill", "No, thanks."); err != nil {
		t.Fatal(err)
	}
	if asked := h.hooks.await(t, "an answer about permission", func(hook received) bool {
		return hook.Event == "bot.recording_permission_response"
	}); asked.Data.Granted == nil || *asked.Data.Granted {
		t.Errorf("permission response after a denial: %+v", asked)
	}
	h.call(http.MethodDelete, "/api/v1/jobs/"+id, nil, nil)
	if _, err := h.meeting.Wait(ctx, replica.EventKind(replica.StateLeft)); err != nil {
		t.Fatalf("the bot did not leave: %v", err)
	}
	var got struct {
		Status      job.Status
		ManifestURI string
	}
	for got.ManifestURI == "" {
		select {
		case <-time.After(200 * time.Millisecond):
			h.call(http.MethodGet, "/api/v1/jobs/"+id, nil, &got)
		case <-ctx.Done():
			t.Fatal("the cancelled job has no manifest")
		}
	}
	if got.Status != job.Cancelled {
		t.Errorf("the job is %s", got.Status)
	}
	manifest := h.manifest(id)
	if manifest.End.Reason != "left_on_command" {
		t.Errorf("end %+v", manifest.End)
	}
	h.checkAudioOnly(id, manifest)
	for _, hook := range h.hooks.all() {
		if hook.Event == "job.finalized" {
			t.Error("a cancelled job sent job.finalized")
		}
	}
}
