package serviceclient_test

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/testing/ingesttest"
)

const (
	jobID   = "0190d3a0-0000-7000-8000-000000000001"
	attempt = 0
)

var token = ingest.Token([]byte("a signing key"), jobID, attempt)

// service is the fake service of these tests.
type service struct{ *ingesttest.Service }

func startService(t *testing.T) *service {
	t.Helper()
	return &service{ingesttest.Start(t, jobID, attempt, token)}
}

// command queues a command.
func (s *service) command(id string, kind ingest.CommandKind) { s.QueueCommand(id, kind, nil) }

func refuse(w http.ResponseWriter, status int, code string) { ingesttest.WriteError(w, status, code) }

// reset closes the connection without a response.
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

// randomFaults makes requests fail at random, in every way that a service behind
// a network can: also after the service has processed them.
func (s *service) randomFaults() func(http.ResponseWriter, *http.Request) bool {
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
		case 4: // processed, but the response is lost
			inner.ServeHTTP(httptest.NewRecorder(), r)
			reset(w)
		case 5: // a proxy without its service
			http.Error(w, "404 page not found", http.StatusNotFound)
		case 6:
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case 7: // slower than the timeout
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
