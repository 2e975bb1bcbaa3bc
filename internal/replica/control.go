package replica

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// Admit lets the named guests in from the lobby, or, with no name, all who wait
// there. This and the verbs below return how many guests they moved; a guest in
// another state is not moved.
func (m *Meeting) Admit(guests ...string) int {
	return m.move(StateAdmitted, guests, StateLobby)
}

// Deny turns guests away who wait for the host or in the lobby.
func (m *Meeting) Deny(guests ...string) int {
	return m.move(StateDenied, guests, StateLobby, StateWaitingForHost)
}

// LobbyTimeout ends a wait that nobody answered.
func (m *Meeting) LobbyTimeout(guests ...string) int {
	return m.move(StateLobbyTimeout, guests, StateLobby, StateWaitingForHost)
}

// Remove puts admitted guests out of the meeting.
func (m *Meeting) Remove(guests ...string) int {
	return m.move(StateRemoved, guests, StateAdmitted)
}

// Block shows guests that they cannot be connected, wherever they are.
func (m *Meeting) Block(guests ...string) int {
	return m.move(StateBlocked, guests, StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted)
}

// End ends the meeting for everyone; who opens it afterwards finds no meeting.
func (m *Meeting) End() int {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	return m.move(StateEnded, nil, StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted)
}

// HostArrives takes guests who wait for the host on to the lobby, or in if there
// is none.
func (m *Meeting) HostArrives() int {
	moved := 0
	_ = m.change(func() error {
		m.hostAbsent = false
		for _, g := range m.guests {
			if g.State == StateWaitingForHost {
				m.admitOrQueue(g)
				moved++
			}
		}
		return nil
	})
	return moved
}

// move brings the named guests, or all, from one of some states to another.
func (m *Meeting) move(to State, names []string, from ...State) int {
	return m.each(names, from, func(g *guest) bool {
		m.enter(g, to)
		return true
	})
}

// Join adds a participant to the running meeting.
func (m *Meeting) Join(settings Participant) error {
	if err := settings.check(); err != nil {
		return err
	}
	return m.change(func() error {
		if len(m.participants) >= largestRoster {
			return fmt.Errorf("%w: %d participants", ErrFull, len(m.participants))
		}
		m.addParticipant(settings)
		return nil
	})
}

// Leave takes the first participant of that name out of the meeting; with an
// empty name, all of them, so that guests are alone.
func (m *Meeting) Leave(name string) error {
	return m.change(func() error {
		leaving := slices.Clone(m.participants)
		if name != "" {
			one, err := m.participant(name)
			if err != nil {
				return err
			}
			leaving = []*participant{one}
		}
		for _, p := range leaving {
			m.participants = slices.DeleteFunc(m.participants, func(other *participant) bool { return other == p })
			for _, g := range m.guests {
				if g.peer != nil {
					g.peer.withdraw(p.publisher.id)
				}
			}
		}
		return nil
	})
}

// SetMuted stops or starts the sound of the first participant of that name.
func (m *Meeting) SetMuted(name string, muted bool) error {
	return m.change(func() error {
		p, err := m.participant(name)
		if err != nil {
			return err
		}
		p.Muted = muted
		p.publisher.soundOn.Store(!muted)
		return nil
	})
}

// SetCameraOff stops or starts the picture of the first participant of that
// name.
func (m *Meeting) SetCameraOff(name string, off bool) error {
	return m.change(func() error {
		p, err := m.participant(name)
		if err != nil {
			return err
		}
		p.CameraOff = off
		p.publisher.pictureOn.Store(!off)
		return nil
	})
}

// Say writes to the chat in somebody's name.
func (m *Meeting) Say(from, text string) error {
	return m.change(func() error { return m.say(from, "", text) })
}

func (m *Meeting) say(from, guest, text string) error {
	if length := utf8.RuneCountInString(text); length < 1 || length > m.platform.longestMessage {
		return fmt.Errorf("%w: %d characters where 1 to %d are allowed", ErrTooLong, length, m.platform.longestMessage)
	}
	if len(m.messages) >= mostMessages {
		return fmt.Errorf("%w: %d messages", ErrFull, len(m.messages))
	}
	m.messages = append(m.messages, Message{Number: len(m.messages) + 1, From: from, Text: text, Guest: guest})
	return nil
}

// Notify shows a notice to every admitted guest, and to those who come later.
func (m *Meeting) Notify(notice Notice) error {
	return m.change(func() error {
		if !slices.Contains(m.platform.notices, notice) {
			return fmt.Errorf("%w: unknown notice %q", ErrNotNow, notice)
		}
		if !slices.Contains(m.settings.Notices, notice) {
			m.settings.Notices = append(slices.Clone(m.settings.Notices), notice)
		}
		for _, g := range m.guests {
			if g.State == StateAdmitted && !slices.Contains(g.notices, notice) {
				g.notices = append(g.notices, notice)
			}
		}
		return nil
	})
}
