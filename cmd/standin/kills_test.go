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
	// mostLost is what a kill may cost of what was recorded before it.
	mostLost = 3 * time.Second
	// killsAtOnce is how many bots record side by side.
	killsAtOnce = 2
	// killPatience is how long a part of a case may take.
	killPatience = 3 * time.Minute
)

// TestKills kills each part of a recording at random moments
// (STANDIN_TEST_KILLS in all, 50 with make kills; STANDIN_TEST_SEED repeats
// them). Every time there is a playable recording, at most three seconds of it
// are lost, partial and gaps are right, and the job comes to its end.
func TestKills(t *testing.T) {
	t.Parallel()
	needTools(t)
	total, seed := fromEnvironment(t, "STANDIN_TEST_KILLS", 2), fromEnvironment(t, "STANDIN_TEST_SEED", time.Now().Unix())
	t.Logf("STANDIN_TEST_KILLS=%d STANDIN_TEST_SEED=%d", total, seed)
	chance := rand.New(rand.NewPCG(uint64(seed), 0))
	parts := []string{killRenderer, killFFmpeg, killBrowser, killBot, killService} // the last three have tests of their own too
	shared, alone := newHarness(t), newHarness(t)
	queue := make(chan func())
	var lanes sync.WaitGroup
	for range killsAtOnce {
		lanes.Go(func() {
			for next := range queue {
				next()
			}
		})
	}
	var service sync.Mutex // one kill of it at a time
	for number := range int(total) {
		c := casualty{part: parts[number%len(parts)], harness: shared, after: time.Duration(chance.Int64N(int64(8 * time.Second))), pick: chance.Uint64()}
		if c.part == killService {
			c.harness = alone
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
	lanes.Wait()
}

// fromEnvironment reads a number, or takes the usual one.
func fromEnvironment(t *testing.T, name string, usual int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return number
}

// casualty is a recording of which one part is killed.
type casualty struct {
	part    string
	after   time.Duration // since the recording began
	pick    uint64        // which of several processes
	harness *harness

	id       string
	meeting  *replica.Meeting
	killedAt time.Time
}

func (c *casualty) run(t *testing.T, number int) {
	if c.part == killService { // it is started again: one at a time
		defer func(before *testing.T) { c.harness.T = before }(c.harness.T)
		c.harness.T = t
	} else {
		h := *c.harness
		h.T = t
		c.harness = &h
	}
	var err error
	if c.meeting, err = c.harness.stage.Open(replica.Settings{AdmitAfter: 300 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.tell()
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
		<-time.After(3 * time.Second) // of recording, to have something to put together
		c.killTheFFmpeg()
	default:
		c.kill()
		<-time.After(4 * time.Second) // of recording by whatever took its place
		c.meeting.End()
	}
	c.await("its end", job.Status.Terminal)
	c.check()
}

// kill kills the part and waits until another has taken its place.
func (c *casualty) kill() {
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

// awaitRecorder waits until another recorder runs. A renderer may have been of
// no consequence: then there is none.
func (c *casualty) awaitRecorder() {
	c.harness.Helper()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(killPatience)
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
		case <-again.C:
		case <-deadline:
			if c.part != killRenderer {
				c.harness.Fatal("nothing took its place")
			}
			return
		}
	}
}

// killTheFFmpeg ends the meeting and kills the first ffmpeg that the bot starts.
func (c *casualty) killTheFFmpeg() {
	c.harness.Helper()
	bot := c.harness.bot(c.id, 0)
	c.meeting.End()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(killPatience)
	for {
		for _, pid := range processesOf(bot, isFFmpeg) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				c.killedAt = time.Now()
				return
			}
		}
		select {
		case <-again.C:
		case <-deadline:
			c.harness.Fatal("the bot never started ffmpeg")
		}
	}
}

func isFFmpeg(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return filepath.Base(program) == "ffmpeg"
}

// processesOf lists the processes of a bot's session that match, by their
// command line.
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

// await polls the job until its status is as wanted.
func (c *casualty) await(what string, wanted func(job.Status) bool) {
	c.harness.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(killPatience)
	for {
		status := c.status()
		if wanted(status) {
			return
		}
		if status.Terminal() {
			c.harness.Fatalf("the job is %s before %s", status, what)
		}
		select {
		case <-again.C:
		case <-deadline:
			c.harness.Fatalf("the job is stuck in %s before %s", status, what)
		}
	}
}

func (c *casualty) status() job.Status {
	c.harness.Helper()
	var got struct{ Status job.Status }
	c.harness.call(http.MethodGet, "/api/v1/jobs/"+c.id, nil, &got)
	return got.Status
}

