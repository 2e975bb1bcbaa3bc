package session

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/replica"
)

// A fault is repaired, twice if necessary, and then reported, and only if the page
// received media meanwhile.
func TestFaultWatch(t *testing.T) {
	t.Parallel()
	always := func(int) bool { return true }
	never := func(int) bool { return false }
	for _, test := range []struct {
		name     string
		good     func(second int) bool
		evidence func(second int) bool
		restart  int // second at which the recorder is restarted; 0: never
		want     map[int]faultAction
	}{
		{"good media", always, always, 0, nil},
		{"nobody speaks", never, never, 0, nil},
		{"a short sound in silence", never, func(s int) bool { return s == 5 || s == 30 }, 0, nil},
		{"pauses between sentences", func(s int) bool { return s%9 == 0 }, always, 0, nil},
		{"no repair helps", never, always, 0, map[int]faultAction{10: repairFault, 20: repairFault, 30: markFault}},
		{"evidence comes late", never, func(s int) bool { return s > 20 }, 0, map[int]faultAction{
			23: repairFault, 33: repairFault, 43: markFault,
		}},
		{"the first repair helps", func(s int) bool { return s > 12 }, always, 0, map[int]faultAction{10: repairFault, 13: endFault}},
		{"the media comes back by itself", func(s int) bool { return s > 35 }, always, 0,
			map[int]faultAction{10: repairFault, 20: repairFault, 30: markFault, 36: endFault}},
		{"a new fault", func(s int) bool { return s > 12 && s < 20 }, always, 0,
			map[int]faultAction{10: repairFault, 13: endFault, 29: repairFault, 39: repairFault, 49: markFault}},
		{"a new recorder gets its time", never, always, 8, map[int]faultAction{18: repairFault, 28: repairFault, 38: markFault}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			watch := faultWatch{after: noSoundAfter, evidence: minSoundEvidence, repairs: 2}
			started, lastGood := start, time.Time{}
			for second := 1; second < 55; second++ {
				now := start.Add(time.Duration(second) * time.Second)
				if test.restart != 0 && second == test.restart {
					started = now
				}
				if test.good(second) {
					lastGood = now
				}
				if got := watch.update(now, started, lastGood, test.evidence(second)); got != test.want[second] {
					t.Errorf("second %d: action %d, want %d", second, got, test.want[second])
				}
			}
		})
	}
}

func TestInboundEvidence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		inbound       recorder.Inbound
		sound, motion bool
	}{
		{"nothing", recorder.Inbound{}, false, false},
		{"muted people", recorder.Inbound{Packets: 150, Bytes: 450}, false, false},
		{"comfort noise", recorder.Inbound{Packets: 50, Bytes: 600, Energy: 1e-7}, false, false},
		{"a voice", recorder.Inbound{Packets: 50, Bytes: 4000, Energy: 0.002}, true, false},
		{"a voice that is not played", recorder.Inbound{Packets: 50, Bytes: 4000}, true, false},
		{"silence that is not played", recorder.Inbound{Packets: 50, Bytes: 150}, false, false},
		{"a source that is loud", recorder.Inbound{Audible: true}, true, false},
		{"still slides", recorder.Inbound{Frames: 5}, false, false},
		{"a moving video", recorder.Inbound{Frames: 25, PictureChanged: true}, false, true},
	} {
		if test.inbound.ReceivesSound() != test.sound || test.inbound.ReceivesMotion() != test.motion {
			t.Errorf("%s: sound %v, motion %v", test.name, test.inbound.ReceivesSound(), test.inbound.ReceivesMotion())
		}
	}
}

