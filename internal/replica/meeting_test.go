package replica

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// visitor adds a guest that asks to join.
func visitor(t *testing.T, m *Meeting) string {
	t.Helper()
	id, err := m.addGuest(arrivingPage{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.requestJoin(id, "Stand-in", ""); err != nil {
		t.Fatal(err)
	}
	return id
}

func stateOf(m *Meeting, id string) State {
	for _, guest := range m.Guests() {
		if guest.ID == id {
			return guest.State
		}
	}
	return ""
}

// Control methods change only guests in the right states.
func TestVerbsMoveGuests(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	lobby, waiting, admitted := Settings{}, Settings{HostAbsent: true}, Settings{NoLobby: true}
	for _, test := range []struct {
		name     string
		settings Settings
		verb     func(*Meeting) int
		moved    int
		state    State
	}{
		{"admit from the lobby", lobby, func(m *Meeting) int { return m.Admit() }, 1, StateAdmitted},
		{"admit another", lobby, func(m *Meeting) int { return m.Admit("g7") }, 0, StateLobby},
		{"admit before the host", waiting, func(m *Meeting) int { return m.Admit() }, 0, StateWaitingForHost},
		{"deny in the lobby", lobby, func(m *Meeting) int { return m.Deny() }, 1, StateDenied},
		{"deny before the host", waiting, func(m *Meeting) int { return m.Deny() }, 1, StateDenied},
		{"deny the admitted", admitted, func(m *Meeting) int { return m.Deny() }, 0, StateAdmitted},
		{"time out", lobby, func(m *Meeting) int { return m.LobbyTimeout() }, 1, StateLobbyTimeout},
		{"remove from the lobby", lobby, func(m *Meeting) int { return m.Remove() }, 0, StateLobby},
		{"remove", admitted, func(m *Meeting) int { return m.Remove() }, 1, StateRemoved},
		{"block", lobby, func(m *Meeting) int { return m.Block() }, 1, StateBlocked},
		{"end", admitted, (*Meeting).End, 1, StateEnded},
		{"host arrives", waiting, (*Meeting).HostArrives, 1, StateLobby},
		{"host arrives, no lobby", Settings{HostAbsent: true, NoLobby: true}, (*Meeting).HostArrives, 1, StateAdmitted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := openMeeting(t, s, test.settings)
			id := visitor(t, m)
			if moved := test.verb(m); moved != test.moved {
				t.Errorf("moved %d guests, want %d", moved, test.moved)
			}
			if state := stateOf(m, id); state != test.state {
				t.Errorf("the guest is %s, want %s", state, test.state)
			}
		})
	}
}

func TestAdmitAfter(t *testing.T) {
	t.Parallel()
	m := openMeeting(t, startServer(t, nil), Settings{AdmitAfter: 30 * time.Millisecond})
	visitor(t, m)
	asked, admitted := waitForEvent(t, m, EventKind(StateLobby)), waitForEvent(t, m, EventKind(StateAdmitted))
	if waited := admitted.At.Sub(asked.At); waited < 30*time.Millisecond {
		t.Errorf("the guest was admitted after %v", waited)
	}
}

// Actions that are not allowed in the current state fail.
func TestGuestsKeepToTheirState(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{})
	waiting := visitor(t, m)
	long := strings.Repeat("x", 501)
	for _, test := range []struct {
		name string
		err  error
		want error
	}{
		{"ask twice", m.requestJoin(waiting, "Stand-in", ""), ErrNotNow},
		{"ask without a name", m.requestJoin(waiting, "  ", ""), ErrTooLong},
		{"ask with a long name", m.requestJoin(waiting, long[:61], ""), ErrTooLong},
		{"chat from the lobby", m.sendChat(waiting, "hello"), ErrNotNow},
		{"a guest who is not there", m.leave("g99"), ErrNoSuchGuest},
		{"a long message", m.Say("Ada Quill", long), ErrTooLong},
		{"a participant who is not there", m.Leave("Nobody"), ErrNoSuchParticipant},
		{"a notice that was not shown", func() error { m.Admit(); return m.acceptNotice(waiting, NoticeGemini) }(), ErrNotNow},
		{"media where there are none", func() error { _, _, err := m.connect(t.Context(), waiting, offer{}); return err }(), ErrNotNow},
		{"leave", m.leave(waiting), nil},
		{"leave again", m.leave(waiting), ErrNotNow},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, test.err, test.want)
		}
	}
}

func TestOpenRefusesWrongSettings(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	if _, err := s.Open(Settings{Code: "abc-defg-hij"}); err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]Settings{
		"form of the code": {Code: "abc"},
		"Meet's on Teams":  {Platform: Teams, Code: "zzz-zzzz-zzz"},
		"Zoom's on Teams":  {Platform: Teams, Code: "9876543210"},
		"platform":         {Platform: "phone"},
		"passcode on Meet": {Passcode: "1234"},
		"odd passcode":     {Platform: Teams, Passcode: "a b"},
		"launcher of Meet": {CookieBanner: true},
		"framed Teams":     {Platform: Teams, Framed: true},
		"late devices":     {Platform: Zoom, DevicesAfterJoin: true},
		"device dialog":    {Platform: Teams, DeviceDialog: true},
		"Gemini on Zoom":   {Platform: Zoom, Notices: []Notice{NoticeGemini}},
		"slowness":         {PageDelay: -time.Second},
		"taken code":       {Code: "abc-defg-hij"},
		"nameless":         {Participants: []Participant{{}}},
		"crowd":            {Participants: make([]Participant, 17)},
		"refusal":          {Refusal: "fire"},
		"notice":           {Notices: []Notice{"smoke"}},
		"language":         {Language: "xx"},
		"state":            {Texts: map[State]string{"nowhere": "text"}},
		"time":             {AdmitAfter: -time.Second},
	} {
		if _, err := s.Open(settings); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := openMeeting(t, s, Settings{AdmitAfter: time.Hour})
	visitor(t, m)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Open(Settings{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed replica opens a meeting: %v", err)
	}
}
