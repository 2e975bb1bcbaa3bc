package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

const (
	// costWarmUp is the time in the meeting before the measurement starts.
	costWarmUp = 8 * time.Second
	// clockTicks is the kernel's USER_HZ, ticks per second of CPU time.
	clockTicks = 100
)

// costSizes are the numbers of participants that TestCost measures with.
var costSizes = []int{1, 4, 9}

// costRow is one way to be in a meeting: options of the job, and of the service.
type costRow struct {
	name                string
	metadata, recording map[string]any
	environment         string // a variable
}

// costRows returns the ways that TestCost measures.
func costRows() []costRow {
	off, required := map[string]any{"participantAudio": false}, map[string]any{"recordingPermission": "required"}
	page, audio := map[string]any{"layout": "page"}, map[string]any{"mode": "audio"}
	headed := modeVariable + "=headed"
	return []costRow{
		{"in the meeting, not recording", required, nil, ""},
		{"the same, headed", required, nil, headed},
		{"in the meeting, not recording, layout page", required, page, ""},
		{"720p, 15 frames per second", off, nil, ""},
		{"the same, headed", off, nil, headed},
		{"the same, layout page", off, page, ""},
		{"720p, 15 frames per second, with participant audio", map[string]any{"participantAudio": true}, nil, ""},
		{"720p, 25 frames per second", off, nil, "STANDIN_FRAME_RATE=25"},
		{"1080p, 15 frames per second", off, map[string]any{"resolution": "1080p"}, ""},
		{"streams", off, map[string]any{"capture": "streams"}, ""},
		{"audio only", off, audio, ""},
		{"audio only, headed", off, audio, headed},
	}
}

// TestCost measures the CPU time and the proportional set size of all processes
// of a bot, and of one in the same meeting that does not record. It logs a table for bench/README.md.
// STANDIN_TEST_COST is the length of each measurement in seconds (make cost). -run
// selects rows and numbers of participants.
func TestCost(t *testing.T) {
	needTools(t)
	length := costLength(t)
	rows := costRows()
	results := make([]map[int]cost, len(rows))
	for i := range rows {
		results[i] = make(map[int]cost)
	}
	for _, people := range costSizes { // each number within a short time, for the machine's sake
		for i, row := range rows {
			t.Run(fmt.Sprintf("%d/%s", people, row.name), func(t *testing.T) {
				got := row.measure(t, people, length)
				results[i][people] = got
				t.Logf("%.2f cores, %d MiB, %d processes", got.cores, got.memory>>20, got.processes)
			})
		}
	}
	t.Log("\n" + costTable(rows, results))
}

// costLength returns the length of a measurement, and skips the test if there is none.
func costLength(t *testing.T) time.Duration {
	t.Helper()
	if os.Getenv("STANDIN_TEST_COST") == "" {
		t.Skip("STANDIN_TEST_COST is not set; make cost sets it")
	}
	return time.Duration(envInt(t, "STANDIN_TEST_COST", 30)) * time.Second
}

