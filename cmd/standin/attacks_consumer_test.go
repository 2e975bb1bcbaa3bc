package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestAttackWebhookToLoopback sends webhooks to an internal service on loopback,
// behind which the service listens too, as it does behind a TLS proxy. The internal
// service is not reached, and its response is not in the delivery log.
func TestAttackWebhookToLoopback(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t), "STANDIN_BASE_URL=https://standin.example.com")
	internal, reached := internalService(t)
	key := s.key("mallory", "--test")
	id := s.create(key, map[string]any{"webhooks": map[string]string{"onStatusChange": internal}, "metadata": map[string]string{"simulate": "lobby_timeout"}})
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
	user.submit("/webhooks", "/webhooks/endpoint", map[string][]string{"url": {internal}})
	page := user.submit("/webhooks", "/webhooks/test", map[string][]string{})
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

// TestAttackStarvation creates jobs of one consumer whose joinAt is far in the past,
// then one job of another consumer, on a service with capacity for one bot. The
// other consumer's job starts after at most one more job. STANDIN_TEST_JOBS is the
// number of jobs of the first consumer.
func TestAttackStarvation(t *testing.T) {
	t.Parallel()
	jobs := 10
	if n, err := strconv.Atoi(os.Getenv("STANDIN_TEST_JOBS")); err == nil {
		jobs = n
	}
	s := startTarget(t, newDataDir(t), "STANDIN_MAX_BOTS=1")
	mallory, ada := s.key("mallory"), s.key("ada")
	past := time.Now().Add(-20 * time.Hour).UTC().Format(time.RFC3339)
	for i := range jobs {
		s.create(mallory, map[string]any{"externalId": fmt.Sprint("flood ", i), "joinAt": past})
	}
	adas := s.create(ada, nil)
	ahead := 0
	running := make(map[string]bool)
	for {
		var started string
		s.await("a bot to start", func() bool {
			for _, key := range []string{ada, mallory} {
				list := s.call(http.MethodGet, "/api/v1/jobs?status=dispatching&limit=1", key, nil)
				if _, rest, ok := strings.Cut(list.body, `"id":"`); ok && !running[rest[:36]] {
					started = rest[:36]
					return true
				}
			}
			return false
		})
		if started == adas {
			break
		}
		running[started] = true
		ahead++
		s.report(started, "lifecycle.joined", nil)
		s.report(started, "lifecycle.exited", map[string]any{"failureCode": "meeting_not_found"})
	}
	t.Logf("%d of %d jobs of the other consumer started first", ahead, jobs)
	if ahead > 2 { // the one that runs already, and one turn
		t.Errorf("%d jobs of another consumer started first", ahead)
	}
}

// TestAttackLongFields creates jobs with fields that are longer than the API
// describes. Each is a 400 that names the field, and a long displayName is cut.
func TestAttackLongFields(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	key := s.key("mallory", "--test")
	long := strings.Repeat("a", 300<<10)
	for field, value := range map[string]any{
		"externalId": long, "meetingUrl": "https://meet.google.com/" + long, "metadata": map[string]string{"note": long},
		"webhooks": map[string]string{"onStatusChange": "https://hooks.example.com/" + long},
	} {
		request := map[string]any{"externalId": "long " + field, "meetingUrl": "https://meet.google.com/abc-defg-hij", field: value}
		got := s.call(http.MethodPost, "/api/v1/jobs", key, request)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"`+field+`"`) {
			t.Errorf("%s of %d bytes: %d: %.300s", field, len(long), got.status, got.body)
		}
	}
	id := s.create(key, map[string]any{"displayName": long})
	if name, _ := s.call(http.MethodGet, "/api/v1/jobs/"+id+"/settings", key, nil).field("displayName").(string); len(name) > 1000 {
		t.Errorf("the displayName has %d characters", len(name))
	}
}

// TestAttackReadableData starts a service in a data folder that other users can
// read, with a permissive umask. Neither the folder nor the database stays readable.
func TestAttackReadableData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the test is about this mode
		t.Fatal(err)
	}
	s := startTarget(t, dir)
	s.key("ada")
	for _, name := range []string{"", "/standin.db", "/standin.db-wal", "/ingest.key"} {
		info, err := os.Stat(dir + name)
		if err != nil {
			if name == "/ingest.key" {
				continue // the key is configured
			}
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %04o", name, info.Mode().Perm())
		}
	}
}

// TestAttackLeftBehindConsumer checks that a consumer can be erased, with everything
// of his, while others stay.
func TestAttackLeftBehindConsumer(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	mallory, ada := s.key("mallory", "--test"), s.key("ada", "--test")
	id := s.create(mallory, map[string]any{"metadata": map[string]string{"simulate": "lobby_timeout", "person": "Grace"}})
	s.awaitStatus(mallory, id, "failed")
	other := s.create(ada, nil)
	s.await("the deletion of the consumer", func() bool { // which is refused until the failed job is cleaned up
		_, err := s.standin("consumers", "delete", "mallory", "--yes")
		return err == nil
	})
	s.stop(syscall.SIGTERM)
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	if got := s.call(http.MethodGet, "/api/v1/jobs/"+id, mallory, nil); got.status != http.StatusUnauthorized {
		t.Errorf("the key of an erased consumer: %d", got.status)
	}
	if got := s.call(http.MethodGet, "/api/v1/jobs/"+other, ada, nil); got.status != http.StatusOK {
		t.Errorf("the job of another consumer: %d", got.status)
	}
}
