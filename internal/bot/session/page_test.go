package session

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
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
		"unknown with participants": {stateUnknown, meeting.Observation{Participants: []meeting.Participant{{ID: "ada"}}}, false, 9, 100, false},
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
		s := &session{shared: &shared{log: page.log}, page: page, recording: recording}
		s.checkScreen(t.Context(), after(1), audioStatus{})
		if got := recording.state.suspended; got != want {
			t.Errorf("state %d: suspended %v, want %v", state, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		screen meeting.Screen
		host   string
		want   pageState
	}{
		"in the meeting":     {meeting.InMeeting, "meet.test", stateInMeeting},
		"reloaded":           {meeting.PreJoin, "meet.test", statePreJoin},
		"moved to the lobby": {meeting.Lobby, "meet.test", stateLobby},
		"the host left":      {meeting.HostAbsent, "meet.test", stateLobby},
		"reconnecting":       {meeting.Reconnecting, "meet.test", stateOffline},
		"cannot connect":     {meeting.CannotConnect, "", stateOffline},
		"unknown":            {meeting.Unknown, "meet.test", stateUnknown},
		"unknown host":       {meeting.Unknown, "", stateUnknown},
		"navigated away":     {meeting.Unknown, "ads.test", stateElsewhere},
		"sign-in page":       {meeting.SignInWall, "meet.test", stateElsewhere},
	} {
		s := snapshot{seen: meeting.Observation{Screen: test.screen}, host: test.host}
		if got := classify(s, "meet.test"); got != test.want {
			t.Errorf("%s: state %d, want %d", name, got, test.want)
		}
	}
	if got := classify(snapshot{seen: meeting.Observation{Screen: meeting.Unknown}, host: "ads.test"}, ""); got != stateUnknown {
		t.Errorf("without a home: state %d, want %d", got, stateUnknown)
	}
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	timeouts := Timeouts{Settle: 3 * time.Second, Connection: 30 * time.Second, Unknown: time.Minute}
	type step struct {
		at    float64
		state pageState
	}
	for name, test := range map[string]struct {
		steps []step
		now   float64
		alive bool
		want  recovery
	}{
		"in the meeting":               {[]step{{0, stateInMeeting}}, 1000, false, noRecovery},
		"outside for a moment":         {[]step{{0, stateInMeeting}, {5, statePreJoin}}, 7.9, true, noRecovery},
		"outside":                      {[]step{{0, stateInMeeting}, {5, statePreJoin}, {6, statePreJoin}}, 8, true, rejoinSamePage},
		"outside after unknown":        {[]step{{5, statePreJoin}, {6, stateUnknown}, {7, statePreJoin}}, 8, true, noRecovery},
		"moved to the lobby":           {[]step{{5, stateLobby}}, 8, true, waitInLobby},
		"offline within the timeout":   {[]step{{5, stateOffline}}, 34.9, false, noRecovery},
		"offline for too long":         {[]step{{5, stateOffline}, {20, stateOffline}}, 35, true, rejoinNewBrowser},
		"offline and redrawn":          {[]step{{5, stateOffline}, {10, stateUnknown}, {20, stateOffline}}, 35, true, rejoinNewBrowser},
		"offline, online, offline":     {[]step{{5, stateOffline}, {20, stateInMeeting}, {21, stateOffline}}, 40, true, noRecovery},
		"navigated away":               {[]step{{5, stateElsewhere}}, 35, true, rejoinNewBrowser},
		"unknown but alive":            {[]step{{5, stateUnknown}}, 5000, true, noRecovery},
		"unknown and dead, at first":   {[]step{{5, stateUnknown}}, 64, false, noRecovery},
		"unknown and dead for a while": {[]step{{5, stateUnknown}}, 65, false, rejoinNewBrowser},
	} {
		var h pageHealth
		for _, s := range test.steps {
			h = h.update(after(s.at), s.state)
		}
		if got := h.recovery(after(test.now), timeouts, test.alive); got != test.want {
			t.Errorf("%s: recovery %d, want %d", name, got, test.want)
		}
	}
}

// TestResponsive checks that the end of a page that does not respond says if the machine is overloaded, and that the bot stays while it
// hears the meeting.
func TestResponsive(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		silent  float64 // seconds without a response
		heard   bool
		waiting float64
		code    job.FailureCode
	}{
		"responsive":            {silent: 19, waiting: 1},
		"no response":           {silent: 20, heard: true, waiting: 0.2, code: job.NetworkLoss},
		"overloaded":            {silent: 20, waiting: 0.9, code: job.InternalError},
		"overloaded, but heard": {silent: 60, heard: true, waiting: 0.9},
	} {
		p := &meetingPage{timeouts: Timeouts{Unresponsive: 20 * time.Second}, last: snapshot{at: after(0)}}
		end := p.checkResponsive(after(test.silent), test.heard, func() float64 { return test.waiting })
		switch {
		case (end == nil) != (test.code == ""), end != nil && (end.code != test.code || !end.retry):
			t.Errorf("%s: %+v", name, end)
		case end != nil && strings.Contains(end.detail, "90%") != (test.waiting == 0.9):
			t.Errorf("%s: %s", name, end.detail)
		}
	}
}
