package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
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

	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mediacheck"
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
	// killTimeout bounds each step of a case.
	killTimeout = 3 * time.Minute
)

// TestKills kills the processes of a recording at random times: STANDIN_TEST_KILLS
// in total, 50 with make kills; STANDIN_TEST_SEED repeats a run. Each time the job
// must end with a playable recording that lost at most three seconds, and with the
// right values of partial and gaps.
func TestKills(t *testing.T) {
	t.Parallel()
	needTools(t)
	if os.Getenv("STANDIN_TEST_KILLS") == "" {
		t.Skip("STANDIN_TEST_KILLS is not set; make kills sets it")
	}
	total, seed := envInt(t, "STANDIN_TEST_KILLS", 50), envInt(t, "STANDIN_TEST_SEED", time.Now().Unix())
	t.Logf("STANDIN_TEST_KILLS=%d STANDIN_TEST_SEED=%d", total, seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	parts := []string{killRenderer, killFFmpeg, killBrowser, killBot, killService}
	shared, restarted := newHarnessOf(t, fullPicture), newHarnessOf(t, fullPicture)
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
		c := killCase{part: parts[number%len(parts)], harness: shared, after: time.Duration(random.Int64N(int64(8 * time.Second))), pick: random.Uint64()}
		if c.part == killService {
			c.harness = restarted
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
	part    string
	after   time.Duration // since the start of the recording
	pick    uint64        // selects one of several processes
	harness *harness

	id       string
	meeting  *replica.Meeting
	killedAt time.Time
}

func (c *killCase) run(t *testing.T, number int) {
	if c.part == killService { // the restart changes the shared harness
		defer func(before *testing.T) { c.harness.T = before }(c.harness.T)
		c.harness.T = t
	} else {
		h := *c.harness
		h.T = t
		c.harness = &h
	}
	var err error
	if c.meeting, err = c.harness.replica.Open(replica.Settings{AdmitAfter: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.logBots()
		}
	})
	var created struct{ ID string }
	c.harness.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": fmt.Sprintf("kill-%d", number), "meetingUrl": c.meeting.URL(),
	}, &created)
	c.id = created.ID
	c.await("recording", func(status job.Status) bool { return status == job.RecordingStarted })
	<-time.After(c.after) // of recording
	switch c.part {
	case killFFmpeg:
		<-time.After(3 * time.Second) // of recording, so that there is media to pack
		c.killFFmpegProcess()
	default:
		c.kill()
		<-time.After(4 * time.Second) // of recording after the recovery
		c.meeting.End()
	}
	c.await("the end of the job", job.Status.Terminal)
	c.check()
}

// kill kills the process and waits until the recording has recovered.
func (c *killCase) kill() {
	c.harness.Helper()
	bot := c.harness.bot(c.id, 0)
	victim := bot
	switch c.part {
	case killService:
		c.harness.stopService(syscall.SIGKILL)
		c.harness.startService(strings.TrimPrefix(c.harness.base, "http://"))
		return
	case killBrowser:
		victim = c.harness.browserOf(bot)
	case killRenderer:
		renderers := processesOf(bot, func(command string) bool { return strings.Contains(command, "--type=renderer") })
		if len(renderers) == 0 {
			c.harness.Fatal("the bot's browser has no renderer")
		}
		victim = renderers[c.pick%uint64(len(renderers))]
	}
	c.killedAt = time.Now()
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		c.harness.Fatalf("kill the %s: %v", c.part, err)
	}
	c.awaitRecorder()
}

// awaitRecorder waits until a second recorder runs. The killed renderer may not
// have been involved in the recording; then there is no second recorder.
func (c *killCase) awaitRecorder() {
	c.harness.Helper()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(killTimeout)
	if c.part == killRenderer {
		deadline = time.After(30 * time.Second)
	}
	for {
		var timeline struct{ Entries []struct{ Kind job.Trigger } }
		c.harness.call(http.MethodGet, "/api/v1/jobs/"+c.id+"/timeline", nil, &timeline)
		started := 0
		for _, entry := range timeline.Entries {
			if entry.Kind == job.BotRecordingStarted {
				started++
			}
		}
		if started > 1 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			if c.part != killRenderer {
				c.harness.Fatal("the recording did not recover")
			}
			return
		}
	}
}