// mediaFaultScenarios are visits to meetings whose page plays no sound until audio is
// joined, or never, and to meetings whose page stops to show the video that it receives.
func mediaFaultScenarios() []scenario {
	fast := func(s *Settings) { s.Timeouts.NoSound, s.Timeouts.Frozen = 3*time.Second, 3*time.Second }
	zoom := []job.Platform{job.ZoomWeb}
	// Nobody speaks, so that nothing but the videos moves.
	still := []replica.Participant{{Name: "Ada Quill", Muted: true}, {Name: "Ben Okafor", Muted: true}}
	return []scenario{
		{
			name: "audio to be joined, connection lost and regained, then another notetaker", lane: job.ZoomWeb, only: zoom, beeps: 4,
			reason:  report.ReasonCompeting,
			meeting: replica.Settings{Audio: replica.AudioOnRequest, Participants: withoutCameras()},
			configure: func(s *Settings) {
				fast(s)
				audioOnly(s)
				s.Timeouts.Connection, s.AutoLeave.OnBotDetected = 20*time.Second, true
			},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitFault("ended")
				h.loseConnection()
				h.beep()
				h.addParticipant(fireflies)
			},
			check: func(h *harness) {
				if states := h.faultStates(faultNoSound); len(states) < 2 || states[0] != "repairing" || states[1] != "ended" {
					h.Errorf("states of the fault %q", states) // another one may follow while the connection is lost
				}
				if guests := len(h.meeting.Guests()); guests != 1 {
					h.Errorf("the bot joined %d times", guests)
				}
				detectedNotetaker(true)(h)
			},
		},
		{
			// Silence that the bot knows to be its own does not make it leave.
			name: "audio that never plays", only: zoom, reason: report.ReasonHostEnded,
			configure: func(s *Settings) { fast(s); s.AutoLeave.AfterSilenceSeconds = 4 },
			meeting:   replica.Settings{Audio: replica.NoAudio},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitFault("not_repaired")
				h.meeting.End()
			},
			check: func(h *harness) {
				h.checkFaults(faultNoSound, "repairing", "not_repaired")
				var spoken time.Duration
				for _, speech := range h.report.Speech {
					spoken += speech.To.Sub(speech.From)
				}
				if spoken < 5*time.Second {
					h.Errorf("the speech that the page marked is %v: %+v", spoken, h.report.Speech)
				}
			},
		},
		{
			name: "another notetaker's gate", only: onMeet(), reason: report.ReasonHostEnded,
			configure: fast, meeting: replica.Settings{Notices: []replica.Notice{replica.NoticeShared}},
			during: func(h *harness) { h.admitAndRecord(1); h.awaitHeartbeats(6); h.meeting.End() },
			check: func(h *harness) {
				if accepted := h.acceptedNotices(); len(accepted) != 1 || !strings.Contains(accepted[0], "will be shared with Read AI") {
					h.Errorf("accepted notices: %q", accepted)
				}
				if beeps := h.beeps("recording.mp4"); len(beeps) < 3 || len(h.report.MediaFaults) > 0 {
					h.Errorf("beeps at %v, faults in the report: %+v", beeps, h.report.MediaFaults)
				}
			},
		},
		{
			name: "another notetaker's gate that keeps the media back", only: onMeet(), reason: report.ReasonHostEnded,
			configure: func(s *Settings) { s.Timeouts.NoPackets = 4 * time.Second },
			meeting:   replica.Settings{NoMedia: true, Notices: []replica.Notice{replica.NoticeShared}},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitFault("not_repaired")
				h.meeting.End()
			},
			check: func(h *harness) { h.checkFaults(faultNoSound, "not_repaired") },
		},
		{
			name: "video that was paused", only: []job.Platform{job.Teams}, configure: fast, reason: report.ReasonHostEnded,
			meeting: replica.Settings{Video: replica.VideoPaused, NoTips: true, Participants: still},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitFault("ended")
				h.meeting.End()
			},
			check: func(h *harness) { h.checkFaults(faultFrozenPicture, "repairing", "ended") },
		},
		{
			name: "video that never plays", only: []job.Platform{job.Teams}, configure: fast, reason: report.ReasonHostEnded,
			meeting: replica.Settings{Video: replica.VideoStuck, NoTips: true, Participants: still},
			during: func(h *harness) {
				h.admitAndRecord(1)
				h.awaitFault("not_repaired")
				h.meeting.End()
			},
			check: func(h *harness) { h.checkFaults(faultFrozenPicture, "repairing", "not_repaired") },
		},
	}
}