// check holds the recording and its manifest against what was killed.
func (c *casualty) check() {
	t := c.harness.T
	if status := c.status(); status != job.Completed {
		t.Fatalf("the job is %s", status)
	}
	manifest := c.harness.manifest(c.id)
	path, report := c.harness.recording(manifest)
	lasts := time.Duration(report.DurationMs * float64(time.Millisecond))
	checkPlays(t, path, report.DurationMs)
	harmless := c.part == killService || c.part == killFFmpeg || c.part == killRenderer && len(manifest.Gaps) == 0
	if harmless {
		if manifest.Partial || len(manifest.Gaps) > 0 {
			t.Errorf("partial %v, gaps %+v; want a whole recording", manifest.Partial, manifest.Gaps)
		}
		told := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
		if lost := told - lasts; lost > mostLost {
			t.Errorf("%s of %s are lost", lost, told)
		}
		checkThere(t, report, 0, math.Inf(1))
		return
	}
	if !manifest.Partial || len(manifest.Gaps) != 1 {
		t.Fatalf("partial %v, gaps %+v; want one gap", manifest.Partial, manifest.Gaps)
	}
	for _, file := range manifest.Media {
		t.Logf("%s: %d ms from %d ms on", file.Name, file.DurationMs, file.StartOffsetMs)
	}
	gap := manifest.Gaps[0]
	kept := time.Duration(gap.StartMs) * time.Millisecond
	before := c.killedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
	t.Logf("%s: recorded for %s, kept %s of it, gap until %s, %s in all",
		c.part, before.Round(time.Millisecond), kept, time.Duration(gap.EndMs)*time.Millisecond, lasts.Round(time.Millisecond))
	if lost := before - kept; lost > mostLost {
		t.Errorf("%s of the %s before the kill are lost", lost, before)
	}
	if want := map[string]string{killBot: recording.GapBotLost}[c.part]; want != "" && gap.Reason != want && kept > 0 {
		t.Errorf("the gap's reason is %q, want %q", gap.Reason, want)
	}
	told := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time) - time.Duration(gap.EndMs-gap.StartMs)*time.Millisecond
	if off := told - lasts; off.Abs() > time.Second {
		t.Errorf("by the manifest %s were kept, and the recording lasts %s", told, lasts)
	}
	checkThere(t, report, 0, float64(gap.StartMs)-500)
	checkThere(t, report, float64(gap.StartMs)+1500, math.Inf(1))
	c.checkOwnSound(manifest, report)
}

// mostOff is how far the median beep of a participant's own file may be from the
// recording's, on a machine that starts a browser meanwhile.
const mostOff = 250 // milliseconds

// checkOwnSound holds the beeps of the participant's own files against those of
// the recording, on the meeting's clock: the recording leaves its gap out.
func (c *casualty) checkOwnSound(manifest recording.Manifest, report mediacheck.Report) {
	t, gap := c.harness.T, manifest.Gaps[0]
	var sounded []float64
	for _, at := range report.BeepsMs {
		if at >= float64(gap.StartMs) {
			at += float64(gap.EndMs - gap.StartMs)
		}
		sounded = append(sounded, at)
	}
	if len(sounded) == 0 {
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
		var off []float64
		for _, beep := range own.BeepsMs {
			at := beep + float64(media.StartOffsetMs)
			if at >= float64(gap.StartMs) && at < float64(gap.EndMs) {
				continue // what the recording lost, the participant's own file may have
			}
			nearest := slices.MinFunc(sounded, func(a, b float64) int { return cmp.Compare(math.Abs(at-a), math.Abs(at-b)) })
			off = append(off, at-nearest)
		}
		if slices.Sort(off); len(off) == 0 {
			continue // he does not beep, or it is too short
		}
		t.Logf("%s is from the recording's beeps: %.0f ms", media.Name, off)
		if median := off[len(off)/2]; math.Abs(median) > mostOff {
			t.Errorf("%s is %.0f ms from the recording", media.Name, median)
		}
	}
}

// checkThere holds that a part of a recording has its sound, and a picture that
// moves. How many seconds a busy machine shows is for TestBeat to judge.
func checkThere(t *testing.T, report mediacheck.Report, from, to float64) {
	t.Helper()
	part := beat(report, from, to)
	if least := math.Floor(part.seconds*3/4) - 1; float64(part.beeps) < least {
		t.Errorf("between %.0f and %.0f ms: %d beeps in %.1f s: %.0f", from, to, part.beeps, part.seconds, report.BeepsMs)
	}
	if least := math.Floor(part.seconds/2) - 2; float64(part.flashes) < least {
		t.Errorf("between %.0f and %.0f ms: %d flashes in %.1f s: %.0f", from, to, part.flashes, part.seconds, report.FlashesMs)
	}
}

// tell shows the bots' logs of a case that failed.
func (c *casualty) tell() {
	for attempt := range 3 {
		text, err := os.ReadFile(filepath.Join(c.harness.dir, "bots", c.id+"-"+strconv.Itoa(attempt), "bot.log"))
		if !errors.Is(err, fs.ErrNotExist) {
			c.harness.Logf("attempt %d, %v:\n%s", attempt, err, text[max(0, len(text)-3000):])
		}
	}
}
