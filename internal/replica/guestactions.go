package replica

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pion/webrtc/v4"
)

// This file is what a page can do: the meeting as a guest sees it.

// arrival is what a page brings along when it was just loaded.
type arrival struct {
	passcode string // of its address
	signedIn bool   // by the browser's cookie
	language string // that the browser asks for: one that pages speak, or empty
}

// open makes a guest of a page.
func (m *Meeting) open(from arrival) (id string, err error) {
	err = m.change(func() error {
		if len(m.guests) >= mostGuests {
			return fmt.Errorf("%w: %d guests", ErrFull, len(m.guests))
		}
		id = fmt.Sprintf("g%d", len(m.guests)+1)
		g := &guest{Guest: Guest{ID: id, State: StatePreJoin}, language: m.languageFor(from.language)}
		m.guests = append(m.guests, g)
		m.record(EventOpened, id, "")
		lifted := m.settings.Refusal == RefusalSignIn && m.settings.SignInCookie && from.signedIn
		switch {
		case m.ended:
			m.enter(g, StateNotFound)
		case m.settings.Refusal != NoRefusal && !lifted:
			m.enter(g, State(m.settings.Refusal))
		case from.passcode == "" && m.settings.Passcode != "":
			g.passcode = passcodeNeeded
		default:
			m.tryPasscode(g, from.passcode)
		}
		return nil
	})
	return id, err
}

// languageFor is what a page speaks to a browser that asks for a language.
func (m *Meeting) languageFor(asked string) string {
	if asked != "" && m.platform.browsersLanguage {
		return asked
	}
	return m.settings.Language
}

// givePasscode is what was typed into the page's field.
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

// tryPasscode holds a passcode against the meeting's; the caller holds the lock.
func (m *Meeting) tryPasscode(g *guest, passcode string) {
	switch {
	case m.settings.Passcode == "" || subtle.ConstantTimeCompare([]byte(passcode), []byte(m.settings.Passcode)) == 1:
		g.passcode = passcodeSettled
	case m.settings.Platform == Teams:
		m.enter(g, StateNotFound) // its page says no more than that the address is incorrect
	default:
		g.passcode = passcodeWrong
	}
}

// attach and detach follow the event stream of a page: a page without one is
// gone, whatever became of it.
func (m *Meeting) attach(id string) error {
	return m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		g.streams++
		if g.Vanished {
			g.Vanished = false
			m.record(EventReturned, id, "")
		}
		return nil
	})
}

func (m *Meeting) detach(id string) {
	_ = m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		g.streams--
		if g.streams == 0 && g.State.isHere() && !m.ended {
			g.Vanished = true
			m.dropPeer(g)
			m.record(EventVanished, id, "")
		}
		return nil
	})
}

// ask is a guest's request to join under a name; a passcode that comes with it
// is tried first, and a wrong one leaves the guest where it is.
func (m *Meeting) ask(id, name, passcode string) error {
	name = strings.TrimSpace(name)
	if length := utf8.RuneCountInString(name); length < 1 || length > m.platform.longestName {
		return fmt.Errorf("%w: name of %d characters where 1 to %d are allowed", ErrTooLong, length, m.platform.longestName)
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

// setDevices notes what the page's microphone and camera buttons say.
func (m *Meeting) setDevices(id string, microphone, camera bool) error {
	return m.change(func() error {
		g, err := m.guest(id)
		if err != nil {
			return err
		}
		word := map[bool]string{true: "on", false: "off"}
		if g.Microphone != microphone {
			g.Microphone = microphone
			m.record(EventMicrophone, id, word[microphone])
		}
		if g.Camera != camera {
			g.Camera = camera
			m.record(EventCamera, id, word[camera])
		}
		return nil
	})
}

// leave is the Leave call button, in the lobby or in the meeting.
func (m *Meeting) leave(id string) error {
	return m.change(func() error {
		g, err := m.guestIn(id, StateWaitingForHost, StateLobby, StateAdmitted)
		if err != nil {
			return err
		}
		m.enter(g, StateLeft)
		return nil
	})
}

// write is a line of chat from an admitted guest.
func (m *Meeting) write(id, text string) error {
	return m.change(func() error {
		g, err := m.present(id)
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

// accept closes a notice.
func (m *Meeting) accept(id string, notice Notice) error {
	return m.change(func() error {
		g, err := m.guestIn(id, StateAdmitted)
		if err != nil {
			return err
		}
		if !slices.Contains(g.notices, notice) {
			return fmt.Errorf("%w: no notice %q is shown", ErrNotNow, notice)
		}
		g.notices = slices.DeleteFunc(g.notices, func(shown Notice) bool { return shown == notice })
		m.record(EventNoticeAccepted, id, string(notice))
		return nil
	})
}

// pin puts somebody into the foreground of the guest's own view.
func (m *Meeting) pin(id, participant string) error {
	return m.change(func() error {
		g, err := m.present(id)
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

// present returns a guest if it is in the meeting and connected to it.
func (m *Meeting) present(id string) (*guest, error) {
	g, err := m.guestIn(id, StateAdmitted)
	if err != nil {
		return nil, err
	}
	if g.Offline {
		return nil, fmt.Errorf("%w: guest %s has lost its connection", ErrNotNow, id)
	}
	return g, nil
}

// guestIn returns a guest if it stands in one of some states.
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

// offer is a page's request for media: its session description, the
// participants whose tracks it makes room for, and the number of the connection
// it goes on with, 0 for a new one.
type offer struct {
	Description  string   `json:"description"`
	Participants []string `json:"participants"`
	Connection   int      `json:"connection"`
}

// connect answers an offer and names the connection.
func (m *Meeting) connect(ctx context.Context, id string, from offer) (answer string, connection int, err error) {
	var p *peer
	var publishers []*publisher
	err = m.change(func() error {
		g, err := m.present(id)
		if err != nil {
			return err
		}
		if m.ended || m.media == nil {
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
	answer, err = p.answer(ctx, from.Description, publishers)
	if err != nil {
		return "", 0, fmt.Errorf("connect media of guest %s: %w", id, err)
	}
	return answer, p.number, nil
}

// peerFor returns the guest's connection of that number, or a new one; the
// caller holds the lock.
func (m *Meeting) peerFor(g *guest, number int) (*peer, error) {
	if number != 0 {
		if g.peer == nil || g.peer.number != number {
			return nil, fmt.Errorf("%w: media connection %d is over", ErrNotNow, number)
		}
		return g.peer, nil
	}
	m.dropPeer(g)
	m.idCount++
	number = m.idCount
	made, err := newPeer(number, m.api, m.clock, m.log, func(state webrtc.PeerConnectionState) {
		m.mediaState(g, number, state)
	})
	if err != nil {
		return nil, err
	}
	g.peer = made
	return made, nil
}

// mediaState follows what pion says of a connection that is still the guest's.
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
