// Package ingesttest is a fake service for tests of bots: the ingest operations
// over real HTTP, without a database. It keeps its state when it is stopped and
// started again.
//
// The embedded mutex guards the exported fields. Tests read them in Await or under
// the mutex, and change them in Set.
package ingesttest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// Service is the fake service for one attempt of a job.
type Service struct {
	t       testing.TB
	jobID   string
	attempt int
	token   string
	address string
	server  *httptest.Server

	changed chan struct{} // closed and replaced at each change

	sync.Mutex

	// Intercept may respond to a request instead of the service.
	Intercept  func(w http.ResponseWriter, r *http.Request) (done bool)
	Sign       func(ingest.DirectUpload) ingest.SignedUpload // nil: none is signed
	Requests   []string                                      // method and path of each
	Status     job.Status
	Stale      bool           // a newer attempt has replaced this one
	Events     []ingest.Event // applied, in order
	ReceivedAt []time.Time    // when each of them was received
	Duplicates int            // duplicate events received
	Texts      []ingest.Text  // in the order of their first versions
	Media      map[string]string
	Uploads    map[string]int // successful uploads, by name
	Commands   []ingest.Command
	Sounds     map[string][]byte // PCM, by the ID of a command
	Acked      []string
	Failed     map[string]string // why acknowledged commands were not executed
	Executing  []string          // in the last heartbeat
	Heartbeats int

	HeartbeatsInFlight int
	HoldHeartbeats     bool // hold heartbeats that ask for it
	NextSeconds        int
	Stats              ingest.Stats
	Account            ingest.AccountResponse           // that the service lends
	AnswerSAML         func(query string) (page string) // to what Google asks
	Refusals           []string                         // of guests, for which bots asked for an account
	Returned           []signin.State                   // of the account
	Watched            bool                             // pictures of the page are wanted
	Screenshots        [][]byte                         // received
}

// New returns a service that does not listen; use its Handler.
func New(t testing.TB, jobID string, attempt int, token string) *Service {
	return &Service{
		t: t, jobID: jobID, attempt: attempt, token: token,
		changed: make(chan struct{}), Status: job.InMeeting, HoldHeartbeats: true, NextSeconds: 30,
		Sounds: map[string][]byte{}, Media: map[string]string{}, Uploads: map[string]int{}, Failed: map[string]string{},
	}
}

// Start returns a service that listens until the test ends.
func Start(t testing.TB, jobID string, attempt int, token string) *Service {
	t.Helper()
	s := New(t, jobID, attempt, token)
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// Restart listens again on the port of the first start.
func (s *Service) Restart() {
	s.t.Helper()
	address := s.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", address)
	if err != nil {
		s.t.Fatalf("listen again: %v", err)
	}
	s.address = listener.Addr().String()
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}}
	s.server.Start()
}

// Kill stops the service and closes every connection.
func (s *Service) Kill() {
	s.server.Listener.Close()
	s.server.CloseClientConnections()
	_ = s.server.Config.Close() // it was not shut down gracefully
	s.server.Close()
}

// URL returns the service's base URL.
func (s *Service) URL() string { return "http://" + s.address }

// Set changes the fields of the service.
func (s *Service) Set(change func()) {
	s.Lock()
	defer s.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// awaitTimeout is how long Await waits.
const awaitTimeout = 4 * time.Minute

// Await waits until the condition holds, or fails the test.
func (s *Service) Await(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(awaitTimeout)
	defer deadline.Stop()
	for {
		s.Lock()
		acquired, changed := condition(), s.changed
		s.Unlock()
		if acquired {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// ReceivedEvents returns the events so far.
func (s *Service) ReceivedEvents() []ingest.Event {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.Events)
}

// Uploaded returns an uploaded file; ok is false if there is none.
func (s *Service) Uploaded(name string) (data string, ok bool) {
	s.Lock()
	defer s.Unlock()
	data, ok = s.Media[name]
	return data, ok
}

// EventKinds returns the kinds of the events so far, for use in Await and Set.
func (s *Service) EventKinds() []job.Trigger {
	var kinds []job.Trigger
	for _, event := range s.Events {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// QueueCommand queues a command; args may be nil.
func (s *Service) QueueCommand(id string, kind ingest.CommandKind, args any) {
	s.t.Helper()
	var encoded json.RawMessage
	if args != nil {
		var err error
		if encoded, err = json.Marshal(args); err != nil {
			s.t.Fatalf("encode a command: %v", err)
		}
	}
	s.Set(func() { s.Commands = append(s.Commands, ingest.Command{ID: id, Kind: kind, Args: encoded}) })
}

// RequestCount returns the number of requests whose method and path contain a
// text, for use in Await and Set.
func (s *Service) RequestCount(text string) int {
	count := 0
	for _, request := range s.Requests {
		if strings.Contains(request, text) {
			count++
		}
	}
	return count
}

// WriteError sends an error response like the service.
func WriteError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"message":"refused by the test"}`, code)
}
