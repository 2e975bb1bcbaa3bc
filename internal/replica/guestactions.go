package replica

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// arrivingPage describes a page that was just loaded.
type arrivingPage struct {
	passcode string // in its URL
	signedIn bool   // has the session cookie
	language string // of the browser if it is supported
	hostKey  string
}

// addGuest adds a guest for a page.
func (m *Meeting) addGuest(from arrivingPage) (id string, err error) {
	err = m.change(func() error {
		if len(m.guests) >= maxGuests {
			return fmt.Errorf("%w: %d guests", ErrFull, len(m.guests))
		}
		id = fmt.Sprintf("g%d", len(m.guests)+1)
		host := m.settings.HostKey != "" && subtle.ConstantTimeCompare([]byte(from.hostKey), []byte(m.settings.HostKey)) == 1
		if host {
			id += "-" + rand.Text() // nobody else can act as this guest
		}
		g := &guest{Guest: Guest{ID: id, State: StatePreJoin}, language: m.languageFor(from.language), host: host}
		m.guests = append(m.guests, g)
		m.record(EventOpened, id, "")
		ignored := m.settings.Refusal == RefusalSignIn && m.settings.SignInCookie && from.signedIn
		switch {
		case m.ended:
			m.setState(g, StateNotFound)
		case m.settings.Refusal != NoRefusal && !ignored:
			m.setState(g, State(m.settings.Refusal))
		case from.passcode == "" && m.settings.Passcode != "":
			g.passcode = passcodeNeeded
		default:
			m.tryPasscode(g, from.passcode)
		}
		return nil
	})
	return id, err
}

// languageFor returns the language of the page for a browser.
func (m *Meeting) languageFor(asked string) string {
	if asked != "" && m.platform.browserLanguage {
		return asked
	}
	return m.settings.Language
}

// givePasscode checks a passcode that was entered in the page.
func (m *Meeting) givePasscode(id, passcode string) error {
	return m.change(func() error {
		g, err := m.guestIn(id, StatePreJoin)
		if err != nil {
			return err
		}
		m.tryPasscode(g, passcode)
		return nil
	})
}

// tryPasscode checks a passcode. The caller holds the lock.
func (m *Meeting) tryPasscode(g *guest, passcode string) {
	switch {
	case m.settings.Passcode == "" || subtle.ConstantTimeCompare([]byte(passcode), []byte(m.settings.Passcode)) == 1:
		g.passcode = passcodeSettled
	case m.settings.Platform == Teams:
		m.setState(g, StateNotFound) // its page reports an incorrect URL
	default:
		g.passcode = passcodeWrong
	}
}

// streamOpened and streamClosed track the event streams of a page. A page without a
// stream has vanished.
func (m *Meeting) streamOpened(id string) error {
	return m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		g.streams++
		g.Vanished = false
		return nil
	})
}

func (m *Meeting) streamClosed(id string) {
	_ = m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		g.streams--
		if g.streams == 0 && g.State.isActive() && !m.ended {
			g.Vanished = true
			m.dropPeer(g)
			m.record(EventVanished, id, "")
		}
		return nil
	})
}

// requestJoin handles a request to join with a name. With a wrong passcode, the state
// does not change.
func (m *Meeting) requestJoin(id, name, passcode string) error {
	name = strings.TrimSpace(name)
	if length := utf8.RuneCountInString(name); length < 1 || length > m.platform.maxNameLen {
		return fmt.Errorf("%w: name of %d characters, want 1 to %d", ErrTooLong, length, m.platform.maxNameLen)
	}
	return m.change(func() error {
		g, err := m.guestIn(id, StatePreJoin)
		if err != nil {
			return err
		}
		if g.passcode != passcodeSettled {
			if passcode == "" {
				return fmt.Errorf("%w: the passcode is missing", ErrNotNow)
			}
			if m.tryPasscode(g, passcode); g.passcode != passcodeSettled || g.State != StatePreJoin {
				return nil
			}
		}
		g.Name = name
		m.admitOrQueue(g)
		return nil
	})
}

// setDevices sets the state of microphone, camera and shared screen.
func (m *Meeting) setDevices(id string, microphone, camera, screen bool) error {
	return m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		text := map[bool]string{true: "on", false: "off"}
		if g.Microphone != microphone {
			g.Microphone = microphone
			m.record(EventMicrophone, id, text[microphone])
		}
		if g.Camera != camera {
			g.Camera = camera
			m.record(EventCamera, id, text[camera])
		}
		if g.Sharing != screen {
			g.Sharing = screen
			m.record(EventSharing, id, text[screen])
		}
		return nil
	})
}

// leave handles the leave button.
func (m *Meeting) leave(id string) error {
	return m.change(func() error {
		g, err := m.guestIn(id, StateWaitingForHost, StateLobby, StateAdmitted)
		if err != nil {
			return err
		}
		m.setState(g, StateLeft)
		return nil
	})
}