// killFFmpegProcess ends the meeting and kills the first ffmpeg of the bot.
func (c *killCase) killFFmpegProcess() {
	c.harness.Helper()
	bot := c.harness.bot(c.id, 0)
	c.meeting.End()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(killTimeout)
	for {
		for _, pid := range processesOf(bot, isFFmpeg) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				c.killedAt = time.Now()
				return
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			c.harness.Fatal("the bot never started ffmpeg")
		}
	}
}

func isFFmpeg(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return filepath.Base(program) == "ffmpeg"
}

// processesOf returns the processes in a bot's session whose command line matches.
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
		if err == nil && match(strings.ReplaceAll(string(command), "\x00", " ")) {
			found = append(found, pid)
		}
	}
	return found
}

// await polls the job until its status is wanted.
func (c *killCase) await(what string, wanted func(job.Status) bool) {
	c.harness.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(killTimeout)
	for {
		status := c.status()
		if wanted(status) {
			return
		}
		if status.Terminal() {
			c.harness.Fatalf("the job is %s before %s", status, what)
		}
		select {
		case <-ticker.C:
		case <-deadline:
			c.harness.Fatalf("the job is stuck in %s before %s", status, what)
		}
	}
}

func (c *killCase) status() job.Status {
	c.harness.Helper()
	var got struct{ Status job.Status }
	c.harness.call(http.MethodGet, "/api/v1/jobs/"+c.id, nil, &got)
	return got.Status
}

// check checks the recording and its manifest.
func (c *killCase) check() {
	t := c.harness.T
	if status := c.status(); status != job.Completed {
		t.Fatalf("the job is %s", status)
	}
	manifest := c.harness.manifest(c.id)
	path, report := c.harness.recording(manifest)
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
	want := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time) - time.Duration(gap.EndMs-gap.StartMs)*time.Millisecond
	if (want - duration).Abs() > time.Second {
		t.Errorf("the recording lasts %s, according to the manifest %s", duration, want)
	}
	checkSpan(t, report, 0, float64(gap.StartMs)-500)
	checkSpan(t, report, float64(gap.StartMs)+1500, math.Inf(1))
	c.checkParticipantFiles(manifest, report)
}

// maxSoundOffset is the largest median offset between the beeps of a participant
// audio file and those of the recording, in ms, on a busy machine.
const maxSoundOffset = 250

// checkParticipantFiles compares the beeps of participant audio files with those
// of the recording on the meeting's clock. The recording does not include its gap.
func (c *killCase) checkParticipantFiles(manifest recording.Manifest, report mediacheck.Report) {
	t, gap := c.harness.T, manifest.Gaps[0]
	var beeps []float64
	for _, at := range report.BeepsMs {
		if at >= float64(gap.StartMs) {
			at += float64(gap.EndMs - gap.StartMs)
		}
		beeps = append(beeps, at)
	}
	if len(beeps) == 0 {
		t.Fatal("the recording has no beeps")
	}
	for _, media := range manifest.Media {
		if media.Kind != recording.ParticipantAudio {
			continue
		}
		own, err := mediacheck.Decode(t.Context(), c.harness.fetch(media))
		if err != nil {
			t.Fatalf("decode %s: %v", media.Name, err)
		}
		var offsets []float64
		for _, beep := range own.BeepsMs {
			at := beep + float64(media.StartOffsetMs)
			if at >= float64(gap.StartMs) && at < float64(gap.EndMs) {
				continue // only the participant's file may have this part
			}
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

// logBots logs the bots' logs of a failed case.
func (c *killCase) logBots() {
	for attempt := range 3 {
		text, err := os.ReadFile(filepath.Join(c.harness.dir, "bots", c.id+"-"+strconv.Itoa(attempt), "bot.log"))
		if !errors.Is(err, fs.ErrNotExist) {
			c.harness.Logf("attempt %d, %v:\n%s", attempt, err, logtail.Last(string(text)))
		}
	}
}
