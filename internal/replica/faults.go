package replica

import (
	"fmt"
	"net/url"
	"slices"
)

// commands make a page disturb itself. Each field counts the commands given so far.
type commands struct {
	Freeze     int    `json:"freeze"`
	Reload     int    `json:"reload"`
	Mute       int    `json:"mute"`
	Hide       int    `json:"hide"`
	Navigate   int    `json:"navigate"`
	NavigateTo string `json:"navigateTo"`
}

// updateGuests calls apply for the given guests, or all, if they are in one of the
// states. It returns for how many apply returned true.
func (m *Meeting) updateGuests(names []string, states []State, apply func(*guest) bool) int {
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

// joining returns the states of guests that have asked to join.
func joining() []State { return []State{StateWaitingForHost, StateLobby, StateAdmitted} }

func visiting() []State { return append(joining(), StatePreJoin) }

// Disconnect disconnects pages until Reconnect: their media ends, and they show that
// they reconnect.
func (m *Meeting) Disconnect(guests ...string) int {
	return m.updateGuests(guests, joining(), func(g *guest) bool {
		if g.Offline {
			return false
		}
		g.Offline = true
		m.dropPeer(g)
		m.record(EventDisconnected, g.ID, "")
		return true
	})
}

// Reconnect ends the effect of Disconnect.
func (m *Meeting) Reconnect(guests ...string) int {
	return m.updateGuests(guests, joining(), func(g *guest) bool {
		if !g.Offline {
			return false
		}
		g.Offline = false
		m.record(EventReconnected, g.ID, "")
		return true
	})
}

// Reload makes pages reload. Each becomes a new guest.
func (m *Meeting) Reload(guests ...string) int {
	return m.updateGuests(guests, visiting(), func(g *guest) bool {
		g.commands.Reload++
		m.record(EventReloading, g.ID, "")
		return true
	})
}

// Freeze blocks the scripts of pages, so that they do not respond.
func (m *Meeting) Freeze(guests ...string) int {
	return m.updateGuests(guests, visiting(), func(g *guest) bool {
		g.commands.Freeze++
		return true
	})
}

// MuteGuests turns the microphones of guests off, as a host does.
func (m *Meeting) MuteGuests(guests ...string) int {
	return m.updateGuests(guests, []State{StateAdmitted}, func(g *guest) bool {
		g.commands.Mute++
		return true
	})
}

// HideGuests turns the cameras of guests off and ends their screen shares, as a host does.
func (m *Meeting) HideGuests(guests ...string) int {
	return m.updateGuests(guests, []State{StateAdmitted}, func(g *guest) bool {
		g.commands.Hide++
		return true
	})
}

// NavigateAway makes pages navigate to another address.
func (m *Meeting) NavigateAway(address string, guests ...string) (int, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return 0, fmt.Errorf("%w: %q is not an HTTP address", ErrNotNow, address)
	}
	return m.updateGuests(guests, visiting(), func(g *guest) bool {
		g.commands.Navigate++
		g.commands.NavigateTo = address
		return true
	}), nil
}

// SetSilent makes all participants send silence although they are not muted, or ends
// that.
func (m *Meeting) SetSilent(silent bool) {
	_ = m.change(func() error {
		m.silent = silent
		for _, p := range m.participants {
			p.publisher.silent.Store(silent)
		}
		return nil
	})
}
