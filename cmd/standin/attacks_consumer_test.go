package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAttackWebhookToLoopback sends webhooks to an internal service on loopback,
// behind which the service listens too, as it does behind a TLS proxy. The internal
// service is not reached, and its response is not in the delivery log.
func TestAttackWebhookToLoopback(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_BASE_URL=https://standin.example.com")
	internal, reached := internalService(t)
	key := s.key("mallory", "--test")
	id := s.create(key, map[string]any{
		"webhooks": map[string]string{"onStatusChange": internal}, "metadata": map[string]string{"simulate": "lobby_timeout"},
	})
	var log response
	s.await("an attempt to deliver", func() bool {
		log = s.call(http.MethodGet, "/api/v1/jobs/"+id+"/deliveries", key, nil)
		return strings.Contains(log.body, `"latencyMs"`)
	})
	if n := reached.Load(); n > 0 || strings.Contains(log.body, internalSecret) {
		t.Errorf("the internal service was reached %d times; its response is in the log: %v", n, strings.Contains(log.body, internalSecret))
	}
}

// TestAttackWebhookTesterToLoopback posts a test event from the dashboard to an
// internal service.
func TestAttackWebhookTesterToLoopback(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_BASE_URL=https://standin.example.com")
	internal, reached := internalService(t)
	user := s.operator()
	user.submit("/webhooks/settings", "/webhooks/endpoint", map[string][]string{"url": {internal}})
	page := user.submit("/webhooks/settings", "/webhooks/test", map[string][]string{})
	if n := reached.Load(); n > 0 || strings.Contains(page.body, internalSecret) {
		t.Errorf("the internal service was reached %d times; the page shows its response: %v", n, strings.Contains(page.body, internalSecret))
	}
}

const internalSecret = "password=hunter2"

// internalService starts a service on loopback that only the operator should reach.
func internalService(t *testing.T) (url string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, internalSecret)
	}))
	t.Cleanup(server.Close)
	return server.URL, reached
}