// TestFirstSound checks that people who send no packet of sound are a fault of sound, which the
// report forgets when the first packet comes, and that captions and marks are evidence of sound.
func TestFirstSound(t *testing.T) {
	t.Parallel()
	began := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	fault := func(from, to time.Time) []ingest.MediaFault {
		return []ingest.MediaFault{{Kind: "no_sound", From: from, To: to}}
	}
	for name, c := range map[string]struct {
		came, left int // second at which others do
		packet     int // second of the first packet; 0: never
		want       []ingest.MediaFault
	}{
		"nobody else":                {200, 200, 0, nil},
		"sound within the minute":    {0, 200, 50, nil},
		"never any sound":            {0, 200, 0, fault(began, time.Time{})},
		"somebody comes, and leaves": {20, 100, 0, fault(began.Add(19*time.Second), began.Add(100*time.Second))},
		"all were muted":             {0, 200, 100, fault(began, began)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			log := slog.New(slog.DiscardHandler)
			recording := &recordingSession{log: log, report: report.New(1, "v1", false, store, report.NewClock()), page: &meetingPage{}}
			recording.page.timeouts = Timeouts{}.withDefaults()
			m := newMediaFaults(recording)
			m.reports = limit{} // there is no timeline
			for second := 1; second <= 120; second++ {
				s := snapshot{at: began.Add(time.Duration(second) * time.Second)}
				if second >= c.came && second < c.left {
					s.seen.Others = 2
				}
				if second == c.packet {
					s.inbound.Packets = 50
				}
				m.awaitSound(s, began, time.Time{})
			}
			if err := m.report.Save(); err != nil {
				t.Fatal(err)
			}
			file, _, err := store.OpenFile(ingest.ReportName)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var got ingest.Report
			if err := json.NewDecoder(file).Decode(&got); err != nil || !slices.Equal(got.MediaFaults, c.want) {
				t.Errorf("faults %+v, %v; want %+v", got.MediaFaults, err, c.want)
			}
		})
	}
	line := func(text string) []meeting.CaptionLine { return []meeting.CaptionLine{{Author: "Ada", Text: text}} }
	m := &mediaFaults{}
	for _, step := range []struct {
		after time.Duration // since the last signal
		seen  meeting.Observation
		want  bool
	}{
		{time.Minute, meeting.Observation{}, false},
		{time.Minute, meeting.Observation{Captions: line("Good")}, true},
		{time.Minute, meeting.Observation{Captions: line("Good")}, false},
		{time.Second, meeting.Observation{Captions: line("Good morning")}, false}, // of words that were heard
		{time.Minute, meeting.Observation{Captions: line("Good morning.")}, true},
		{time.Minute, meeting.Observation{Marked: []string{"ada"}}, true},
		{time.Minute, meeting.Observation{Marked: []string{"ada"}}, false}, // the last speaker
		{time.Minute, meeting.Observation{Marked: []string{"ben"}}, true},
	} {
		if got := m.othersSpeak(snapshot{at: began.Add(step.after), seen: step.seen}, began); got != step.want {
			t.Errorf("%+v: others speak is %v", step, got)
		}
	}
}

// acceptedNotices returns the texts of the notices that the bot accepted, by the timeline.
func (h *harness) acceptedNotices() (texts []string) {
	h.Helper()
	for _, event := range h.service.ReceivedEvents() {
		var data struct {
			Screens []meeting.Decision `json:"screens"`
		}
		if err := json.Unmarshal(event.Data, &data); err != nil && len(event.Data) > 0 {
			h.Error(err)
		}
		for _, decision := range data.Screens {
			if decision.Accepted != "" {
				texts = append(texts, decision.Accepted)
			}
		}
	}
	return slices.Compact(texts)
}

// awaitFault waits for an event about a fault in a state.
func (h *harness) awaitFault(state string) {
	h.Helper()
	h.matchingEvent(job.BotMediaFault, 1, func(e ingest.Event) bool { return strings.Contains(string(e.Data), `"`+state+`"`) })
}

// faultStates returns the states of a fault on the timeline, where one or two repairs
// count as one state.
func (h *harness) faultStates(kind string) (states []string) {
	h.Helper()
	for _, event := range h.service.ReceivedEvents() {
		if event.Kind != job.BotMediaFault {
			continue
		}
		var data faultData
		if err := json.Unmarshal(event.Data, &data); err != nil || data.Fault != kind {
			h.Errorf("fault %q, %v", data.Fault, err)
		}
		states = append(states, data.State)
	}
	return slices.Compact(states)
}

// checkFaults checks the states of a fault on the timeline, and that the report has the
// fault once, with its end.
func (h *harness) checkFaults(kind string, want ...string) {
	if states := h.faultStates(kind); !slices.Equal(states, want) {
		h.Errorf("states of the fault %q, want %q", states, want)
	}
	if faults := h.report.MediaFaults; len(faults) != 1 || faults[0].Kind != kind || faults[0].To.Sub(faults[0].From) < 3*time.Second {
		h.Errorf("faults in the report: %+v", faults)
	}
}
