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
	// costWarmUp is the time in the meeting before the measurement starts.
	costWarmUp = 8 * time.Second
	// clockTicks is the kernel's USER_HZ, ticks per second of CPU time.
	clockTicks = 100
)

// TestCost measures the CPU time and the proportional set size of all processes
// of a bot, and compares them with a bot in the same meeting that does not record.
// STANDIN_TEST_COST is the length of each measurement in seconds (make cost).
func TestCost(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_COST") == "" {
		t.Skip("STANDIN_TEST_COST is not set; make cost sets it")
	}
	length := time.Duration(envInt(t, "STANDIN_TEST_COST", 30)) * time.Second
	t.Log("participants | mode | cores | relative to not recording | PSS in MiB | processes")
	for _, people := range []int{1, 4} {
		playing := 0.0
		for _, kind := range []struct {
			mode        string
			metadata    map[string]any
			environment []string
		}{
			{"not recording", map[string]any{"recordingPermission": "required"}, nil},
			{"not recording, headed", map[string]any{"recordingPermission": "required"}, []string{modeVariable + "=headed"}},
			{"720p, 15 frames/s", map[string]any{"participantAudio": false}, nil},
			{"720p, 15 frames/s, headed", map[string]any{"participantAudio": false}, []string{modeVariable + "=headed"}},
			{"720p, 15 frames/s, participant audio", map[string]any{"participantAudio": true}, nil},
			{"720p, 25 frames/s", map[string]any{"participantAudio": false}, []string{"STANDIN_FRAME_RATE=25"}},
			{"audio only", map[string]any{"recordingMode": "audio", "participantAudio": false}, nil},
			{"audio only, headed", map[string]any{"recordingMode": "audio", "participantAudio": false}, []string{modeVariable + "=headed"}},
		} {
			cost := measure(t, people, kind.metadata, kind.environment, length)
			if playing == 0 {
				playing = cost.cores
			}
			t.Logf("%d | %s | %.2f | %.2f | %d | %d", people, kind.mode, cost.cores, cost.cores/playing, cost.memory>>20, cost.processes)
		}
	}
}

// concurrentBots is the number of bots that share the machine's cores, and
// concurrentBotCores the CPU reservation that lets them share two.
const (
	concurrentBots     = 4
	concurrentBotCores = "0.5"
)

// TestConcurrentRecordings records four meetings at once if STANDIN_TEST_COST is
// set. None may lose a second: its beep must be present, and the video must not
// freeze for a second. Flashes are not counted, because a busy machine can miss a
// flash shorter than two frames. Each bot starts while the others record.
func TestConcurrentRecordings(t *testing.T) {
	needTools(t)
	if os.Getenv("STANDIN_TEST_COST") == "" {
		t.Skip("STANDIN_TEST_COST is not set; make cost sets it")
	}
	t.Setenv("STANDIN_BOT_CORES", concurrentBotCores)
	h := newHarnessOf(t, fullPicture)
	length := time.Duration(envInt(t, "STANDIN_TEST_COST", 30)) * time.Second
	var bots []*killCase
	for number := range concurrentBots {
		c := sendInto(t, h, number, 2, map[string]any{"participantAudio": false})
		c.await("recording", func(status job.Status) bool { return status == job.RecordingStarted })
		bots = append(bots, c)
	}
	<-time.After(length) // of recording
	for _, c := range bots {
		c.meeting.End()
	}
	for number, c := range bots {
		c.await("the end of the job", job.Status.Terminal)
		_, report := h.recording(h.manifest(c.id))
		beats := countBeats(report, 0, report.DurationMs)
		t.Logf("bot %d: %d flashes and %d beeps in %.1f s, %.1f frames/s, longest frame %.0f ms at %.0f ms",
			number, beats.flashes, beats.beeps, beats.seconds, float64(report.Frames)/beats.seconds, report.LongestFrameGapMs, report.LongestFrameAtMs)
		if share(report.BeepsMs, report.DurationMs) < 1 {
			t.Errorf("bot %d: %d beeps in %.1f s", number, beats.beeps, beats.seconds)
		}
		if report.LongestFrameGapMs >= 1000 {
			t.Errorf("bot %d: the video froze for %.0f ms at %.0f ms", number, report.LongestFrameGapMs, report.LongestFrameAtMs)
		}
	}
}

// sendInto sends a bot into a new meeting with the given number of participants.
func sendInto(t *testing.T, h *harness, number, people int, metadata map[string]any) *killCase {
	t.Helper()
	c := &killCase{harness: h}
	participants := []replica.Participant{{Name: "Ada Quill", Beeps: true}}
	for len(participants) < people {
		participants = append(participants, replica.Participant{Name: fmt.Sprintf("Guest %d", len(participants))})
	}
	var err error
	if c.meeting, err = h.replica.Open(replica.Settings{AdmitAfter: 300 * time.Millisecond, Participants: participants}); err != nil {
		t.Fatal(err)
	}
	var created struct{ ID string }
	h.call(http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": fmt.Sprintf("cost-%d", number), "meetingUrl": c.meeting.URL(), "metadata": metadata,
	}, &created)
	c.id = created.ID
	return c
}

// cost is the resource usage of a bot's processes.
type cost struct {
	cores     float64
	memory    int64 // bytes, proportional set size
	processes int
}

// measure sends a bot into a meeting and measures it.
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
	h := newHarnessOf(t, fullPicture)
	defer h.stopBots()
	defer h.stopService(syscall.SIGKILL)
	c := sendInto(t, h, people, people, metadata)
	inside := []job.Status{job.InMeeting, job.RecordingStarted, job.PermissionRequested}
	c.await("in_meeting", func(status job.Status) bool {
		for _, one := range inside {
			if status == one {
				return true
			}
		}
		return false
	})
	<-time.After(costWarmUp)
	bot := h.bot(c.id, 0)
	before, start := cpuTime(bot), time.Now()
	<-time.After(length)
	used, elapsed := cpuTime(bot)-before, time.Since(start)
	all := processesOf(bot, func(string) bool { return true })
	result := cost{cores: used.Seconds() / elapsed.Seconds(), processes: len(all)}
	for _, pid := range all {
		result.memory += proportionalSetSize(pid)
	}
	return result
}

// cpuTime returns the CPU time of a bot's running processes.
func cpuTime(bot int) time.Duration {
	ticks := 0
	for _, pid := range processesOf(bot, func(string) bool { return true }) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // the process has exited
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

// proportionalSetSize returns the PSS of a process in bytes.
func proportionalSetSize(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0 // the process has exited
	}
	for row := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(row, "Pss:"); found {
			kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
