package replica

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The page of a hostile meeting attempts to connect to other ports of this machine.
// A trap server listens there and records each request as an EventTrapReached. The
// page reports when it has made all attempts (EventProbeFinished).

const maxFindingsBytes = 16 << 10

// trap is a server that hostile pages must not reach.
type trap struct {
	addresses []string
	http      *http.Server
}

// trapURLs starts the trap server and returns the URLs for the page of a meeting. The
// caller holds the lock.
func (s *Server) trapURLs(m *Meeting) ([]string, error) {
	if s.trap == nil {
		made, err := s.newTrap()
		if err != nil {
			return nil, fmt.Errorf("start the trap server: %w", err)
		}
		s.trap = made
	}
	var targets []string
	for _, address := range s.trap.addresses {
		targets = append(targets, "http://"+address+"/trap/"+m.settings.Code)
	}
	return targets, nil
}

func (s *Server) newTrap() (*trap, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/trap/{code}", s.handleTrap)
	made := &trap{http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	for _, host := range []string{"127.0.0.1", "::1"} {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			if host == "127.0.0.1" {
				return nil, err
			}
			s.log.Debug("no trap server on IPv6", "error", err) // this machine has no IPv6
			continue
		}
		made.addresses = append(made.addresses, listener.Addr().String())
		if host == "127.0.0.1" {
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			made.addresses = append(made.addresses, net.JoinHostPort("localhost", port))
		}
		s.tasks.Go(func() { _ = made.http.Serve(listener) }) // ends with the server's Close
	}
	return made, nil
}

// handleTrap records a request that a page should not be able to make.
func (s *Server) handleTrap(w http.ResponseWriter, r *http.Request) {
	if m := s.Meeting(r.PathValue("code")); m != nil {
		_ = m.change(func() error {
			m.record(EventTrapReached, r.URL.Query().Get("guest"), r.URL.Query().Get("by")+" "+r.Host)
			return nil
		})
	}
	w.WriteHeader(http.StatusNoContent)
}

// TrapURL returns a URL of the trap server for NavigateAway, or "" if the meeting is
// not hostile.
func (m *Meeting) TrapURL() string {
	if len(m.trap) == 0 {
		return ""
	}
	return m.trap[0] + "?by=wander"
}

// probeFinished records the findings of a hostile page.
func (m *Meeting) probeFinished(id, findings string) error {
	return m.change(func() error {
		if _, err := m.guest(id); err != nil {
			return err
		}
		if len(m.trap) == 0 {
			return fmt.Errorf("%w: the meeting is not hostile", ErrNotNow)
		}
		if len(findings) > maxFindingsBytes {
			return fmt.Errorf("%w: findings of %d bytes", ErrTooLong, len(findings))
		}
		m.record(EventProbeFinished, id, findings)
		return nil
	})
}
