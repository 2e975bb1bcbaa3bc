package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/replica"
)

const (
	// costWarmUp is how long a bot has been in the meeting before it is measured.
	costWarmUp = 8 * time.Second
	// clockTicks is how many of the kernel's ticks make a second of processor
	// time (USER_HZ, the same on all of Linux's usual machines).
	clockTicks = 100
)

// TestCost measures what a bot costs: processor time and proportional set size
// of all its processes, beside a bot that merely sits in the same meeting
// because it may not record. STANDIN_TEST_COST is how many seconds each is
// measured for (make cost).
func TestCost(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_COST") == "" {
		t.Skip("STANDIN_TEST_COST is not set; make cost sets it")
	}
	length := time.Duration(fromEnvironment(t, "STANDIN_TEST_COST", 30)) * time.Second
	t.Log("participants | what | cores | of merely playing | PSS in MiB | processes")
	for _, people := range []int{1, 4} {
		playing := 0.0
		for _, kind := range []struct {
			what        string
			metadata    map[string]any
			environment []string
		}{
			{"merely playing", map[string]any{"recordingPermission": "required"}, nil},
			{"720p, 15 frames/s", map[string]any{"participantAudio": false}, nil},
			{"720p, 15 frames/s, participants' sound", map[string]any{"participantAudio": true}, nil},
			{"720p, 25 frames/s", map[string]any{"participantAudio": false}, []string{"STANDIN_FRAME_RATE=25"}},
			{"sound only", map[string]any{"recordingMode": "audio", "participantAudio": false}, nil},
		} {
			cost := measure(t, people, kind.metadata, kind.environment, length)
			if playing == 0 {
				playing = cost.cores
			}
			t.Logf("%d | %s | %.2f | %.2f | %d | %d", people, kind.what, cost.cores, cost.cores/playing, cost.memory>>20, cost.processes)
		}
	}
}

// sideBySideCores is what a bot is reckoned with where three share two cores,
// whatever it would take alone.
const sideBySideCores = "0.6"

// TestSideBySide records three meetings at once with STANDIN_TEST_COST set:
// none may lose a second. A second is lost when its beep is, or when the picture
// stands still for as long; a flash shorter than two pictures of a busy machine
// may be missed. They come one after the other, each while the others record.
func TestSideBySide(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_COST") == "" {
		t.Skip("STANDIN_TEST_COST is not set; make cost sets it")
	}
	t.Setenv("STANDIN_BOT_CORES", sideBySideCores)
	h := newHarness(t)
	length := time.Duration(fromEnvironment(t, "STANDIN_TEST_COST", 30)) * time.Second
	var bots []*casualty
	for number := range 3 {
		c := attend(t, h, number, 2, map[string]any{"participantAudio": false})
		c.await("recording", func(status job.Status) bool { return status == job.RecordingStarted })
		bots = append(bots, c)
	}
	<-time.After(length) // of recording
	for _, c := range bots {
		c.meeting.End()
	}
	for number, c := range bots {
		c.await("its end", job.Status.Terminal)
		_, report := h.recording(h.manifest(c.id))
		whole := beat(report, 0, report.DurationMs)
		t.Logf("bot %d: %d flashes and %d beeps in %.1f s, %.1f frames/s, the longest %.0f ms at %.0f ms",
			number, whole.flashes, whole.beeps, whole.seconds, float64(report.Frames)/whole.seconds, report.LongestFrameGapMs, report.LongestFrameAtMs)
		if share(report.BeepsMs, report.DurationMs) < 1 {
			t.Errorf("bot %d: %d beeps in %.1f s", number, whole.beeps, whole.seconds)
		}
		if report.LongestFrameGapMs >= 1000 {
			t.Errorf("bot %d: the picture stood still for %.0f ms at %.0f ms", number, report.LongestFrameGapMs, report.LongestFrameAtMs)
		}
	}
}

// attend sends a bot into a meeting of its own with so many participants.
func attend(t *testing.T, h *harness, number, people int, metadata map[string]any) *casualty {
	t.Helper()
	c := &casualty{harness: h}
	participants := []replica.Participant{{Name: "Ada Quill", Beeps: true}}
	for len(participants) < people {
		participants = append(participants, replica.Participant{Name: fmt.Sprintf("Guest %d", len(participants))})
	}
	var err error
	if c.meeting, err = h.stage.Open(replica.Settings{AdmitAfter: 300 * time.Millisecond, Participants: participants}); err != nil {
		t.Fatal(err)
	}
	var created struct{ ID string }
	h.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": fmt.Sprintf("cost-%d", number), "meetingUrl": c.meeting.URL(), "metadata": metadata,
	}, &created)
	c.id = created.ID
	return c
}

// cost is what a bot's processes used.
type cost struct {
	cores     float64
	memory    int64 // bytes, proportional set size
	processes int
}

// measure sends a bot into a meeting and measures it for a while.
func measure(t *testing.T, people int, metadata map[string]any, environment []string, length time.Duration) cost {
	t.Helper()
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		before, was := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil { // the service inherits it
			t.Fatal(err)
		}
		defer func() {
			if !was {
				_ = os.Unsetenv(name)
				return
			}
			_ = os.Setenv(name, before)
		}()
	}
	h := newHarness(t)
	defer h.stopBots()
	defer h.stopService(syscall.SIGKILL)
	c := attend(t, h, people, people, metadata)
	inside := []job.Status{job.InMeeting, job.RecordingStarted, job.PermissionRequested}
	c.await("being inside", func(status job.Status) bool {
		for _, one := range inside {
			if status == one {
				return true
			}
		}
		return false
	})
	<-time.After(costWarmUp)
	bot := h.bot(c.id, 0)
	before, began := processorTime(bot), time.Now()
	<-time.After(length)
	used, lasted := processorTime(bot)-before, time.Since(began)
	all := processesOf(bot, func(string) bool { return true })
	result := cost{cores: used.Seconds() / lasted.Seconds(), processes: len(all)}
	for _, pid := range all {
		result.memory += proportionalSetSize(pid)
	}
	return result
}

// processorTime is what a bot's processes have used so far.
func processorTime(bot int) time.Duration {
	ticks := 0
	for _, pid := range processesOf(bot, func(string) bool { return true }) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, at := range []int{11, 12} { // user and system time
			if at < len(fields) {
				some, _ := strconv.Atoi(fields[at])
				ticks += some
			}
		}
	}
	return time.Duration(ticks) * time.Second / clockTicks
}

// proportionalSetSize is a process's memory in bytes, what it shares divided
// among all that share it.
func proportionalSetSize(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "Pss:"); found {
			kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
