package session

import (
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
)

// TestShouldRecord: commands and permission outlive recorders and browsers.
func TestShouldRecord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*recordingSession)
		want   bool
	}{
		"admitted":               {func(*recordingSession) {}, true},
		"in the lobby":           {func(r *recordingSession) { r.page.phase = phaseWaiting }, false},
		"without proof":          {func(r *recordingSession) { r.page.admission = nil }, false},
		"paused":                 {func(r *recordingSession) { r.state.paused = true }, false},
		"stopped":                {func(r *recordingSession) { r.state.stopped = true }, false},
		"spool full":             {func(r *recordingSession) { r.state.full = true }, false},
		"permission is required": {func(r *recordingSession) { r.consent.required = true }, false},
		"permission was given":   {func(r *recordingSession) { r.consent.required, r.consent.permitted = true, true }, true},
		"recording already":      {func(r *recordingSession) { r.recorder = new(recorder.Recorder) }, false},
		"permitted but stopped":  {func(r *recordingSession) { r.consent.permitted, r.state.stopped = true, true }, false},
	} {
		r := &recordingSession{
			page: &meetingPage{phase: phaseAdmitted, admission: new(meeting.AdmissionProof)}, state: &recordingState{}, consent: &consent{},
		}
		test.change(r)
		if got := r.shouldRecord(); got != test.want {
			t.Errorf("%s: shouldRecord() = %v", name, got)
		}
	}
}

// TestSilenceEndsSpeech checks that nobody speaks while the meeting's sound is
// silent, whatever the page marks.
func TestSilenceEndsSpeech(t *testing.T) {
	t.Parallel()
	marked := []meeting.Participant{{ID: "ada", Speaking: true}, {ID: "ben"}}
	for name, c := range map[string]struct {
		stats     recorder.Stats
		monitored bool
		want      bool
	}{
		"not monitored":          {recorder.Stats{}, false, true},
		"nothing reported":       {recorder.Stats{}, true, true},
		"sound":                  {recorder.Stats{LastReportAt: after(10), LastSoundAt: after(9.5)}, true, true},
		"silence":                {recorder.Stats{LastReportAt: after(10), LastSoundAt: after(8)}, true, false},
		"silence from the start": {recorder.Stats{LastReportAt: after(10)}, true, false},
	} {
		got := withoutSilent(marked, c.stats, c.monitored)
		if got[0].Speaking != c.want || got[1].Speaking || !marked[0].Speaking {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMarksWhileLevelsAreZero checks that the marks of the page decide who speaks when
// all levels are 0 although the recorded sound is audible.
func TestMarksWhileLevelsAreZero(t *testing.T) {
	t.Parallel()
	seen := meeting.Observation{Participants: []meeting.Participant{{ID: "a"}, {ID: "b"}}, Marked: []string{"b"}}
	for name, c := range map[string]struct {
		soundAt float64
		want    bool
	}{"audible": {9, true}, "silent": {5, false}} {
		stats := recorder.Stats{LastReportAt: after(10), LastSoundAt: after(c.soundAt)}
		got := withMarked(seen, stats, true)
		if got[0].Speaking || got[1].Speaking != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if seen.Participants[1].Speaking {
		t.Error("the observation was changed")
	}
}
