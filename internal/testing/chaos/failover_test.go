package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/testing/storetest"
)

// TestFailover leads new connections to a read-only standby for a while, as proxies and DNS do. The
// connections that exist are closed, lose all data, or stay open to a primary that has become read-only.
func TestFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	for _, connections := range []string{"closed", "silent", "read-only"} {
		t.Run(connections, func(t *testing.T) {
			t.Parallel()
			failOver(t, connections)
		})
	}
}

func failOver(t *testing.T, connections string) {
	t.Helper()
	primary, standby, address := storetest.StartPair(t)
	proxy, dir := newDBProxy(t, primary.Socket()), t.TempDir()
	h := &harness{storage: folder(filepath.Join(dir, "recordings"))}
	n := newNode(t, dir, "only", through(t, address, proxy), h.storage)
	n.settings.Heartbeat = 10 * time.Second // simulated bots send one at least every 5 s
	t.Cleanup(func() { _ = n.signalBots(syscall.SIGKILL) })
	h.nodes = []*node{n}
	s, l := h.start(t, address)
	seen := &observer{RoundTripper: l.client.Transport}
	l.client = &http.Client{Transport: seen}

	loading, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var played []uuid.UUID
	for number := range uint64(4) {
		random := rand.New(rand.NewPCG(0, number))
		var created struct{ ID uuid.UUID }
		l.request(loading, random, http.MethodPost, "/api/v1/jobs", l.keys[job.Live], map[string]any{
			"externalId": uuid.NewString(), "meetingUrl": "https://meet.google.com/abc-defg-hij", "displayName": playedBot,
		}, &created)
		played = append(played, created.ID)
		token := ingest.Token([]byte(signingKey), created.ID.String(), 0)
		running.Go(func() {
			for ; loading.Err() == nil; pause(loading, 100*time.Millisecond) {
				l.create(loading, random)
			}
		})
		running.Go(func() {
			for ; loading.Err() == nil; pause(loading, time.Second) {
				l.request(loading, random, http.MethodPost, "/api/v1/ingest/heartbeat", token, ingest.Heartbeat{JobID: created.ID.String()}, nil)
			}
		})
	}
	pause(t.Context(), 5*time.Second)
	proxy.lead(standby.Socket())
	switch connections {
	case "closed":
		proxy.disconnect()
		proxy.restore()
	case "silent":
		proxy.silence()
	case "read-only":
		execute(t, address, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	}
	pause(t.Context(), 15*time.Second)
	if answers(t.Context(), n.url()+"/readyz") {
		t.Error("the node is ready while nothing can be written")
	}
	execute(t, address, `ALTER SYSTEM RESET default_transaction_read_only`, `SELECT pg_reload_conf()`)
	proxy.lead(primary.Socket())
	if connections == "silent" { // the machine that had disappeared resets them
		proxy.disconnect()
		proxy.restore()
	}
	right := time.Now()
	pause(t.Context(), 30*time.Second)
	stop()
	running.Wait()
	seen.check(t, right.Add(5*time.Second))
	for _, id := range played {
		if r, err := s.Job(t.Context(), id); err != nil || r.Attempts != 1 || r.Status != job.Dispatching {
			t.Errorf("job %s is %s after %d attempts (%v): %s", id, r.Status, r.Attempts, err, r.FailureDetail)
		}
	}
	h.check(t, s, l)
	for _, p := range l.promises {
		if entries, err := s.Timeline(t.Context(), p.id); err != nil || strings.Contains(timelineText(entries), "heartbeat") {
			t.Errorf("job %s: the healthy bot was given up (%v)\n%s", p.id, err, timelineText(entries))
		}
	}
}

// observer records the requests that fail.
type observer struct {
	http.RoundTripper

	mu     sync.Mutex
	failed []failure
}

type failure struct {
	at         time.Time
	path       string
	status     int // 0 without a response
	retryAfter string
}

// RoundTrip implements http.RoundTripper.
func (o *observer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(r)
	f := failure{at: time.Now(), path: r.URL.Path}
	if err == nil {
		f.status, f.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
	}
	if (f.status == 0 || f.status >= 500) && !errors.Is(err, context.Canceled) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.failed = append(o.failed, f)
	}
	return response, err
}

// check checks that all requests failed in time because the service was unavailable, until end. It allows
// those without an answer that met connections that lose all data.
func (o *observer) check(t *testing.T, end time.Time) {
	t.Helper()
	refused := 0
	for _, f := range o.failed {
		unavailable := f.status == http.StatusServiceUnavailable && f.retryAfter != ""
		if unavailable {
			refused++
		}
		if f.at.After(end) || !unavailable && (f.status != 0 || f.at.After(end.Add(-10*time.Second))) {
			t.Errorf("%s: status %d, Retry-After %q, %s after the end", f.path, f.status, f.retryAfter, f.at.Sub(end))
		}
	}
	if refused == 0 {
		t.Error("no request was refused while nothing could be written")
	}
}
