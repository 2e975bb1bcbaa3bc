package launchtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is the API of a fake engine.
type Server struct {
	*httptest.Server

	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request) bool
}

// Serve serves an API until the test ends.
func Serve(t *testing.T, api http.Handler) *Server {
	t.Helper()
	s := new(Server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		fault := s.fault
		s.mu.Unlock()
		if fault == nil || !fault(w, r) {
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// SetFault installs a handler that is called before the API; it returns whether it
// responded.
func (s *Server) SetFault(fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Respond writes a response in JSON.
func Respond(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

// Lost returns a response that is lost.
func Lost() http.ResponseWriter { return httptest.NewRecorder() }