// costTable returns the results as a table in Markdown.
func costTable(rows []costRow, results []map[int]cost) string {
	var table strings.Builder
	table.WriteString("| |")
	for _, unit := range []string{"cores", "MiB"} {
		for i, people := range costSizes {
			heading := fmt.Sprintf(" %d |", people)
			if i == 0 {
				heading = fmt.Sprintf(" %s, %d participant |", unit, people)
			}
			table.WriteString(heading)
		}
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", 2*len(costSizes)) + "\n")
	for i, row := range rows {
		if len(results[i]) == 0 {
			continue // -run did not select it
		}
		cores, memory := "", ""
		for _, people := range costSizes {
			got, measured := results[i][people]
			if !measured {
				cores, memory = cores+" – |", memory+" – |"
				continue
			}
			cores += fmt.Sprintf(" %.2f |", got.cores)
			memory += fmt.Sprintf(" %d |", got.memory>>20)
		}
		fmt.Fprintf(&table, "| %s |%s%s\n", row.name, cores, memory)
	}
	return table.String()
}

// TestCodecCost measures bots in meetings on an SFU, whose people send a codec in layers, if STANDIN_TEST_COST is set: beside one that
// plays and does not record, recording by the tab, by streams, and of a virtual display by ffmpeg. It logs a table for each codec.
func TestCodecCost(t *testing.T) {
	needTools(t)
	length := costLength(t)
	headless, sfu := startSFU(t)
	t.Setenv(modeVariable, "headed")
	headed := openHarness(t, fullPicture, strings.TrimPrefix(sfu.Signal, "ws://"))
	required := map[string]any{"recordingPermission": "required"}
	rows := []costRow{
		{"in the meeting, not recording", required, nil, ""},
		{"720p, 15 frames per second", nil, nil, ""},
		{"streams", nil, map[string]any{"capture": "streams"}, ""},
		{"headed, not recording, and ffmpeg grabs its display (x264, 15 frames per second)", required, nil, "headed"},
	}
	for _, codec := range []string{"VP8", "VP9", "AV1"} {
		results := make([]map[int]cost, len(rows))
		for i := range rows {
			results[i] = make(map[int]cost)
		}
		for _, people := range costSizes {
			services := map[string]*harness{
				"": headless.openSFU(t, sfu, codec, people, 0), "headed": headed.openSFU(t, sfu, codec, people, 0),
			}
			for i, row := range rows {
				h := services[row.environment]
				t.Run(fmt.Sprintf("%s/%d/%s", codec, people, row.name), func(t *testing.T) {
					request := map[string]any{
						"externalId": t.Name(), "metadata": map[string]any{"participantAudio": false}, "recording": map[string]any{},
					}
					maps.Copy(request["metadata"].(map[string]any), row.metadata)
					maps.Copy(request["recording"].(map[string]any), row.recording)
					v := visit{h, h.create(request)}
					v.awaitJob(v.id, job.InMeeting, job.RecordingStarted, job.PermissionRequested)
					bot := v.bot(v.id, 0)
					var grabs []int
					if row.environment != "" {
						grabs = append(grabs, grabDisplay(t, bot))
					}
					got := measureSession(length, bot, grabs...)
					results[i][people] = got
					h.call(http.MethodPost, "/api/v1/jobs/"+v.id+"/leave-call", map[string]any{}, nil)
					t.Logf("%.2f cores, %d MiB", got.cores, got.memory>>20)
					if v.awaitJob(v.id, job.Completed, job.Failed); row.metadata != nil {
						return // nothing was recorded
					}
					size, manifest := int64(0), v.manifest(v.id)
					for _, file := range manifest.Media {
						size += file.Bytes
					}
					seconds := manifest.Timeline.LeftAt.Sub(manifest.Timeline.Origin()).Seconds()
					t.Logf("%.0f kB of files per second", float64(size)/1000/seconds)
				})
			}
		}
		t.Logf("%s\n%s", codec, costTable(rows, results))
	}
}

// grabDisplay starts ffmpeg, which encodes the display of a bot. It returns its process.
func grabDisplay(t *testing.T, bot int) int {
	t.Helper()
	for _, pid := range processesOf(bot, nil) {
		environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		variables := strings.Split(string(environment), "\x00")
		display := slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, "DISPLAY=") })
		if display < 0 {
			continue
		}
		grab := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-f", "x11grab", "-framerate", "15",
			"-i", strings.TrimPrefix(variables[display], "DISPLAY="),
			"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-f", "matroska", os.DevNull)
		grab.Env = variables
		if err := grab.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := grab.Process.Kill(); err != nil {
				t.Errorf("ffmpeg ended: %v", err)
			}
			_ = grab.Wait()
		})
		return grab.Process.Pid
	}
	t.Fatal("the bot has no display")
	return 0
}

// concurrentBots is the number of bots that share the machine's cores, and
// concurrentBotCores the CPU reservation that lets them share two.
const (
	concurrentBots     = 4
	concurrentBotCores = "0.5"
)

// TestConcurrentRecordings records four meetings at once, then the audio of six, and then the streams of six of four people, if
// STANDIN_TEST_COST is set. None may lose a second: its beep must be present, and the
// video must not freeze for a second. Flashes are not counted, because a busy machine
// can miss a flash shorter than two frames. Each bot starts while the others record.
func TestConcurrentRecordings(t *testing.T) {
	needTools(t)
	length := costLength(t)
	for _, row := range []struct {
		name   string
		bots   int
		cores  string // reserved for each
		people int
		mode   map[string]any
	}{
		{"video", concurrentBots, concurrentBotCores, 2, map[string]any{}},
		{"audio", 6, "0.3", 2, map[string]any{"mode": "audio"}},
		{"streams", 6, "0.3", 4, map[string]any{"capture": "streams"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("STANDIN_BOT_CORES", row.cores)
			h := newHarness(t, fullPicture)
			var bots []visit
			for number := range row.bots {
				v := h.visit(t, busyMeeting(row.people), map[string]any{
					"externalId": fmt.Sprint(number), "metadata": map[string]any{"participantAudio": false}, "recording": row.mode,
				})
				v.awaitJob(v.id, job.RecordingStarted)
				bots = append(bots, v)
			}
			<-time.After(length) // of recording
			ended := time.Now()
			for _, v := range bots {
				v.meeting.End()
			}
			for number, v := range bots {
				v.awaitJob(v.id, job.Completed)
				if row.name == "streams" {
					if people := v.manifest(v.id).Participants; len(people) != row.people {
						t.Errorf("bot %d: the roster has %d people", number, len(people))
					}
					v.checkBeeps(t)
					v.checkVideos(t, nil, ended, row.people)
					continue
				}
				report, err := mediacheck.Decode(t.Context(), v.fetch(recordingFile(t, v.manifest(v.id))))
				if err != nil {
					t.Fatal(err)
				}
				beats := countBeats(report, 0, report.DurationMs)
				t.Logf("bot %d: %d flashes and %d beeps in %.1f s, %.1f frames/s, longest frame %.0f ms at %.0f ms",
					number, beats.flashes, beats.beeps, beats.seconds, float64(report.Frames)/beats.seconds, report.LongestFrameGapMs,
					report.LongestFrameAtMs)
				// A busy bot notices the end of the meeting a second after its last beep, or later.
				const notices = 4000 // milliseconds
				if lost := unfollowed(slices.Concat([]float64{0}, report.BeepsMs, []float64{report.DurationMs - notices})); len(lost) > 0 {
					t.Errorf("bot %d: %d beeps in %.1f s, gaps after %.0f ms", number, beats.beeps, beats.seconds, lost)
				}
				if report.LongestFrameGapMs >= 1000 {
					t.Errorf("bot %d: the video froze for %.0f ms at %.0f ms", number, report.LongestFrameGapMs, report.LongestFrameAtMs)
				}
			}
		})
	}
}

