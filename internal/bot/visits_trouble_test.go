package bot

import (
	"encoding/json"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
)

// troubles are visits in which something breaks.
func troubles() []row {
	hasty := func(s *Settings) { s.Timeouts.Connection = time.Second }
	return []row{
		{
			name: "connection lost and regained", reason: reasonHostEnded, check: stretches(1),
			bot: func(s *Settings) { s.Timeouts.Connection = 20 * time.Second },
			act: func(o *outing) {
				o.letIn(1)
				o.meeting.Disconnect()
				o.await("a look at the lost connection", func() bool { return o.log.holds("screen=reconnecting") })
				o.meeting.Reconnect()
				o.await("a look at the regained connection", func() bool { return o.log.count("screen=inMeeting") == 2 })
				o.meeting.End()
			},
		},
		{
			name: "connection lost and found by coming back", reason: reasonHostEnded, bot: hasty, check: stretches(2),
			act: func(o *outing) { o.letIn(1); o.meeting.Disconnect(); o.letIn(2); o.meeting.End() },
		},
		{
			name: "connection lost for good", reason: reasonConnection, detail: "no connection", check: stretches(1),
			bot: func(s *Settings) { s.Timeouts.Connection, s.Timeouts.MaxRejoins = time.Second, -1 },
			act: func(o *outing) { o.letIn(1); o.meeting.Disconnect() },
		},
		{
			name: "connection lost before anything was recorded", only: onMeet(), code: job.NetworkLoss, detail: "no connection",
			bot: func(s *Settings) {
				s.Timeouts.Connection, s.Timeouts.MaxRejoins, s.RequirePermission = time.Second, -1, true
			},
			act: func(o *outing) { o.admit(1); o.meeting.Disconnect() },
		},
		{
			name: "the page loads itself again", reason: reasonHostEnded, check: stretches(2),
			act: func(o *outing) { o.letIn(1); o.meeting.Reload(); o.letIn(2); o.meeting.End() },
		},
		{
			name: "the page goes elsewhere", only: onMeet(), reason: reasonHostEnded, check: stretches(2),
			bot: func(s *Settings) { s.Timeouts.Connection, s.Timeouts.Unknown = time.Second, time.Second },
			act: func(o *outing) {
				o.letIn(1)
				if _, err := o.meeting.NavigateAway(o.stage.URL() + "/"); err != nil {
					o.Fatal(err)
				}
				o.letIn(2)
				o.meeting.End()
			},
		},
		{
			name: "the page hangs", only: onMeet(), reason: reasonHostEnded, check: stretches(2),
			bot: func(s *Settings) { s.Timeouts.Unresponsive = 4 * time.Second },
			act: func(o *outing) { o.letIn(1); o.meeting.Freeze("g1"); o.letIn(2); o.meeting.End() },
		},
		{
			name: "the page hangs in the lobby", reason: reasonHostEnded, only: onMeet(),
			bot: func(s *Settings) { s.Timeouts.Unresponsive = 4 * time.Second },
			act: func(o *outing) {
				o.waits(1)
				o.meeting.Freeze("g1")
				o.happens(2, replica.EventKind(replica.StateLobby))
				o.meeting.Admit("g2")
				o.told(job.BotRecordingStarted)
				o.meeting.End()
			},
		},
		{
			name: "a slow page", only: onMeet(), meeting: replica.Settings{PageDelay: 3 * time.Second}, reason: reasonHostEnded,
			act: func(o *outing) { o.letIn(1); o.meeting.End() }, check: stretches(1),
		},
		{
			name: "the browser is killed", reason: reasonHostEnded, only: onMeet(), check: stretches(2),
			act: func(o *outing) { o.letIn(1); o.recorded(); o.kill(""); o.letIn(2); o.meeting.End() },
		},
		{
			name: "the page's process is killed", reason: reasonHostEnded, only: onMeet(), check: stretches(2),
			act: func(o *outing) { o.letIn(1); o.recorded(); o.kill("renderer"); o.letIn(2); o.meeting.End() },
		},
		{
			// Nobody takes the segments away: the recording stops, the bot does
			// not, and it goes on once there is room.
			name: "no room for more", reason: reasonHostEnded, only: onMeet(), byService: true,
			bot: func(s *Settings) { s.SpoolLimit, s.Recorder.ChunkTimeout = 150_000, 6*time.Second },
			act: func(o *outing) {
				o.refuseSegments(true)
				o.letIn(1)
				o.await("the end of all room", func() bool { return o.log.holds("nothing more can be kept") })
				o.refuseSegments(false)
				o.toldTimes(job.BotRecordingStarted, 2)
				o.await("a segment of the second stretch", func() bool { return o.service.Media[ingest.SegmentName(1, 1)] != "" })
				o.meeting.End()
			},
			check: func(o *outing) {
				stretches(2)(o)
				gaps := o.report.Gaps
				if len(gaps) != 1 || gaps[0].Reason != recording.GapDiskFull || gaps[0].To.Sub(gaps[0].From) < time.Second {
					o.Errorf("gaps are %+v, want one for want of room", gaps)
				}
				for _, stretch := range o.report.Parts {
					for sequence := range stretch.Segments {
						if name := ingest.SegmentName(stretch.Number, sequence); o.service.Media[name] == "" {
							o.Errorf("%s was accepted and is not with the service", name)
						}
					}
				}
			},
		},
	}
}

