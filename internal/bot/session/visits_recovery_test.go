package session

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
)

// recoveryScenarios are sessions in which something fails.
func recoveryScenarios() []scenario {
	return []scenario{
		{
			name: "connection lost for good", reason: report.ReasonConnection, detail: "no connection", check: hasParts(1),
			configure: func(s *Settings) { s.Timeouts.Connection, s.Timeouts.MaxRejoins = time.Second, -1 },
			during:    func(h *harness) { h.admitAndRecord(1); h.meeting.Disconnect() },
		},
		{
			name: "unknown screen during the meeting", only: onMeet(), reason: report.ReasonHostEnded,
			configure: func(s *Settings) {
				audioOnly(s)
				s.Timeouts.Connection, s.Timeouts.Unknown = 12*time.Second, 12*time.Second
			},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitSegment()
				if _, err := h.meeting.NavigateAway(h.elsewhere()); err != nil {
					h.Fatal(err)
				}
				h.left = time.Now()
				h.await("the recording stops", func() bool { return h.log.count("the page shows no meeting") > 0 })
				h.admitAndRecord(2)
				h.meeting.End()
			},
			check: func(h *harness) {
				hasParts(2)(h)
				if late := h.report.Parts[0].EndedAt.Sub(h.left); fullMatrix() && late > 5*time.Second ||
					h.report.Parts[0].EndedBy != "unknown_screen" {
					h.Errorf("the recording stopped %s after the meeting was left, by %q", late, h.report.Parts[0].EndedBy)
				}
				if page := string(h.capture(0).Page); !strings.Contains(page, elsewhereText) {
					h.Errorf("no capture of the unknown screen: %q", page)
				}
			},
		},
		{
			name: "page hangs in the lobby", reason: report.ReasonHostEnded, only: onMeet(),
			configure: func(s *Settings) { s.Timeouts.Unresponsive = 4 * time.Second },
			during: func(h *harness) {
				h.awaitLobby(1)
				h.meeting.Freeze("g1")
				h.awaitGuest(2, replica.EventKind(replica.StateLobby))
				h.meeting.Admit("g2")
				h.event(job.BotRecordingStarted)
				h.meeting.End()
			},
		},
		{
			// Each failure replaces the browser, except for the reload, after which the
			// bot joins again in the same page.
			name: "renderer killed, then the page hangs, loses its connection, and reloads", only: onMeet(), reason: report.ReasonHostEnded,
			check: hasParts(5),
			configure: func(s *Settings) {
				audioOnly(s)
				s.Timeouts.Unresponsive, s.Timeouts.Connection, s.Timeouts.MaxRejoins = 4*time.Second, time.Second, 4
			},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitSegment()
				h.kill("renderer")
				h.admitAndRecord(2)
				h.meeting.Freeze("g2")
				h.admitAndRecord(3)
				h.meeting.Disconnect()
				h.admitAndRecord(4)
				h.meeting.Reload()
				h.admitAndRecord(5)
				h.meeting.End()
			},
		},
		{
			// Two starts fail in each of two browsers before one works.
			name: "recorder that starts at the fifth try", lane: job.Meet, only: onMeet(), reason: report.ReasonHostEnded, check: func(h *harness) {
				hasParts(1)(h)
				if gaps := h.report.Gaps; len(gaps) != 1 || gaps[0].Reason != recording.GapNotRecording ||
					gaps[0].From.Sub(h.report.AdmittedAt).Abs() > 5*time.Second || !gaps[0].To.Equal(h.report.Parts[0].StartedAt) {
					h.Errorf("gaps %+v, admitted at %s, parts %+v", gaps, h.report.AdmittedAt, h.report.Parts)
				}
			},
			configure: func(s *Settings) {
				audioOnly(s)
				s.Timeouts.RecorderRetry = 100 * time.Millisecond
				s.startRecorder = failingStarts(4)
			},
			during: func(h *harness) {
				h.admit(1)
				h.admit(2)
				h.admit(3)
				h.event(job.BotRecordingStarted)
				h.awaitSegment()
				h.meeting.End()
			},
		},
		{
			name: "renderer killed, and the end before a recorder runs", lane: job.Meet, only: onMeet(), reason: report.ReasonHostEnded,
			configure: func(s *Settings) {
				audioOnly(s)
				works, fails := failingStarts(0), failingStarts(math.MaxInt)
				started := false
				s.startRecorder = func(
					ctx context.Context, b *browser.Browser, tab *browser.Page, settings recorder.Settings, sink recorder.Sink,
				) (*recorder.Recorder, error) {
					if started {
						return fails(ctx, b, tab, settings, sink)
					}
					started = true
					return works(ctx, b, tab, settings, sink)
				}
			},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.await("a second of media", func() bool { return h.service.Media[ingest.SegmentName(0, 2)] != "" })
				h.kill("renderer")
				h.admit(2)
				h.await("a recorder fails", func() bool { return h.log.count("recorder failed") > 0 })
				h.meeting.End()
			},
			check: func(h *harness) {
				hasParts(1)(h)
				gaps := h.laterGaps()
				if len(gaps) != 1 || !gaps[0].To.IsZero() || !gaps[0].From.Equal(h.report.Parts[0].EndedAt) || gaps[0].Reason != recording.GapMediaLost {
					h.Errorf("gaps %+v, parts %+v", h.report.Gaps, h.report.Parts)
				}
			},
		},
		{
			name: "recorder that never starts", only: onMeet(), reason: report.ReasonNoRecording, packedByService: true,
			configure: func(s *Settings) {
				audioOnly(s)
				s.Timeouts.RecorderRetry, s.Timeouts.NoRecorder = 100*time.Millisecond, time.Millisecond
				s.startRecorder = failingStarts(math.MaxInt)
			},
			during: func(h *harness) { h.admit(1) },
			check: func(h *harness) {
				if len(h.report.Gaps) != 1 || h.exited.FailureCode != "" || slices.Contains(h.kinds(), job.BotRecordingStopped) {
					h.Errorf("gaps %+v, exit %+v, events %v", h.report.Gaps, h.exited, h.kinds())
				}
			},
		},
		{
			// The service accepts no segments: the recording stops, the bot stays,
			// and recording continues when there is space.
			name: "spool full", reason: report.ReasonHostEnded, only: onMeet(), packedByService: true,
			configure: func(s *Settings) {
				audioOnly(s)
				s.SpoolLimit, s.Timeouts.Chunk = 150_000, 6*time.Second
				if s.Recording.Mode == job.RecordAudio {
					s.SpoolLimit = 40_000
				}
			},
			during: func(h *harness) {
				h.refuseSegments(true)
				h.admitAndRecord(1)
				h.await("the spool is full", func() bool { return h.log.count("the spool is full") > 0 })
				h.refuseSegments(false)
				h.nthEvent(job.BotRecordingStarted, 2)
				h.await("a segment of the second part", func() bool { return h.service.Media[ingest.SegmentName(1, 1)] != "" })
				h.meeting.End()
			},
			check: func(h *harness) {
				hasParts(2)(h)
				gaps := h.laterGaps()
				if len(gaps) != 1 || gaps[0].Reason != recording.GapDiskFull || gaps[0].To.Sub(gaps[0].From) < time.Second {
					h.Errorf("gaps are %+v, want one with reason %s", gaps, recording.GapDiskFull)
				}
				for _, part := range h.report.Parts {
					for sequence := range part.Segments {
						if name := ingest.SegmentName(part.Number, sequence); h.service.Media[name] == "" {
							h.Errorf("%s was recorded and not uploaded", name)
						}
					}
				}
			},
		},
	}
}

