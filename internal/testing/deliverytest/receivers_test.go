package deliverytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"standin/client"

	"github.com/google/uuid"
)

// receiver is a consumer's server. It keeps what it acknowledged, and
// unexpected requests.
type receiver struct {
	kind    string
	url     string
	address string
	refuse  func(w http.ResponseWriter, r *http.Request) bool // handles some requests differently

	mu           sync.Mutex
	server       *http.Server // nil while it is away
	requests     int
	repeated     int                  // acknowledged more than once
	acknowledged map[string]time.Time // by delivery id, for the first time
	events       map[string]string    // delivery ids by job and sequence
	jobs         map[string]uuid.UUID // by delivery id
	tries        map[string]int       // how often, by delivery id with attempt
	notBefore    map[string]time.Time // by delivery id
	faults       []string
}

// newReceivers starts one receiver of each kind.
func newReceivers(t *testing.T, chance *dice) []*receiver {
	t.Helper()
	some := func(percent int, what func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if chance.below(100) >= percent {
				return false
			}
			what(w, r)
			return true
		}
	}
	kinds := map[string]func(http.ResponseWriter, *http.Request) bool{
		"answers": nil,
		"fails":   some(30, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }),
		"is limited": some(20, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}),
		"hangs":  some(3, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"resets": some(20, reset),
		"redirects": some(20, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}),
		"comes and goes": nil,
	}
	var all []*receiver
	for kind, refuse := range kinds {
		r := &receiver{
			kind: kind, refuse: refuse, acknowledged: make(map[string]time.Time), events: make(map[string]string), jobs: make(map[string]uuid.UUID),
			tries: make(map[string]int), notBefore: make(map[string]time.Time),
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.address = listener.Addr().String()
		r.url = "http://" + r.address + "/hooks"
		r.serve(listener)
		t.Cleanup(r.leave)
		if kind == "comes and goes" {
			r.comeAndGo(t, chance)
		}
		all = append(all, r)
	}
	return all
}

// reset resets the connection.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func (r *receiver) serve(listener net.Listener) {
	server := &http.Server{Handler: r}
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
}

func (r *receiver) leave() {
	r.mu.Lock()
	server := r.server
	r.server = nil
	r.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
}

// comeAndGo stops and restarts the receiver until the test ends.
func (r *receiver) comeAndGo(t *testing.T, chance *dice) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-stopped
	})
	pause := func(duration time.Duration) bool {
		timer := time.NewTimer(duration)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-stop:
			return false
		}
	}
	go func() {
		defer close(stopped)
		for pause(chance.between(200*time.Millisecond, time.Second)) {
			r.leave()
			if !pause(chance.between(100*time.Millisecond, 800*time.Millisecond)) {
				return
			}
			listener, err := net.Listen("tcp", r.address)
			for err != nil && pause(20*time.Millisecond) { // somebody's outgoing connection may have its port
				listener, err = net.Listen("tcp", r.address)
			}
			if err != nil {
				return
			}
			r.serve(listener)
		}
	}()
}

// ServeHTTP receives a webhook.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // a sender that was killed
	}
	var got struct {
		DeliveryID string
		Attempt    int
		Data       struct {
			JobID    uuid.UUID
			Sequence int64
		}
	}
	err = errors.Join(client.VerifyWebhook(request.Header, body, secret, time.Now()), json.Unmarshal(body, &got))
	r.mu.Lock()
	r.requests++
	if err != nil {
		r.fault("refused a webhook: %v", err)
	}
	if request.URL.Path != "/hooks" {
		r.fault("a redirect was followed to %s", request.URL.Path)
	}
	try := fmt.Sprint(got.DeliveryID, " ", got.Attempt)
	if r.tries[try]++; r.tries[try] > 2 || r.tries[try] == 2 && r.kind != "resets" && r.kind != "comes and goes" {
		r.fault("try %s came %d times", try, r.tries[try]) // it is repeated once if the connection was closed
	}
	event := fmt.Sprint(got.Data.JobID, " ", got.Data.Sequence)
	if id, ok := r.events[event]; ok && id != got.DeliveryID {
		r.fault("event %s came as %s and as %s", event, id, got.DeliveryID)
	}
	r.events[event] = got.DeliveryID
	r.jobs[got.DeliveryID] = got.Data.JobID
	if wait := time.Until(r.notBefore[got.DeliveryID]); wait > 0 {
		r.fault("%s came %v before Retry-After had passed", got.DeliveryID, wait)
	}
	r.mu.Unlock()

	if r.refuse != nil && r.refuse(w, request) {
		if w.Header().Get("Retry-After") != "" {
			r.mu.Lock()
			r.notBefore[got.DeliveryID] = time.Now().Add(900 * time.Millisecond) // the header counts whole seconds, the database milliseconds
			r.mu.Unlock()
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.acknowledged[got.DeliveryID].IsZero() {
		r.repeated++
		return
	}
	r.acknowledged[got.DeliveryID] = time.Now()
}

// fault records an unexpected request. The caller holds mu.
func (r *receiver) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}
