package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// The parts of a recording that are killed, each by SIGKILL.
const (
	killBrowser  = "browser"
	killRenderer = "renderer" // of the meeting's page, the recorder's or another
	killBot      = "bot"
	killFFmpeg   = "ffmpeg" // while the recording is put together
	killService  = "service"
)

const (
	// maxLost is the longest part of the recording before a kill that may be lost.
	maxLost = 3 * time.Second
	// concurrentKills is the number of bots that record at once.
	concurrentKills = 2
)

// TestKills kills the processes of a recording at random times: STANDIN_TEST_KILLS in total, 50
// with make kills; STANDIN_TEST_SEED repeats a run. Each time the job must end
// with a playable recording that lost at most three seconds, with the right values of
// partial and gaps, and with the webhooks of its statuses.
func TestKills(t *testing.T) {
	t.Parallel()
	needTools(t)
	if os.Getenv("STANDIN_TEST_KILLS") == "" {
		t.Skip("STANDIN_TEST_KILLS is not set; make kills sets it")
	}
	testbrowser.Reserve(t)
	parts := []string{killRenderer, killFFmpeg, killBrowser, killBot, killService}
	total, seed := envInt(t, "STANDIN_TEST_KILLS", 50), envInt(t, "STANDIN_TEST_SEED", time.Now().Unix())
	t.Logf("STANDIN_TEST_KILLS=%d STANDIN_TEST_SEED=%d", total, seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	shared, restarted := openHarness(t, fullPicture), openHarness(t, fullPicture)
	queue := make(chan func())
	var workers sync.WaitGroup
	for range concurrentKills {
		workers.Go(func() {
			for next := range queue {
				next()
			}
		})
	}
	var service sync.Mutex // held while the service is killed
	for number := range int(total) {
		c := killCase{
			part: parts[number%len(parts)], shared: shared, after: time.Duration(random.Int64N(int64(8 * time.Second))), pick: random.Uint64(),
		}
		if c.part == killService {
			c.shared = restarted
		}
		queue <- func() {
			if c.part == killService {
				service.Lock()
				defer service.Unlock()
			}
			t.Run(fmt.Sprintf("%d %s after %s", number, c.part, c.after.Round(time.Millisecond)), func(t *testing.T) { c.run(t, number) })
		}
	}
	close(queue)
	workers.Wait()
}

// envInt returns the integer value of an environment variable.
func envInt(t *testing.T, name string, defaultValue int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return defaultValue
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return number
}

// killCase is a recording with one process that is killed.
type killCase struct {
	visit
	shared *harness
	part   string
	after  time.Duration // since the start of the recording
	pick   uint64        // selects one of several processes

	killedAt time.Time
}

func (c *killCase) run(t *testing.T, number int) {
	capture := "tab"
	if number/5%2 == 1 {
		capture = "streams"
	}
	c.visit = c.shared.visit(t, replica.Settings{AdmitAfter: 300 * time.Millisecond},
		map[string]any{"externalId": fmt.Sprintf("kill-%d", number), "recording": map[string]any{"capture": capture}})
	if c.part == killService {
		defer func() { c.shared.process = c.process }() // it was restarted
	}
	c.awaitJob(c.id, job.RecordingStarted)
	if capture == "streams" {
		c.after += 6 * time.Second // before, the tab is recorded too, and is a file of its own
	}
	<-time.After(c.after) // of recording
	if c.part == killFFmpeg {
		<-time.After(3 * time.Second) // of recording, so that there is media to pack
		c.killFFmpegProcess()
	} else {
		c.kill()
		<-time.After(4 * time.Second) // of recording after the recovery
		c.meeting.End()
	}
	c.awaitJob(c.id, job.Completed)
	c.await("the picture", func() bool {
		return slices.ContainsFunc(c.manifest(c.id).Media, func(m recording.Media) bool { return m.Kind == recording.Video })
	})
	c.check()
}

// kill kills the process and waits until the recording has recovered.
func (c *killCase) kill() {
	c.Helper()
	bot := c.bot(c.id, 0)
	victim := bot
	switch c.part {
	case killService:
		c.stop(syscall.SIGKILL)
		if err := c.start(); err != nil {
			c.Fatal(err)
		}
		return
	case killBrowser:
		victim = c.browserOf(bot)
	case killRenderer:
		renderers := processesOf(bot, func(command string) bool { return strings.Contains(command, "--type=renderer") })
		if len(renderers) == 0 {
			c.Fatal("the bot's browser has no renderer")
		}
		victim = renderers[c.pick%uint64(len(renderers))]
	}
	c.killedAt = time.Now()
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		c.Fatalf("kill the %s: %v", c.part, err)
	}
	// A renderer that was not involved in the recording needs no second recorder.
	c.await("the recording to recover", func() bool {
		var timeline struct{ Entries []struct{ Kind job.Trigger } }
		c.call(http.MethodGet, "/api/v1/jobs/"+c.id+"/timeline", nil, &timeline)
		started := 0
		for _, entry := range timeline.Entries {
			if entry.Kind == job.BotRecordingStarted {
				started++
			}
		}
		return started > 1 || c.part == killRenderer && time.Since(c.killedAt) > 30*time.Second
	})
}

