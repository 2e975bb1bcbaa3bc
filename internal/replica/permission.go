package replica

import "fmt"

// Permission is how a guest's request to record stands, on the platform whose
// page has such a request (Zoom).
type Permission string

// The answers to a request, and what comes before.
const (
	PermissionNone    Permission = ""
	PermissionAsked   Permission = "asked"
	PermissionGranted Permission = "granted"
	PermissionDenied  Permission = "denied"
)

// requestPermission is the page's own request to the host; one that was denied
// may be made again.
func (m *Meeting) requestPermission(id string) error {
	return m.change(func() error {
		g, err := m.present(id)
		if err != nil {
			return err
		}
		if !m.platform.permission {
			return fmt.Errorf("%w: the page of %s has no request to record", ErrNotNow, m.settings.Platform)
		}
		if g.Permission == PermissionAsked || g.Permission == PermissionGranted {
			return fmt.Errorf("%w: the request was %s already", ErrNotNow, g.Permission)
		}
		g.Permission = PermissionAsked
		m.record(EventPermissionAsked, id, "")
		return nil
	})
}

// AnswerPermission is the host's answer to all who asked to record; it returns
// to how many.
func (m *Meeting) AnswerPermission(granted bool) int {
	return m.each(nil, []State{StateAdmitted}, func(g *guest) bool {
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
