package replica

import (
	"fmt"
	"net/url"
	"slices"
)

// This file holds the verbs by which things go wrong: for a page, or for the
// sound of the meeting.

// orders are what a page must do to itself; each counts how often it was given.
type orders struct {
	Freeze       int    `json:"freeze"`
	Reload       int    `json:"reload"`
	NavigateAway int    `json:"wander"`
	WanderTo     string `json:"wanderTo"`
}

// each applies a change to the named guests, or all, who stand in one of some
// states, and returns how many it changed; apply tells whether it did.
func (m *Meeting) each(names []string, states []State, apply func(*guest) bool) int {
	changed := 0
	_ = m.change(func() error {
		for _, g := range m.guests {
			named := len(names) == 0 || slices.Contains(names, g.ID)
			if named && slices.Contains(states, g.State) && apply(g) {
				changed++
			}
		}
		return nil
	})
	return changed
}

// joining are the states of a guest that asked to join and was not sent away.
func joining() []State { return []State{StateWaitingForHost, StateLobby, StateAdmitted} }

func visiting() []State { return append(joining(), StatePreJoin) }

// Disconnect takes the meeting away from pages: their media end, and they show
// that they try to reconnect, until Reconnect.
func (m *Meeting) Disconnect(guests ...string) int {
	return m.each(guests, joining(), func(g *guest) bool {
		if g.Offline {
			return false
		}
		g.Offline = true
		m.dropPeer(g)
		m.record(EventDisconnected, g.ID, "")
		return true
	})
}

// Reconnect gives pages the meeting back, and their media.
func (m *Meeting) Reconnect(guests ...string) int {
	return m.each(guests, joining(), func(g *guest) bool {
		if !g.Offline {
			return false
		}
		g.Offline = false
		m.record(EventReconnected, g.ID, "")
		return true
	})
}

// DropMedia cuts the media connection of guests; their pages connect anew.
func (m *Meeting) DropMedia(guests ...string) int {
	return m.each(guests, []State{StateAdmitted}, func(g *guest) bool {
		if g.peer == nil {
			return false
		}
		m.dropPeer(g)
		return true
	})
}

// Reload has pages load themselves anew; each is another guest then.
func (m *Meeting) Reload(guests ...string) int {
	return m.each(guests, visiting(), func(g *guest) bool {
		g.orders.Reload++
		m.record(EventReloading, g.ID, "")
		return true
	})
}

// Freeze sends pages into a loop without end: whoever asks such a page anything
// gets no answer.
func (m *Meeting) Freeze(guests ...string) int {
	return m.each(guests, visiting(), func(g *guest) bool {
		g.orders.Freeze++
		return true
	})
}

// NavigateAway has pages go to another address by themselves.
func (m *Meeting) NavigateAway(address string, guests ...string) (int, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return 0, fmt.Errorf("%w: %q is no address of a page", ErrNotNow, address)
	}
	return m.each(guests, visiting(), func(g *guest) bool {
		g.orders.NavigateAway++
		g.orders.WanderTo = address
		return true
	}), nil
}

// MuteAll mutes every participant and returns how many were not muted.
func (m *Meeting) MuteAll() int {
	muted := 0
	_ = m.change(func() error {
		for _, p := range m.participants {
			if !p.Muted {
				p.Muted = true
				p.publisher.soundOn.Store(false)
				muted++
			}
		}
		return nil
	})
	return muted
}

// SetSilent has everybody send silence in place of sound, though nobody is muted;
// SetSilent(false) brings the sound back.
func (m *Meeting) SetSilent(silent bool) {
	_ = m.change(func() error {
		m.silent = silent
		for _, p := range m.participants {
			p.publisher.silent.Store(silent)
		}
		return nil
	})
}
