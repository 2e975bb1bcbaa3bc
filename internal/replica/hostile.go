package replica

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// A hostile meeting's page tries, by every means a page has, to reach what it
// has no business with: other ports of the machine that the bot runs on, under
// each of its names. They are a trap, which tells the meeting what arrived there
// (EventTrapReached). The page says when it has tried everything (EventProbeFinished).

const longestFindings = 16 << 10

// trap is the port that a hostile page must not reach.
type trap struct {
	addresses []string
	http      *http.Server
}

// setTrap returns what the page of a meeting is told to try; the caller holds
// the lock.
func (s *Server) setTrap(m *Meeting) ([]string, error) {
	if s.trap == nil {
		made, err := s.newTrap()
		if err != nil {
			return nil, fmt.Errorf("set a trap: %w", err)
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
	mux.HandleFunc("/trap/{code}", s.sprung)
	made := &trap{http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}}
	for _, host := range []string{"127.0.0.1", "::1"} {
		listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			if host == "127.0.0.1" {
				return nil, err
			}
			s.log.Debug("no trap on IPv6", "error", err) // a machine without it has nothing to protect there
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

// sprung is a request that a page should not have been able to make.
func (s *Server) sprung(w http.ResponseWriter, r *http.Request) {
	if m := s.Meeting(r.PathValue("code")); m != nil {
		_ = m.change(func() error {
			m.record(EventTrapReached, r.URL.Query().Get("guest"), r.URL.Query().Get("by")+" "+r.Host)
			return nil
		})
	}
	w.WriteHeader(http.StatusNoContent)
}

// TrapURL is an address that the page of a hostile meeting must not reach, for
// NavigateAway; empty when the meeting is not hostile.
func (m *Meeting) TrapURL() string {
	if len(m.trap) == 0 {
		return ""
	}
	return m.trap[0] + "?by=wander"
}

// probed is told by a hostile page that has tried everything.
func (m *Meeting) probed(id, findings string) error {
	return m.change(func() error {
		if _, err := m.guest(id); err != nil {
			return err
		}
		if len(m.trap) == 0 {
			return fmt.Errorf("%w: the meeting is not hostile", ErrNotNow)
		}
		if len(findings) > longestFindings {
			return fmt.Errorf("%w: findings of %d bytes", ErrTooLong, len(findings))
		}
		m.record(EventProbeFinished, id, findings)
		return nil
	})
}