// killFFmpegProcess ends the meeting and kills the first ffmpeg of the bot.
func (c *killCase) killFFmpegProcess() {
	c.Helper()
	bot := c.bot(c.id, 0)
	c.meeting.End()
	for deadline := time.Now().Add(4 * time.Minute); c.killedAt.IsZero(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatal("the bot never started ffmpeg")
		}
		for _, pid := range processesOf(bot, isFFmpeg) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				c.killedAt = time.Now()
			}
		}
	}
}

func isFFmpeg(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return filepath.Base(program) == "ffmpeg"
}

// processesOf returns the processes in a bot's session whose command line matches; all if match is nil.
func processesOf(bot int, match func(command string) bool) (found []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		// After the name in parentheses: state, parent, group, session.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 4 || fields[3] != strconv.Itoa(bot) {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && (match == nil || match(strings.ReplaceAll(string(command), "\x00", " "))) {
			found = append(found, pid)
		}
	}
	return found
}

// successStatuses are the statuses of a successful job but the lobby, in order.
var successStatuses = []job.Status{
	job.Dispatching, job.Joining, job.InMeeting, job.RecordingStarted, job.RecordingStopped,
	job.Finalizing, job.PostProcessing, job.MediaUploading, job.Completed,
}

// check checks the recording, its manifest and the webhooks.
func (c *killCase) check() {
	t := c.T
	statuses := successStatuses
	if c.part == killBot { // a second attempt begins
		statuses = slices.Concat(statuses[:4], statuses)
	}
	c.hooks.checkTransitions(t, c.id, statuses...)
	manifest := c.manifest(c.id)
	manifest.Media = slices.DeleteFunc(manifest.Media, func(m recording.Media) bool { return m.Kind == recording.Audio }) // of streams
	path, report := c.recording(manifest)
	duration := time.Duration(report.DurationMs * float64(time.Millisecond))
	checkPlays(t, path, report)
	harmless := c.part == killService || c.part == killFFmpeg || c.part == killRenderer && len(manifest.Gaps) == 0
	if harmless {
		if manifest.Partial || len(manifest.Gaps) > 0 {
			t.Errorf("partial %v, gaps %+v; want a complete recording", manifest.Partial, manifest.Gaps)
		}
		recorded := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
		if lost := recorded - duration; lost > maxLost {
			t.Errorf("%s of %s are lost", lost, recorded)
		}
		checkSpan(t, report, 0, math.Inf(1))
		return
	}
	if !manifest.Partial || len(manifest.Gaps) != 1 {
		t.Fatalf("partial %v, gaps %+v; want one gap", manifest.Partial, manifest.Gaps)
	}
	for _, file := range manifest.Media {
		t.Logf("%s: %d ms, starting at %d ms", file.Name, file.DurationMs, file.StartOffsetMs)
	}
	gap := manifest.Gaps[0]
	recorded := time.Duration(gap.StartMs) * time.Millisecond
	before := c.killedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
	t.Logf("%s: killed after %s, recorded %s, gap until %s, total %s",
		c.part, before.Round(time.Millisecond), recorded, time.Duration(gap.EndMs)*time.Millisecond, duration.Round(time.Millisecond))
	if lost := before - recorded; lost > maxLost {
		t.Errorf("%s of the %s before the kill are lost", lost, before)
	}
	if want := map[string]string{killBot: recording.GapBotLost}[c.part]; want != "" && gap.Reason != want && recorded > 0 {
		t.Errorf("the gap's reason is %q, want %q", gap.Reason, want)
	}
	whole := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
	want := whole - fileStart(manifest) // with silence in the gap
	if (want - duration).Abs() > time.Second {
		t.Errorf("the recording lasts %s, according to the manifest %s", duration, want)
	}
	checkSpan(t, report, 0, float64(gap.StartMs)-500)
	checkSpan(t, report, float64(gap.EndMs)+1500, math.Inf(1))
	c.checkParticipantFiles(manifest, report)
}

