package bot

import (
	"log/slog"
	"testing"
	"time"

	"standin/internal/bot/meeting"
)

func TestShowsNoMeeting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state     pageState
		seen      meeting.Observation
		connected bool
		lastAudio float64
		now       float64
		want      bool
	}{
		"in the meeting":            {stateInMeeting, meeting.Observation{}, false, 0, 100, false},
		"offline":                   {stateOffline, meeting.Observation{}, false, 0, 100, false},
		"unknown":                   {stateUnknown, meeting.Observation{}, false, 9, 13, true},
		"unknown for a moment":      {stateUnknown, meeting.Observation{}, false, 9, 12.9, false},
		"navigated away":            {stateElsewhere, meeting.Observation{}, false, 9, 13, true},
		"unknown with a call":       {stateUnknown, meeting.Observation{}, true, 9, 100, false},
		"unknown with participants": {stateUnknown, meeting.Observation{Participants: present("ada")}, false, 9, 100, false},
		"unknown with audio":        {stateUnknown, meeting.Observation{}, false, 98, 100, false},
	} {
		p := &meetingPage{
			timeouts: Timeouts{Settle: 3 * time.Second},
			health:   pageHealth{state: test.state, since: after(10)},
			last:     snapshot{seen: test.seen, connected: test.connected},
		}
		if got := p.showsNoMeeting(after(test.now), after(test.lastAudio)); got != test.want {
			t.Errorf("%s: showsNoMeeting() = %v", name, got)
		}
	}
}

// TestSuspendedRecording checks that a suspended recording does not continue on the
// page that offers to join again, or in the lobby.
func TestSuspendedRecording(t *testing.T) {
	t.Parallel()
	for state, want := range map[pageState]bool{stateInMeeting: false, statePreJoin: true, stateLobby: true, stateUnknown: true} {
		page := newMeetingPage(slog.New(slog.DiscardHandler), Timeouts{}, "", nil)
		page.health = pageHealth{state: state, since: after(0)}
		recording := &recordingSession{page: page, state: &recordingState{suspended: true}}
		s := &session{log: page.log, page: page, recording: recording}
		s.checkScreen(t.Context(), after(1), audioStatus{})
		if got := recording.state.suspended; got != want {
			t.Errorf("state %d: suspended %v, want %v", state, got, want)
		}
	}
}
