package bot

import (
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