// stretches tells that the recording was made in so many parts, in one attempt,
// with nothing out of order.
func stretches(want int) func(*outing) {
	return func(o *outing) {
		o.Helper()
		got := o.report.Parts
		if len(got) != want {
			o.Fatalf("the recording has %d stretches, want %d: %+v", len(got), want, got)
		}
		last := o.report.AdmittedAt
		for _, stretch := range got {
			if stretch.StartedAt.Before(last) || !stretch.EndedAt.After(stretch.StartedAt) || stretch.Segments == 0 {
				o.Errorf("stretch out of order, or empty: %+v", stretch)
			}
			last = stretch.EndedAt
		}
		if o.report.LeftAt.Before(last.Add(-time.Second)) {
			o.Errorf("it left at %s, before the recording ended at %s", o.report.LeftAt, last)
		}
	}
}

// holds reports whether a text is in the log.
func (l *logBuffer) holds(text string) bool { return l.count(text) > 0 }

// count tells how often a text is in the log.
func (l *logBuffer) count(text string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(string(l.text), text)
}

// refuseSegments has the service take no segments, or take them again.
func (o *outing) refuseSegments(refuse bool) {
	o.service.Set(func() {
		o.service.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			_, _, segment := ingest.ParseSegmentName(path.Base(r.URL.Path))
			if refuse && segment && r.Method == http.MethodPut {
				ingesttest.WriteError(w, http.StatusServiceUnavailable, "internal_error")
				return true
			}
			return false
		}
	})
}

// recorded waits until something of the first stretch is kept.
func (o *outing) recorded() {
	o.Helper()
	o.await("a segment", func() bool { return o.service.Media[ingest.SegmentName(0, 0)] != "" })
}

// kill kills the processes of a kind of the bot's first browser; the empty kind
// is the browser's own process.
func (o *outing) kill(kind string) {
	o.Helper()
	if runtime.GOOS != "linux" {
		o.Skip("finding the browser's processes needs /proc")
	}
	own := 0
	commands := processes()
	for pid, command := range commands {
		if !strings.Contains(command, "--type=") && strings.Contains(command, "--user-data-dir="+filepath.Join(o.settings.Dir, "browser-0")) {
			own = pid
		}
	}
	if own == 0 {
		o.Fatal("the browser's process is not found")
	}
	killed := 0
	for pid, command := range commands {
		group, err := syscall.Getpgid(pid)
		of := pid == own
		if kind != "" {
			of = err == nil && group == own && strings.Contains(command, "--type="+kind)
		}
		if of && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		o.Fatalf("no process of kind %q is found", kind)
	}
}

// processes are the command lines of all processes.
func processes() map[int]string {
	commands := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline")); err == nil {
			commands[pid] = strings.ReplaceAll(string(text), "\x00", " ")
		}
	}
	return commands
}

// readReport reads an uploaded report.
func readReport(text string) (report recording.FinalReport, err error) {
	err = json.Unmarshal([]byte(text), &report)
	return report, err
}

// readPermission reads what an event about permission carries.
func readPermission(raw json.RawMessage) (data permissionData) {
	_ = json.Unmarshal(raw, &data) // what is missing is empty
	return data
}
