package replica

import "fmt"

// Permission is the state of a guest's request to record. Only Zoom has such
// requests.
type Permission string

// The states of a request.
const (
	PermissionNone    Permission = ""
	PermissionAsked   Permission = "asked"
	PermissionGranted Permission = "granted"
	PermissionDenied  Permission = "denied"
)

// requestPermission asks the host for permission to record. A denied request may be
// repeated.
func (m *Meeting) requestPermission(id string) error {
	return m.change(func() error {
		g, err := m.connectedGuest(id)
		if err != nil {
			return err
		}
		if !m.platform.permission {
			return fmt.Errorf("%w: %s has no requests to record", ErrNotNow, m.settings.Platform)
		}
		if g.Permission == PermissionAsked || g.Permission == PermissionGranted {
			return fmt.Errorf("%w: the request is already %s", ErrNotNow, g.Permission)
		}
		g.Permission = PermissionAsked
		m.record(EventPermissionAsked, id, "")
		return nil
	})
}

// AnswerPermission grants or denies all open requests and returns their number.
func (m *Meeting) AnswerPermission(granted bool) int {
	return m.updateGuests(nil, []State{StateAdmitted}, func(g *guest) bool {
		if g.Permission != PermissionAsked {
			return false
		}
		g.Permission = PermissionDenied
		if granted {
			g.Permission = PermissionGranted
		}
		return true
	})
}
