package replica

import (
	"slices"
	"time"
)

// State is where a guest stands.
type State string

// The states of a guest. Those from StateDenied on are final for the page; to
// try again, a guest opens the meeting anew and is then another guest.
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

// isHere tells the states in which a page takes part in the meeting or asks to.
func (s State) isHere() bool {
	return slices.Contains([]State{StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted}, s)
}

// Guest is a page that visits the meeting, as the control surface shows it.
type Guest struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"` // empty until the guest asked to join
	State      State     `json:"state"`
	Since      time.Time `json:"since"` // when it came to this state
	Microphone bool      `json:"microphone"`
	Camera     bool      `json:"camera"`
	// Vanished is set while the page is gone though the guest never left: a
	// closed tab, a killed browser, a reload. Leaving by the button is StateLeft.
	Vanished bool `json:"vanished"`
	// Offline is set while the page has lost its connection to the meeting.
	Offline bool `json:"offline"`
	// Permission is how the guest's own request to record stands (Zoom).
	Permission Permission `json:"permission"`
	// MediaConnected is set while the page receives the participants' media.
	MediaConnected bool `json:"mediaConnected"`
}

// guest is what the meeting keeps of a page.
type guest struct {
	Guest
	lobbySince time.Time
	language   string       // that the page speaks
	passcode   passcodeNeed // what the page must ask for
	streams    int          // event streams that the page holds open
	notices    []Notice     // not yet accepted
	orders     orders
	peer       *peer // nil while no media flow
}

// passcodeNeed tells a page whether to ask for the passcode.
type passcodeNeed string

const (
	passcodeSettled passcodeNeed = "" // none is needed, or the right one was given
	passcodeNeeded  passcodeNeed = "needed"
	passcodeWrong   passcodeNeed = "wrong"
)

// enter moves a guest to a state; the caller holds the lock.
func (m *Meeting) enter(g *guest, state State) {
	now := time.Now()
	g.State, g.Since, g.Offline = state, now, false
	switch state {
	case StateLobby:
		g.lobbySince = now
	case StateAdmitted:
		g.notices = slices.Clone(m.settings.Notices)
	default:
		m.dropPeer(g)
	}
	m.record(EventKind(state), g.ID, "")
}

// dropPeer takes the guest's media away; the caller holds the lock, and the
// connection is closed once it is free.
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

// admitOrQueue takes a guest past the host's absence: to the lobby, or in.
func (m *Meeting) admitOrQueue(g *guest) {
	switch {
	case m.hostAbsent:
		m.enter(g, StateWaitingForHost)
	case m.settings.NoLobby:
		m.enter(g, StateAdmitted)
	default:
		m.enter(g, StateLobby)
	}
}
