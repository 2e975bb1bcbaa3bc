package dashboard_test

import (
	"net/http"
	"testing"
)

// TestStreamsAreBoundedPerSession opens one stream more than a session may have. Another session has its own.
func TestStreamsAreBoundedPerSession(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	p, other := h.signedIn(ada.Email), h.signedIn(ada.Email)
	open := func(p *person) *http.Response {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.BaseURL()+"/jobs/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := p.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	const allowed = 4
	for range allowed {
		if response := open(p); response.StatusCode != http.StatusOK {
			t.Fatalf("an allowed stream: %d", response.StatusCode)
		}
	}
	p.get("/jobs/live").want(t, "one stream too many", http.StatusTooManyRequests)
	if response := open(other); response.StatusCode != http.StatusOK {
		t.Errorf("a stream of another session: %d", response.StatusCode)
	}
}