// fileStart returns where in a recording its file begins: after a gap of which nothing was recorded before.
func fileStart(manifest recording.Manifest) time.Duration {
	for _, media := range manifest.Media {
		if media.Name == "recording.mp4" {
			return time.Duration(media.StartOffsetMs) * time.Millisecond
		}
	}
	return 0
}

// maxSoundOffset is the largest median offset between the beeps of a participant
// audio file and those of the recording, in ms, on a busy machine.
const maxSoundOffset = 250

// checkParticipantFiles compares the beeps of participant audio files with those
// of the recording on the meeting's clock.
func (c *killCase) checkParticipantFiles(manifest recording.Manifest, report mediacheck.Report) {
	t, gap, beeps := c.T, manifest.Gaps[0], report.BeepsMs
	if len(beeps) == 0 {
		t.Fatal("the recording has no beeps")
	}
	for _, media := range manifest.Media {
		if media.Kind != recording.ParticipantAudio {
			continue
		}
		own, err := mediacheck.Decode(t.Context(), c.fetch(media))
		if err != nil {
			t.Fatalf("decode %s: %v", media.Name, err)
		}
		var offsets []float64
		for _, beep := range own.BeepsMs {
			at := beep + float64(media.StartOffsetMs)
			if at >= float64(gap.StartMs) && at < float64(gap.EndMs) {
				continue // only the participant's file may have this part
			}
			at -= float64(fileStart(manifest).Milliseconds())
			nearest := slices.MinFunc(beeps, func(a, b float64) int { return cmp.Compare(math.Abs(at-a), math.Abs(at-b)) })
			offsets = append(offsets, at-nearest)
		}
		if slices.Sort(offsets); len(offsets) == 0 {
			continue // a participant who does not beep, or a short file
		}
		t.Logf("%s: offsets from the beeps of the recording: %.0f ms", media.Name, offsets)
		if median := offsets[len(offsets)/2]; math.Abs(median) > maxSoundOffset {
			t.Errorf("%s is offset from the recording by %.0f ms", media.Name, median)
		}
	}
}

// checkSpan checks that a part of a recording has audio and moving video. The
// bounds allow for a busy machine, on which a part of 11 s had one flash, and one of
// 5.5 s two beeps; TestBeat has the exact ones.
func checkSpan(t *testing.T, report mediacheck.Report, from, to float64) {
	t.Helper()
	part := countBeats(report, from, to)
	if least := math.Floor(part.seconds / 3); float64(part.beeps) < least {
		t.Errorf("between %.0f and %.0f ms: %d beeps in %.1f s: %.0f", from, to, part.beeps, part.seconds, report.BeepsMs)
	}
	if least := math.Floor(part.seconds / 6); float64(part.flashes) < least {
		t.Errorf("between %.0f and %.0f ms: %d flashes in %.1f s: %.0f", from, to, part.flashes, part.seconds, report.FlashesMs)
	}
}