// sendChat adds a chat message of a guest.
func (m *Meeting) sendChat(id, text string) error {
	return m.change(func() error {
		g, err := m.connectedGuest(id)
		if err != nil {
			return err
		}
		if err := m.say(g.Name, id, text); err != nil {
			return err
		}
		m.record(EventChat, id, text)
		return nil
	})
}

// acceptNotice closes a notice.
func (m *Meeting) acceptNotice(id string, notice Notice) error {
	return m.change(func() error {
		g, err := m.guestIn(id, StateAdmitted)
		if err != nil {
			return err
		}
		if !slices.Contains(g.notices, notice) {
			return fmt.Errorf("%w: notice %q is not shown", ErrNotNow, notice)
		}
		g.notices = slices.DeleteFunc(g.notices, func(shown Notice) bool { return shown == notice })
		m.record(EventNoticeAccepted, id, string(notice))
		return nil
	})
}

// pin pins a participant in the guest's view.
func (m *Meeting) pin(id, participant string) error {
	return m.change(func() error {
		g, err := m.connectedGuest(id)
		if err != nil {
			return err
		}
		for _, one := range m.roster(g) {
			if one.ID == participant {
				m.record(EventPinned, id, one.Name)
				return nil
			}
		}
		return fmt.Errorf("%w: %q", ErrNoSuchParticipant, participant)
	})
}

// connectedGuest returns a guest that is admitted and not offline.
func (m *Meeting) connectedGuest(id string) (*guest, error) {
	g, err := m.guestIn(id, StateAdmitted)
	if err != nil {
		return nil, err
	}
	if g.Offline {
		return nil, fmt.Errorf("%w: guest %s is offline", ErrNotNow, id)
	}
	return g, nil
}

// guestIn returns a guest that is in one of the states.
func (m *Meeting) guestIn(id string, states ...State) (*guest, error) {
	g, err := m.guest(id)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(states, g.State) {
		return nil, fmt.Errorf("%w: guest %s is in state %s", ErrNotNow, id, g.State)
	}
	return g, nil
}

// offer is a page's request for media: its session description, the participants for
// which it has transceivers, and the number of its connection, or 0 for a new one.
type offer struct {
	Description  string   `json:"description"`
	Participants []string `json:"participants"`
	// Sent names the media that the page sends, by the mid: microphone, camera or screen.
	Sent       map[string]string `json:"sent"`
	Connection int               `json:"connection"`
}

// connect answers an offer and returns the number of the connection.
func (m *Meeting) connect(ctx context.Context, id string, from offer) (answer string, connection int, err error) {
	var p *peer
	var publishers []*publisher
	err = m.change(func() error {
		g, err := m.connectedGuest(id)
		if err != nil {
			return err
		}
		if m.ended || !m.hasMedia() {
			return fmt.Errorf("%w: the meeting has no media", ErrNotNow)
		}
		if p, err = m.peerFor(g, from.Connection); err != nil {
			return err
		}
		for _, one := range m.participants {
			if slices.Contains(from.Participants, one.publisher.id) {
				publishers = append(publishers, one.publisher)
			}
		}
		return nil
	})
	if err != nil {
		return "", 0, err
	}
	if err := m.relayTo(p, id, from.Participants); err != nil {
		return "", 0, err
	}
	answer, err = p.answer(ctx, from.Description, from.Sent, publishers)
	if err != nil {
		return "", 0, fmt.Errorf("connect media of guest %s: %w", id, err)
	}
	return answer, p.number, nil
}

// peerFor returns the guest's connection with the number, or a new one for 0. The
// caller holds the lock.
func (m *Meeting) peerFor(g *guest, number int) (*peer, error) {
	if number != 0 {
		if g.peer == nil || g.peer.number != number {
			return nil, fmt.Errorf("%w: media connection %d is closed", ErrNotNow, number)
		}
		return g.peer, nil
	}
	m.dropPeer(g)
	m.idCount++
	number = m.idCount
	made, err := newPeer(number, m.api, m.clock, m.log,
		func(state webrtc.PeerConnectionState) { m.mediaState(g, number, state) },
		func(medium string, packet *rtp.Packet, level uint8) { m.receive(g, medium, packet, level) })
	if err != nil {
		return nil, err
	}
	g.peer = made
	return made, nil
}

// mediaState handles a state change of the guest's connection.
func (m *Meeting) mediaState(g *guest, number int, state webrtc.PeerConnectionState) {
	_ = m.change(func() error {
		if g.peer == nil || g.peer.number != number {
			return nil
		}
		switch state {
		case webrtc.PeerConnectionStateConnected:
			if !g.MediaConnected {
				g.MediaConnected = true
				m.record(EventMediaConnected, g.ID, "")
			}
		case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
			m.dropPeer(g)
		}
		return nil
	})
}
