package channel_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	jobID   = "0190d3a0-0000-7000-8000-000000000001"
	attempt = 0
)

var (
	signingKey = []byte("a key of the tests")
	token      = ingest.Token(signingKey, jobID, attempt)
)

// service behaves as the ingest surface does (contract, Bot channel), over
// real HTTP on one port, and keeps what it was told when it is killed and
// started again.
type service struct {
	t       *testing.T
	address string
	server  *httptest.Server

	mutex      sync.Mutex
	changed    chan struct{} // closed and replaced at each change
	disturb    func(w http.ResponseWriter, r *http.Request) (done bool)
	requests   []string // method and path of each
	status     job.Status
	stale      bool
	events     []ingest.Event // applied, in order
	repeats    int            // duplicates seen
	media      map[string]string
	uploads    map[string]int // 2xx answers, by name
	commands   []ingest.Command
	acked      []string
	heartbeats int
	beating    int // heartbeats in flight
	overlapped bool
	hold       bool
	next       int
	stats      ingest.Stats
}

func startService(t *testing.T) *service {
	t.Helper()
	s := &service{
		t: t, changed: make(chan struct{}), status: job.InMeeting, hold: true, next: 30,
		media: map[string]string{}, uploads: map[string]int{},
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start listens on the port that the first start was given.
func (s *service) start() {
	s.t.Helper()
	address := s.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.t.Fatalf("listen again: %v", err)
	}
	s.address = listener.Addr().String()
	s.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.handler()}}
	s.server.Start()
}

// kill drops every connection, finished or not.
func (s *service) kill() {
	s.server.Listener.Close()
	s.server.CloseClientConnections()
	s.server.Config.Close()
	s.server.Close()
}

func (s *service) url() string { return "http://" + s.address }

// set changes the service under its lock.
func (s *service) set(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until the condition holds, and fails the test after ten seconds.
func (s *service) await(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for {
		s.mutex.Lock()
		held, changed := condition(), s.changed
		s.mutex.Unlock()
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

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+ingest.EventPath, s.event)
	mux.HandleFunc("POST "+ingest.HeartbeatPath, s.heartbeat)
	mux.HandleFunc("PUT "+ingest.MediaPath+"/{job}/{attempt}/{name}", s.upload)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var disturb func(http.ResponseWriter, *http.Request) bool
		s.set(func() {
			s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
			disturb = s.disturb
		})
		if disturb != nil && disturb(w, r) {
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			refuse(w, http.StatusUnauthorized, "unauthorized")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *service) event(w http.ResponseWriter, r *http.Request) {
	var event ingest.Event
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || event.JobID != jobID || event.Attempt != attempt {
		refuse(w, http.StatusBadRequest, "invalid_input")
		return
	}
	answer := ingest.EventAnswer{OK: true}
	s.set(func() {
		repeated := slices.ContainsFunc(s.events, func(e ingest.Event) bool {
			return e.Kind == event.Kind && e.EmittedAt.Equal(event.EmittedAt)
		})
		switch {
		case repeated:
			s.repeats++
			answer.Reason = job.Duplicate
		case s.stale:
			answer.Reason = job.StaleAttempt
		case s.status.Terminal():
			answer.Reason = job.Terminal
		default:
			answer.Applied = true
			s.events = append(s.events, event)
		}
		answer.Status, answer.Commands = s.status, slices.Clone(s.commands)
	})
	reply(w, answer)
}

func (s *service) heartbeat(w http.ResponseWriter, r *http.Request) {
	var beat ingest.Heartbeat
	if err := json.NewDecoder(r.Body).Decode(&beat); err != nil || beat.JobID != jobID || beat.Stats == nil {
		refuse(w, http.StatusBadRequest, "invalid_input")
		return
	}
	s.set(func() {
		s.beating++
		s.overlapped = s.overlapped || s.beating > 1
		s.heartbeats++
		s.stats = *beat.Stats
		s.acked = append(s.acked, beat.Acked...)
		s.commands = slices.DeleteFunc(s.commands, func(c ingest.Command) bool { return slices.Contains(beat.Acked, c.ID) })
	})
	defer s.set(func() { s.beating-- })
	wait, _ := strconv.Atoi(r.URL.Query().Get("wait"))
	s.holdAnswer(r.Context(), time.Duration(wait)*time.Second)
	var answer ingest.HeartbeatAnswer
	s.set(func() {
		answer = ingest.HeartbeatAnswer{OK: true, Status: s.status, Commands: slices.Clone(s.commands), NextSeconds: s.next}
	})
	reply(w, answer)
}

func (s *service) holdAnswer(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s.mutex.Lock()
		enough, changed := !s.hold || len(s.commands) > 0 || s.status.Terminal(), s.changed
		s.mutex.Unlock()
		if enough {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *service) upload(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	switch {
	case err != nil || int64(len(body)) != r.ContentLength:
		refuse(w, http.StatusBadRequest, "invalid_input")
		return
	case r.PathValue("job") != jobID || r.PathValue("attempt") != strconv.Itoa(attempt) || !ingest.ValidMediaName(name):
		refuse(w, http.StatusBadRequest, "invalid_input")
		return
	case r.Header.Get(ingest.ChecksumHeader) != hex.EncodeToString(sum[:]):
		refuse(w, http.StatusBadRequest, "invalid_input")
		return
	}
	conflict := false
	s.set(func() {
		_, _, segment := ingest.ParseSegmentName(name)
		old, there := s.media[name]
		conflict = segment && there && old != string(body)
		if !conflict {
			s.media[name] = string(body)
			s.uploads[name]++
		}
	})
	if conflict {
		refuse(w, http.StatusConflict, "invalid_state")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *service) kinds() []job.Trigger {
	var kinds []job.Trigger
	for _, event := range s.events {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// order queues a command.
func (s *service) order(id string, kind ingest.CommandKind) {
	s.set(func() { s.commands = append(s.commands, ingest.Command{ID: id, Kind: kind}) })
}

func (s *service) asked(what string) int {
	count := 0
	for _, request := range s.requests {
		if strings.Contains(request, what) {
			count++
		}
	}
	return count
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"message":"refused by the test"}`, code)
}

// reset ends the connection without an answer.
func reset(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// mischief makes each request go wrong with some chance, in every way that a
// service behind a network can: also after the service has acted on it.
func (s *service) mischief() func(http.ResponseWriter, *http.Request) bool {
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, ingest.MediaPath):
			r.SetPathValue("job", jobID)
			r.SetPathValue("attempt", fmt.Sprint(attempt))
			r.SetPathValue("name", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
			s.upload(w, r)
		case r.URL.Path == ingest.HeartbeatPath:
			s.heartbeat(w, r)
		default:
			s.event(w, r)
		}
	})
	return func(w http.ResponseWriter, r *http.Request) bool {
		switch rand.IntN(14) {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			refuse(w, http.StatusServiceUnavailable, "unavailable")
		case 2:
			w.Header().Set("Retry-After", "0")
			refuse(w, http.StatusTooManyRequests, "rate_limited")
		case 3:
			reset(w)
		case 4: // done, but the answer is lost
			inner.ServeHTTP(httptest.NewRecorder(), r)
			reset(w)
		case 5: // a proxy without a service behind it
			http.Error(w, "404 page not found", http.StatusNotFound)
		case 6:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case 7: // slow: longer than the bot waits
			select {
			case <-r.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
			reset(w)
		default:
			return false
		}
		return true
	}
}
