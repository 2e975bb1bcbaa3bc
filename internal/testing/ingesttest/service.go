// Package ingesttest is the service as a bot sees it, for tests of bots: the
// ingest surface over real HTTP, with the protocol's rules and without anything
// behind it. It keeps what it was told, also when it is killed and started
// again.
//
// The exported fields are guarded by the embedded lock: tests read them in Await
// or under it, and change them in Set.
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

	"standin/internal/ingest"
	"standin/internal/job"
)

// Service is the ingest surface for one attempt of one job (contract, Bot
// channel).
type Service struct {
	t       testing.TB
	jobID   string
	attempt int
	token   string
	address string
	server  *httptest.Server

	changed chan struct{} // closed and replaced at each change

	sync.Mutex

	// Disturb may answer a request in the service's place.
	Intercept  func(w http.ResponseWriter, r *http.Request) (done bool)
	Requests   []string // method and path of each
	Status     job.Status
	Stale      bool           // a newer attempt has taken over
	Events     []ingest.Event // applied, in order
	ReceivedAt []time.Time    // when each of them came
	Duplicates int            // duplicates seen
	Media      map[string]string
	Uploads    map[string]int // 2xx answers, by name
	Commands   []ingest.Command
	Acked      []string
	Heartbeats int
	// Beating is how many heartbeats are in flight; Overlapped, that there ever
	// were two.
	HeartbeatsInFlight   int
	HeartbeatsOverlapped bool
	HoldHeartbeats       bool // heartbeats that ask for it
	NextSeconds          int
	Stats                ingest.Stats
}

// New is a service that does not listen: its Handler answers.
func New(t testing.TB, jobID string, attempt int, token string) *Service {
	return &Service{
		t: t, jobID: jobID, attempt: attempt, token: token,
		changed: make(chan struct{}), Status: job.InMeeting, HoldHeartbeats: true, NextSeconds: 30,
		Media: map[string]string{}, Uploads: map[string]int{},
	}
}

// Start serves until the test ends.
func Start(t testing.TB, jobID string, attempt int, token string) *Service {
	t.Helper()
	s := New(t, jobID, attempt, token)
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// Restart listens again on the port that the first start was given.
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

// Kill drops every connection, finished or not.
func (s *Service) Kill() {
	s.server.Listener.Close()
	s.server.CloseClientConnections()
	_ = s.server.Config.Close() // it was not shut down in order
	s.server.Close()
}

// URL is the service's base URL.
func (s *Service) URL() string { return "http://" + s.address }

// Set changes the service.
func (s *Service) Set(change func()) {
	s.Lock()
	defer s.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// patience is how long Await waits.
const patience = 4 * time.Minute

// Await waits until the condition holds, and fails the test when it does not
// come to hold.
func (s *Service) Await(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.Lock()
		held, changed := condition(), s.changed
		s.Unlock()
		if held {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Heard returns the events so far.
func (s *Service) ReceivedEvents() []ingest.Event {
	s.Lock()
	defer s.Unlock()
	return slices.Clone(s.Events)
}

// Uploaded returns an uploaded file; false when there is none of that name.
func (s *Service) Uploaded(name string) (data string, ok bool) {
	s.Lock()
	defer s.Unlock()
	data, ok = s.Media[name]
	return data, ok
}

// Kinds lists the kinds of the events so far. It is for use in Await and Set.
func (s *Service) EventKinds() []job.Trigger {
	var kinds []job.Trigger
	for _, event := range s.Events {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// Order queues a command; args may be nil.
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

// Asked counts the requests whose method and path hold a text. It is for use in
// Await and Set.
func (s *Service) RequestCount(what string) int {
	count := 0
	for _, request := range s.Requests {
		if strings.Contains(request, what) {
			count++
		}
	}
	return count
}

// Refuse answers as the service does when it says no.
func WriteError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"message":"refused by the test"}`, code)
}
