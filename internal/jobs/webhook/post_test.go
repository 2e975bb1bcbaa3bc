package webhook

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"standin/internal/jobs/job"
)

// Over TLS the sender uses HTTP/2 and reuses connections.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	protocols, connections := map[string]int{}, map[string]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		protocols[r.Proto]++
		connections[r.RemoteAddr] = true
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)

	poster := newPoster(Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, TryTimeout: 10 * time.Second, MaxTriesPerHost: 1, Now: time.Now,
		RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
	})
	t.Cleanup(poster.client.CloseIdleConnections)

	const posts = 5
	for range posts {
		if try := poster.post(t.Context(), finalized(t, server.URL)); !try.Acknowledged() {
			t.Fatalf("try %+v", try)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if protocols["HTTP/2.0"] != posts || len(connections) != 1 {
		t.Errorf("protocols %v over %d connections, want HTTP/2.0 over one", protocols, len(connections))
	}
}

// finalized returns the first try of an event.
func finalized(t *testing.T, address string) Delivery {
	t.Helper()
	event := Finalized(job.Job{Metadata: []byte("{}")})
	data, err := event.Data(1)
	if err != nil {
		t.Fatal(err)
	}
	return Delivery{
		ID: NewDeliveryID(), URL: address, Event: event.Name, Data: data, Attempt: 1, Secrets: []Secret{{Value: NewSecret()}},
	}
}

// TestClosedIdleConnection checks that a try does not fail because the receiver closes an idle
// connection at the moment of the request.
func TestClosedIdleConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	used := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Values("Idempotency-Key") != nil {
			t.Error("the key is sent")
		}
		if used[r.RemoteAddr] {
			panic(http.ErrAbortHandler) // closes the connection without a response
		}
		used[r.RemoteAddr] = true
	}))
	t.Cleanup(server.Close)
	poster := newPoster(Settings{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, TryTimeout: 10 * time.Second, MaxTriesPerHost: 1, Now: time.Now,
	})
	t.Cleanup(poster.client.CloseIdleConnections)
	for range 3 {
		if try := poster.post(t.Context(), finalized(t, server.URL)); !try.Acknowledged() {
			t.Errorf("try %+v", try)
		}
	}
}
