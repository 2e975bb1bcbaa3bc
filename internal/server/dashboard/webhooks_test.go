package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"standin/internal/jobs/job"
	"standin/internal/testing/await"
)

// TestEndpoints adds, changes and deletes an endpoint, sends a test event to it, finds its
// deliveries, and sends one again.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.ada()
	var received atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	t.Cleanup(server.Close)
	p := h.signedIn(ada.Email)
	for _, form := range []url.Values{
		{"url": {server.URL}}, {"url": {"ftp://example.test"}, "all": {"on"}}, {"url": {server.URL}, "events": {"nothing"}},
	} {
		p.submit("/webhooks/new", "/webhooks/endpoints", form).want(t, fmt.Sprintf("add %v", form), http.StatusBadRequest)
	}
	page := p.submit("/webhooks/new", "/webhooks/endpoints?mode=test", url.Values{
		"url": {server.URL}, "events": {"job.finalized"},
	}).header.Get("Location")
	page, _, _ = strings.Cut(page, "?")
	if got := p.submit(page, page+"/test", url.Values{"event": {"chat.message"}}); !strings.Contains(got.body,
		"It responded with <strong>200</strong>") || received.Load() != 1 {
		t.Errorf("the test event: %d received, %s", received.Load(), got.body)
	}
	p.submit(page, page, url.Values{"description": {"All of them"}, "all": {"on"}, "enabled": {"on"}}).want(t, "change", http.StatusSeeOther)
	p.submit(page, page, url.Values{"enabled": {"on"}}).want(t, "choose no events", http.StatusBadRequest)
	done := p.simulated("https://meet.google.com/abc-mnop-xyz", `{"seconds": 1}`, "endpoints")
	h.awaitStatus(ada.ConsumerID, done, job.Completed)
	log := "/webhooks/deliveries?mode=test&event=job.finalized&job=" + done.String() + "&endpoint=" + page[strings.LastIndex(page, "/")+1:]
	var delivery string
	await.Until(t, "a delivery", func() bool {
		body := p.get(log).body
		if _, rest, found := strings.Cut(body, `href="/webhooks/deliveries/dlv_`); found && strings.Contains(body, ">delivered<") {
			delivery, _, _ = strings.Cut(rest, `"`)
		}
		return delivery != ""
	})
	delivery = "/webhooks/deliveries/dlv_" + delivery
	if body := p.get(delivery).body; !strings.Contains(body, "webhook-signature") || !strings.Contains(body, "curl -i -g") ||
		!strings.Contains(body, done.String()) {
		t.Errorf("the page of a delivery: %s", body)
	}
	before := received.Load()
	p.submit(delivery, delivery+"/replay", nil)
	await.Until(t, "another delivery", func() bool { return received.Load() > before })
	for verb, form := range map[string]url.Values{"retry": nil, "redeliver": {"since": {"2026-01-01T00:00"}}} {
		p.submit(page, page+"/"+verb, form).want(t, verb, http.StatusSeeOther)
	}
	p.submit(page, page+"/delete", nil)
	p.get(page).want(t, "a deleted endpoint", http.StatusNotFound)
}