// failingStarts returns the recorder's start, which fails that many times.
func failingStarts(failures int) startRecorder {
	return func(ctx context.Context, b *browser.Browser, tab *browser.Page, s recorder.Settings, sink recorder.Sink) (*recorder.Recorder, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("the encoder does not start")
		}
		return recorder.Start(ctx, b, tab, s, sink)
	}
}

// laterGaps returns the gaps after the start of the first part.
func (h *harness) laterGaps() []ingest.Gap {
	return slices.DeleteFunc(slices.Clone(h.report.Gaps), func(g ingest.Gap) bool { return g.From.Before(h.report.Parts[0].StartedAt) })
}

// loseConnection lets the page lose its connection and regain it, and waits until the bot
// has noticed both.
func (h *harness) loseConnection() {
	h.meeting.Disconnect()
	h.await("the lost connection is noticed", func() bool { return h.log.count("screen=reconnecting") > 0 })
	before := h.log.count("screen=inMeeting")
	h.meeting.Reconnect()
	h.await("the regained connection is noticed", func() bool { return h.log.count("screen=inMeeting") > before })
}

// hasParts checks that the recording has that many parts, in order.
func hasParts(want int) func(*harness) {
	return func(h *harness) {
		got := h.report.Parts
		if len(got) != want {
			h.Fatalf("%d recording parts, want %d: %+v", len(got), want, got)
		}
		last := h.report.AdmittedAt
		for _, part := range got {
			if part.StartedAt.Before(last) || !part.EndedAt.After(part.StartedAt) || part.Segments == 0 {
				h.Errorf("part out of order, or empty: %+v", part)
			}
			last = part.EndedAt
		}
		if h.report.LeftAt.Before(last.Add(-time.Second)) {
			h.Errorf("left at %s, before the recording ended at %s", h.report.LeftAt, last)
		}
	}
}

// refuseSegments makes the service refuse segments, or accept them again.
func (h *harness) refuseSegments(refuse bool) {
	h.service.Set(func() {
		h.service.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
			_, _, segment := ingest.ParseSegmentName(path.Base(r.URL.Path))
			if refuse && segment && r.Method == http.MethodPut {
				ingesttest.WriteError(w, http.StatusServiceUnavailable, "internal_error")
				return true
			}
			return false
		}
	})
}

// awaitSegment waits for a segment of the first part.
func (h *harness) awaitSegment() {
	h.Helper()
	h.await("a segment", func() bool { return h.service.Media[ingest.SegmentName(0, 0)] != "" })
}

// kill kills the processes of a kind of the bot's first browser; "" is the
// browser's main process.
func (h *harness) kill(kind string) {
	h.Helper()
	if runtime.GOOS != "linux" {
		h.Skip("finding the browser's processes needs /proc")
	}
	processes, err := host.Processes("/proc")
	if err != nil {
		h.Fatal(err)
	}
	commands := map[int]string{}
	for _, process := range processes {
		arguments, _ := process.CmdLine()
		commands[process.PID] = strings.Join(arguments, " ")
	}
	own := 0
	for pid, command := range commands {
		if !strings.Contains(command, "--type=") && strings.Contains(command, "--user-data-dir="+filepath.Join(h.settings.Dir, "browser-0")) {
			own = pid
		}
	}
	if own == 0 {
		h.Fatal("the browser's process was not found")
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
		h.Fatalf("no process of kind %q was found", kind)
	}
}

// readReport decodes an uploaded report.
func readReport(text string) (report build.FinalReport, err error) {
	err = json.Unmarshal([]byte(text), &report)
	return report, err
}

// readPermission decodes the data of an event about permission.
func readPermission(raw json.RawMessage) (data permissionData) {
	_ = json.Unmarshal(raw, &data) // what is missing is empty
	return data
}
