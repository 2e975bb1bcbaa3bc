package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// wholeWay are the states of a recording that goes well.
func wholeWay() []job.Status {
	return []job.Status{
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted, job.RecordingStopped,
		job.Finalizing, job.PostProcessing, job.MediaUploading, job.Completed,
	}
}

// These tests record in real time on a machine that may be small. TestDemo, which
// judges how well sound and picture fit, has it for itself; the others share it.

// TestDemo runs the README's demo and holds the recording against what the
// meeting showed: a flash and a beep once a second. A machine that stalls tears
// them apart for some ten seconds, so a run that fails only in this is
// repeated, once.
func TestDemo(t *testing.T) {
	needTools(t)
	problems := beat(recordDemo(t, 20), 0, math.Inf(1)).together()
	if len(problems) > 0 {
		t.Logf("once more, because of the first run: %q", problems)
		problems = beat(recordDemo(t, 20), 0, math.Inf(1)).together()
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

// recordDemo runs the demo, checks all that it hands out but how well sound
// and picture fit, and returns what its recording holds.
func recordDemo(t *testing.T, seconds int) mediacheck.Report {
	t.Helper()
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "demo", "--once", "--seconds", strconv.Itoa(seconds), "--keep", dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("standin demo: %v\n%s", err, stderr.String())
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(stdout.Bytes(), &manifest); err != nil {
		t.Fatalf("standard output is no manifest: %v\n%s", err, stdout.String())
	}
	if manifest.Partial || len(manifest.Gaps) > 0 || manifest.End.Reason != "host_ended" {
		t.Fatalf("manifest: partial %v, gaps %v, end %+v, media %v", manifest.Partial, manifest.Gaps, manifest.End, manifest.Media)
	}
	file := theRecording(t, manifest)
	path := filepath.Join(dir, "recordings", "jobs", manifest.JobID, "media", file.Name)
	report := checkFile(t, path, file)
	for what, ms := range map[string]float64{"the file": report.DurationMs, "the manifest": float64(file.DurationMs)} {
		if off := math.Abs(ms/1000 - float64(seconds)); off > 2 {
			t.Errorf("by %s the recording lasts %.0f ms, want %d s ± 2 s", what, ms, seconds)
		}
	}
	checkPlays(t, path, report.DurationMs)
	for _, want := range []string{"scheduled → dispatching", "media_uploading → completed", "job.finalized"} {
		if strings.Count(stderr.String(), want) != 1 {
			t.Errorf("the terminal tells %d times of %q:\n%s", strings.Count(stderr.String(), want), want, stderr.String())
		}
	}
	return report
}

// span is a part of a recording of the replica's meeting, which flashes and
// beeps once in every second.
type span struct {
	seconds        float64
	flashes, beeps int
	apart          []float64 // beep and flash of one second, in ms
}

// beat counts the beeps and flashes between two moments, in ms.
func beat(report mediacheck.Report, from, to float64) span {
	to = math.Min(to, report.DurationMs)
	within := func(moments []float64) (n int) {
		for _, at := range moments {
			if at >= from && at <= to {
				n++
			}
		}
		return n
	}
	s := span{seconds: (to - from) / 1000, flashes: within(report.FlashesMs), beeps: within(report.BeepsMs)}
	for _, pair := range report.Pairs() {
		if pair.FlashMs >= from && pair.FlashMs <= to {
			s.apart = append(s.apart, math.Abs(pair.DifferenceMs()))
		}
	}
	return s
}

// whole tells which seconds are missing or too many: some, at most, where the
// span begins and ends and where the machine stalled.
func (s span) whole(some float64) (problems []string) {
	for what, n := range map[string]int{"flashes": s.flashes, "beeps": s.beeps} {
		if float64(n) < math.Floor(s.seconds)-some || float64(n) > math.Ceil(s.seconds)+1 {
			problems = append(problems, fmt.Sprintf("%d %s in %.1f s", n, what, s.seconds))
		}
	}
	return problems
}

// together tells what keeps sound and picture from belonging together: missing
// seconds, or a beep and its flash further apart than 100 ms in more than one
// second of ten, which a stall of the machine explains.
func (s span) together() []string {
	const apart, stalled = 100, 10
	problems := s.whole(1)
	var torn int
	for _, ms := range s.apart {
		if ms > apart {
			torn++
		}
	}
	if torn > len(s.apart)/stalled || len(s.apart) == 0 {
		problems = append(problems, fmt.Sprintf("beep and flash are more than %d ms apart in %d of %d seconds: %.0f", apart, torn, len(s.apart), s.apart))
	}
	return problems
}

// checkPlays plays a recording in a browser and seeks in it.
func checkPlays(t *testing.T, path string, durationMs float64) {
	t.Helper()
	executable, err := browser.Find("")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(path))))
	t.Cleanup(server.Close)
	chromium, err := browser.Launch(t.Context(), browser.Options{Executable: executable})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chromium.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page, err := chromium.NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Navigate(ctx, server.URL+"/"); err != nil {
		t.Fatal(err)
	}
	var got struct{ Duration, Played, Sought, Width float64 }
	err = page.Eval(ctx, fmt.Sprintf(`(async () => {
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
	if math.Abs(got.Duration*1000-durationMs) > 500 || got.Played < 0.5 || math.Abs(got.Sought-(got.Duration-2)) > 0.2 || got.Width != 1280 {
		t.Errorf("in the browser: %+v, want a duration of %.0f ms, 0.5 s played, the end sought, 1280 wide", got, durationMs)
	}
}

// TestServiceKilled kills the service in the middle of a recording and starts
// it again: the same bot goes on, and nothing is lost or doubled.
func TestServiceKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.send()
	h.hooks.awaitStatus(t, job.RecordingStarted)
	bot := h.bot(id, 0)
	<-time.After(4 * time.Second) // of recording
	h.stopService(syscall.SIGKILL)
	<-time.After(5 * time.Second) // of absence, while the meeting goes on
	h.startService(strings.TrimPrefix(h.base, "http://"))
	<-time.After(4 * time.Second) // of recording
	if again := h.bot(id, 0); again != bot {
		t.Errorf("bot %d took the place of %d", again, bot)
	}
	h.meeting.End()
	h.hooks.awaitStatus(t, job.Completed)
	h.hooks.await(t, "job.finalized", func(hook received) bool { return hook.Event == "job.finalized" })
	h.hooks.checkStory(t, wholeWay()...)

	manifest := h.manifest(id)
	if manifest.Partial || len(manifest.Gaps) > 0 {
		t.Errorf("the recording is said to have gaps: %+v", manifest.Gaps)
	}
	_, report := h.recording(manifest)
	if report.DurationMs < 12500 {
		t.Errorf("the recording lasts %.0f ms, want the whole 13 s and more", report.DurationMs)
	}
	checkThere(t, report, 0, math.Inf(1))
	h.checkVoices(manifest, 1)
}

// TestBrowserKilled kills the bot's browser in the middle of a recording: what
// was recorded is kept, the bot comes back, and the manifest tells of the gap.
func TestBrowserKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.send()
	h.hooks.awaitStatus(t, job.RecordingStarted)
	<-time.After(6 * time.Second) // of recording
	if err := syscall.Kill(h.browserOf(h.bot(id, 0)), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.awaitGuest(2)
	<-time.After(6 * time.Second) // of recording by the second browser
	h.meeting.End()
	h.hooks.awaitStatus(t, job.Completed)
	h.hooks.checkStory(t, wholeWay()...)
	h.checkTwoStretches(id)
}

// TestBotKilled kills the bot itself: a second attempt goes on, and both
// attempts' media make one recording.
func TestBotKilled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.send()
	h.hooks.awaitStatus(t, job.RecordingStarted)
	<-time.After(6 * time.Second) // of recording
	if err := syscall.Kill(h.bot(id, 0), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.awaitGuest(2)
	<-time.After(6 * time.Second) // of recording by the second bot
	h.meeting.End()
	h.hooks.awaitStatus(t, job.Completed)
	h.hooks.checkStory(t,
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted,
		job.Dispatching, job.Joining, job.EnteringLobby, job.InMeeting, job.RecordingStarted, job.RecordingStopped,
		job.Finalizing, job.PostProcessing, job.MediaUploading, job.Completed)
	h.checkTwoStretches(id)
}

// awaitGuest waits until so many guests have received the meeting's media.
func (h *harness) awaitGuest(number int) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	if _, err := h.meeting.WaitFor(ctx, func(event replica.Event) bool {
		return event.Kind == replica.EventMediaConnected && event.Guest == fmt.Sprintf("g%d", number)
	}); err != nil {
		h.Fatal(err)
	}
}

// checkTwoStretches holds a recording that was interrupted against what its
// manifest says: partial, with a gap, and both parts there.
func (h *harness) checkTwoStretches(id string) {
	h.Helper()
	manifest := h.manifest(id)
	if !manifest.Partial || len(manifest.Gaps) != 1 {
		h.Fatalf("partial %v, gaps %+v; want a partial recording with one gap", manifest.Partial, manifest.Gaps)
	}
	gap := manifest.Gaps[0]
	path, report := h.recording(manifest)
	// Of 6 s before the kill it may cost 3 s; of 6 s after, the
	// start of the second recorder takes about one.
	if report.DurationMs < 7000 || gap.StartMs < 3000 || gap.EndMs <= gap.StartMs {
		h.Errorf("the recording lasts %.0f ms around the gap %+v; want 3 s before it and 4 s after", report.DurationMs, gap)
	}
	checkThere(h.T, report, 0, float64(gap.StartMs)-500)
	checkThere(h.T, report, float64(gap.StartMs)+1500, math.Inf(1))
	checkPlays(h.T, path, report.DurationMs)
	h.checkVoices(manifest, 2)
}

// TestCancelledRecording cancels a job in the middle of its recording: the bot
// leaves by the page's button, what was captured is kept, and the job stays
// cancelled. Before, the host is asked in the chat and refuses.
func TestCancelledRecording(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.send()
	h.hooks.awaitStatus(t, job.RecordingStarted)
	<-time.After(5 * time.Second) // of recording
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	h.call(http.MethodPost, "/api/v1/jobs/"+id+"/request-recording-permission", nil, nil)
	if _, err := h.meeting.Wait(ctx, replica.EventChat); err != nil {
		t.Fatalf("the bot does not ask the host: %v", err)
	}
	if err := h.meeting.Say("Ada Quill", "No, thanks."); err != nil {
		t.Fatal(err)
	}
	if asked := h.hooks.await(t, "an answer about permission", func(hook received) bool {
		return hook.Event == "bot.recording_permission_response"
	}); asked.Data.Granted == nil || *asked.Data.Granted {
		t.Errorf("permission that the host refused: %+v", asked)
	}
	h.call(http.MethodDelete, "/api/v1/jobs/"+id, nil, nil)
	if _, err := h.meeting.Wait(ctx, replica.EventKind(replica.StateLeft)); err != nil {
		t.Fatalf("the bot does not leave: %v", err)
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
			t.Fatal("no manifest is attached to the cancelled job")
		}
	}
	if got.Status != job.Cancelled {
		t.Errorf("the job is %s", got.Status)
	}
	manifest := h.manifest(id)
	if manifest.End.Reason != "left_on_command" || manifest.Partial {
		t.Errorf("end %+v, partial %v", manifest.End, manifest.Partial)
	}
	h.recording(manifest)
	for _, hook := range h.hooks.all() {
		if hook.Event == "job.finalized" {
			t.Error("a cancelled job told of job.finalized")
		}
	}
}