// TestVisitTimes measures, if STANDIN_TEST_COST is set, the time from a job's creation until
// its recording starts, and from the end of a meeting until its manifest, on each
// platform's replica without a lobby. STANDIN_TEST_SECONDS is the length of the recordings
// (default 5 seconds), and STANDIN_TEST_VISITS their number (default 10).
func TestVisitTimes(t *testing.T) {
	needTools(t)
	costLength(t)
	recorded := time.Duration(envInt(t, "STANDIN_TEST_SECONDS", 5)) * time.Second
	h := newHarness(t, fullPicture)
	var starts, ends []time.Duration
	for number := range int(envInt(t, "STANDIN_TEST_VISITS", 10)) {
		settings := replica.Settings{
			Platform: []replica.Platform{replica.Meet, replica.Teams, replica.Zoom}[number%3], NoLobby: true, Participants: crowd(2),
		}
		created := time.Now()
		v := h.visit(t, settings, map[string]any{
			"externalId": fmt.Sprint(number), "platform": []job.Platform{job.Meet, job.Teams, job.ZoomWeb}[number%3],
		})
		v.awaitJob(v.id, job.RecordingStarted)
		<-time.After(recorded)
		ended := time.Now()
		v.meeting.End()
		v.awaitJob(v.id, job.Completed)
		starts, ends = append(starts, v.manifest(v.id).Timeline.RecordingStartedAt.Sub(created)), append(ends, time.Since(ended))
		t.Logf("%s: recording after %s, manifest after %s", v.meeting.URL(), starts[number], ends[number])
	}
	for what, times := range map[string][]time.Duration{"creation to recording": starts, "end of the meeting to manifest": ends} {
		slices.Sort(times)
		t.Logf("%s: median %s, p95 %s", what, times[len(times)/2], times[(len(times)*95+99)/100-1])
	}
}

// busyMeeting returns a meeting with the given number of participants.
func busyMeeting(people int) replica.Settings {
	return replica.Settings{AdmitAfter: 300 * time.Millisecond, Participants: crowd(people)}
}

// crowd returns participants, the first of whom beeps.
func crowd(people int) []replica.Participant {
	participants := []replica.Participant{{Name: "Ada Quill", Beeps: true}}
	for len(participants) < people {
		participants = append(participants, replica.Participant{Name: fmt.Sprintf("Guest %d", len(participants))})
	}
	return participants
}

// cost is the resource usage of a bot's processes.
type cost struct {
	cores     float64
	memory    int64 // bytes, proportional set size
	processes int
}

// measure sends a bot into a meeting and measures it.
func (r costRow) measure(t *testing.T, people int, length time.Duration) cost {
	t.Helper()
	if name, value, found := strings.Cut(r.environment, "="); found { // the service inherits it
		t.Setenv(name, value)
	}
	request := map[string]any{"metadata": r.metadata, "recording": map[string]any{}}
	if r.recording != nil {
		request["recording"] = r.recording
	}
	v := newHarness(t, fullPicture).visit(t, busyMeeting(people), request)
	v.awaitJob(v.id, job.InMeeting, job.RecordingStarted, job.PermissionRequested)
	return measureSession(length, v.bot(v.id, 0))
}

// measureSession measures all processes of a session (setsid), which has just started, and others.
func measureSession(length time.Duration, leader int, others ...int) (result cost) {
	<-time.After(costWarmUp)
	before, start := cpuTime(leader, others...), time.Now()
	<-time.After(length)
	result.cores = (cpuTime(leader, others...) - before).Seconds() / time.Since(start).Seconds()
	for _, pid := range append(processesOf(leader, nil), others...) {
		result.memory += proportionalSetSize(pid)
		result.processes++
	}
	return result
}

// cpuTime returns the CPU time of the running processes of a session, such as a bot's, and of others.
func cpuTime(bot int, others ...int) time.Duration {
	ticks := 0
	for _, pid := range append(processesOf(bot, nil), others...) {
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
