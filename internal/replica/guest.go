package replica

import (
	"slices"
	"time"
)

// State is the state of a guest.
type State string

// The states of a guest. StateDenied and the following are final. A page that opens
// the meeting again is a new guest.
const (
	StatePreJoin        State = "prejoin"
	StateWaitingForHost State = "waiting_for_host"
	StateLobby          State = "lobby"
	StateAdmitted       State = "admitted"
	StateDenied         State = "denied"
	StateLobbyTimeout   State = "lobby_timeout"
	StateRemoved        State = "removed"
	StateEnded          State = "ended"
	StateLeft           State = "left"
	StateNotFound       State = State(RefusalNotFound)
	StateSignIn         State = State(RefusalSignIn)
	StateCaptcha        State = State(RefusalCaptcha)
	StateBlocked        State = State(RefusalBlocked)
)

var allStates = []State{
	StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted,
	StateDenied, StateLobbyTimeout, StateRemoved, StateEnded, StateLeft,
	StateNotFound, StateSignIn, StateCaptcha, StateBlocked,
}

// isActive reports whether the guest is in the meeting or may still join it.
func (s State) isActive() bool {
	return slices.Contains([]State{StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted}, s)
}

// Guest is a page that opened the meeting.
type Guest struct {
	ID         string
	Name       string // empty until the guest asks to join
	State      State
	Since      time.Time // when it entered the state
	Microphone bool
	Camera     bool
	Sharing    bool // its screen
	// Vanished is set while the page is closed although the guest did not leave, for
	// example after a reload. Leaving with the button is StateLeft.
	Vanished bool
	// Offline is set between Disconnect and Reconnect.
	Offline bool
	// Permission is the state of the request to record (Zoom).
	Permission Permission
	// MediaConnected is set while the page receives the participants' media.
	MediaConnected bool
}

// guest is a Guest with internal state.
type guest struct {
	Guest
	language string       // of the page
	passcode passcodeNeed // whether the page asks for the passcode
	streams  int          // open event streams of the page
	notices  []Notice     // not yet accepted
	captions int          // utterances before its admission, which its page does not show
	commands commands
	peer     *peer               // nil while no media flow
	received map[string][]Packet // last packets of its media, oldest first
	relay    relay
	host     bool
	speaking bool
	spokeAt  time.Time // the last time
}

// passcodeNeed is whether a page asks for the passcode.
type passcodeNeed string

const (
	passcodeSettled passcodeNeed = "" // not required, or correct
	passcodeNeeded  passcodeNeed = "needed"
	passcodeWrong   passcodeNeed = "wrong"
)

// setState changes the state of a guest. The caller holds the lock.
func (m *Meeting) setState(g *guest, state State) {
	g.State, g.Since, g.Offline = state, time.Now(), false
	switch state {
	case StateLobby:
	case StateAdmitted:
		g.notices, g.captions = slices.Clone(m.settings.Notices), len(m.captions)
	default:
		m.dropPeer(g)
	}
	m.record(EventKind(state), g.ID, "")
}

// dropPeer removes the guest's media connection, which is closed after the lock is
// released. The caller holds the lock.
func (m *Meeting) dropPeer(g *guest) {
	if g.peer == nil {
		return
	}
	m.dropped = append(m.dropped, g.peer)
	g.peer = nil
	if g.MediaConnected {
		g.MediaConnected = false
		m.record(EventMediaLost, g.ID, "")
	}
}

// admitOrQueue moves a guest to the next state after it asked to join.
func (m *Meeting) admitOrQueue(g *guest) {
	switch {
	case g.host:
		m.setState(g, StateAdmitted)
	case m.hostAbsent:
		m.setState(g, StateWaitingForHost)
	case m.settings.NoLobby:
		m.setState(g, StateAdmitted)
	default:
		m.setState(g, StateLobby)
	}
}
