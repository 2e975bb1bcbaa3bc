package serviceclient_test

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"standin/internal/ingest"
	"standin/internal/testing/ingesttest"
)

const (
	jobID   = "0190d3a0-0000-7000-8000-000000000001"
	attempt = 0
)

var token = ingest.Token([]byte("a key of the tests"), jobID, attempt)

// service is the service that these bots talk to.
type service struct{ *ingesttest.Service }

func startService(t *testing.T) *service {
	t.Helper()
	return &service{ingesttest.Start(t, jobID, attempt, token)}
}

// order queues a command.
func (s *service) order(id string, kind ingest.CommandKind) { s.QueueCommand(id, kind, nil) }

func refuse(w http.ResponseWriter, status int, code string) { ingesttest.WriteError(w, status, code) }

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
	inner := s.Handler()
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
