package bot

import (
	"testing"
	"time"

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
		r := &recordingSession{page: &meetingPage{phase: phaseAdmitted, admission: new(meeting.AdmissionProof)}, state: &recordingState{}, consent: &consent{}}
		test.change(r)
		if got := r.shouldRecord(); got != test.want {
			t.Errorf("%s: shouldRecord() = %v", name, got)
		}
	}
}

// TestAudioNotMonitored: without a recorder, silence is no evidence.
func TestAudioNotMonitored(t *testing.T) {
	t.Parallel()
	r := &recordingSession{state: &recordingState{lastAudio: after(1)}}
	if got := r.audio(time.Now()); got.monitored || !got.last.Equal(after(1)) {
		t.Errorf("audio() = %+v", got)
	}
	if r.ended() != nil {
		t.Error("ended() of no recorder is not nil")
	}
}
