package replica

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"
)

// Admit admits guests from the lobby: those with the given IDs, or all. This and the
// following methods return how many guests changed their state. Guests in other
// states are not changed.
func (m *Meeting) Admit(guests ...string) int {
	return m.move(StateAdmitted, guests, StateLobby)
}

// Deny denies guests who wait for the host or in the lobby.
func (m *Meeting) Deny(guests ...string) int {
	return m.move(StateDenied, guests, StateLobby, StateWaitingForHost)
}

// LobbyTimeout ends the wait of guests because nobody responded.
func (m *Meeting) LobbyTimeout(guests ...string) int {
	return m.move(StateLobbyTimeout, guests, StateLobby, StateWaitingForHost)
}

// Remove removes admitted guests from the meeting.
func (m *Meeting) Remove(guests ...string) int {
	return m.move(StateRemoved, guests, StateAdmitted)
}

// Block shows guests in any state that they cannot be connected.
func (m *Meeting) Block(guests ...string) int {
	return m.move(StateBlocked, guests, StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted)
}

// End ends the meeting for everyone. Pages that open it later show StateNotFound.
func (m *Meeting) End() int {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	return m.move(StateEnded, nil, StatePreJoin, StateWaitingForHost, StateLobby, StateAdmitted)
}

// HostArrives moves guests who wait for the host to the lobby, or into the meeting
// if it has no lobby.
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

// move changes the state of the given guests, or all, if they are in one of the states.
func (m *Meeting) move(to State, names []string, from ...State) int {
	return m.updateGuests(names, from, func(g *guest) bool {
		m.setState(g, to)
		return true
	})
}

// Join adds a participant.
func (m *Meeting) Join(settings Participant) error {
	if err := settings.check(); err != nil {
		return err
	}
	return m.change(func() error {
		if len(m.participants) >= maxParticipants {
			return fmt.Errorf("%w: %d participants", ErrFull, len(m.participants))
		}
		m.addParticipant(settings)
		return nil
	})
}

// Leave removes the first participant with the name, or all participants if the name
// is empty.
func (m *Meeting) Leave(name string) error {
	return m.change(func() error {
		leaving := slices.Clone(m.participants)
		if name != "" {
			p, err := m.participant(name)
			if err != nil {
				return err
			}
			leaving = []*participant{p}
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

// SetPresenting starts or stops the presentation of a participant.
func (m *Meeting) SetPresenting(name string, presenting bool) error {
	return m.updateParticipant(name, func(p *participant) { p.Presenting = presenting })
}

func (m *Meeting) updateParticipant(name string, apply func(*participant)) error {
	return m.change(func() error {
		p, err := m.participant(name)
		if err != nil {
			return err
		}
		apply(p)
		return nil
	})
}

// Speak lets a participant say something, once, instead of its usual sound: samples at
// 48 kHz. It returns when that begins.
func (m *Meeting) Speak(ctx context.Context, name string, samples []int16) (begins time.Time, err error) {
	folder, err := os.MkdirTemp("", "standin-replica-")
	if err != nil {
		return time.Time{}, fmt.Errorf("make a folder for speech: %w", err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "speech.ogg")
	if err := encodeSamples(ctx, samples, path); err != nil {
		return time.Time{}, fmt.Errorf("encode speech: %w", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, fmt.Errorf("read speech: %w", err)
	}
	packets, _, err := readPackets(bytes.NewReader(content))
	if err != nil {
		return time.Time{}, fmt.Errorf("read speech: %w", err)
	}
	return m.speakPackets(name, packets)
}

// speakPackets lets a participant say packets, once.
func (m *Meeting) speakPackets(name string, packets [][]byte) (begins time.Time, err error) {
	err = m.updateParticipant(name, func(p *participant) {
		loop := p.publisher.source.audio
		from := loop.unitAt(m.clock.now()) + 2 // the next may be sent just now
		p.publisher.speech.Store(&speech{from, packets})
		begins = m.clock.start.Add(loop.position(from))
	})
	return begins, err
}

// Say adds a chat message.
func (m *Meeting) Say(from, text string) error {
	return m.change(func() error { return m.say(from, "", text) })
}

func (m *Meeting) say(from, guest, text string) error {
	if length := utf8.RuneCountInString(text); length < 1 || length > m.platform.maxMessageLen {
		return fmt.Errorf("%w: %d characters where 1 to %d are allowed", ErrTooLong, length, m.platform.maxMessageLen)
	}
	number := 1
	if len(m.messages) >= maxMessages {
		m.messages = slices.Delete(m.messages, 0, maxMessages/10)
	}
	if len(m.messages) > 0 {
		number = m.messages[len(m.messages)-1].Number + 1
	}
	m.messages = append(m.messages, Message{Number: number, From: from, Text: text, Guest: guest})
	return nil
}

// Notify shows a notice to all admitted guests and to those admitted later.
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
