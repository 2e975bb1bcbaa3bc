package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// get fetches a page.
func get(t *testing.T, url, bearer string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// TestMetrics checks that the metrics require the secret on the main address, and that
// the metrics address serves only the metrics, without credentials.
func TestMetrics(t *testing.T) {
	t.Parallel()
	with := settings(storetest.FreshDataDir(t))
	with.HTTP.MetricsSecret, with.MetricsListen, with.MaxBots = "scrape me", "127.0.0.1:0", 7
	s := start(t, with)
	defer closeService(t, s)
	awaitNode(t, s)
	if status, _ := get(t, s.BaseURL()+"/metrics", "guess"); status != http.StatusUnauthorized {
		t.Errorf("wrong secret: status %d", status)
	}
	own := "http://" + s.metricsListener.Addr().String()
	if status, _ := get(t, own+"/healthz", ""); status != http.StatusNotFound {
		t.Errorf("the metrics address returned %d for another path", status)
	}
	if status, _ := get(t, own+"/debug/pprof/goroutine", ""); status != http.StatusNotFound {
		t.Errorf("profiles are served without their setting: status %d", status)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the node", func() bool {
		_, text := get(t, own+"/metrics", "")
		return strings.Contains(text, `standin_node_capacity{node="`+host+`"} 7`+"\n")
	})
	_, text := get(t, s.BaseURL()+"/metrics", "scrape me")
	for _, row := range []string{
		`standin_jobs{status="pending"} 0`, `standin_upcoming_bots{within="24h"} 0`, `standin_dispatch_lateness_seconds_count{until="joining"} 0`,
		"# TYPE standin_webhook_",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("missing line %q", row)
		}
	}
}

// TestProfiles checks that profiles are served on the metrics address alone, and
// without the command line.
func TestProfiles(t *testing.T) {
	t.Parallel()
	with := settings(storetest.FreshDataDir(t))
	with.Profiling = true
	if _, err := Start(t.Context(), with); err == nil {
		t.Fatal("started with profiles and without an address for them")
	}
	with.MetricsListen = "127.0.0.1:0"
	s := start(t, with)
	defer closeService(t, s)
	own := "http://" + s.metricsListener.Addr().String()
	if status, text := get(t, own+"/debug/pprof/goroutine?debug=1", ""); status != http.StatusOK || !strings.Contains(text, "TestProfiles") {
		t.Errorf("goroutines: status %d\n%s", status, text)
	}
	if status, _ := get(t, own+"/debug/pprof/cmdline", ""); status != http.StatusNotFound {
		t.Errorf("command line: status %d", status)
	}
	if status, _ := get(t, s.BaseURL()+"/debug/pprof/goroutine", ""); status != http.StatusNotFound {
		t.Errorf("main address: status %d", status)
	}
}

// awaitNode returns the only node when it has sent its first heartbeat. It does not read
// the fleet, which is cached.
func awaitNode(t *testing.T, s *Service) job.Node {
	t.Helper()
	var nodes []job.Node
	await.Until(t, "the node", func() bool {
		var err error
		if nodes, err = s.store.Nodes(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		return len(nodes) == 1
	})
	return nodes[0]
}

// TestNodeIDPersists checks that a node keeps its ID across restarts on its data
// folder.
func TestNodeIDPersists(t *testing.T) {
	t.Parallel()
	dir := storetest.FreshDataDir(t)
	var ids []string
	for range 2 {
		s := start(t, settings(dir))
		ids = append(ids, awaitNode(t, s).ID)
		closeService(t, s)
	}
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("node IDs %s", fmt.Sprint(ids))
	}
}

// TestMeasureStartTime checks that the start time that a bot reports is recorded only
// on its own node.
func TestMeasureStartTime(t *testing.T) {
	t.Parallel()
	s := start(t, settings(storetest.FreshDataDir(t)))
	defer closeService(t, s)
	var took []time.Duration
	for _, node := range []string{"mine", "other"} {
		for _, data := range []string{`{"readyMs": 2500}`, `{"readyMs": "soon"}`, ``} {
			e := event.StateApplied{
				Job:     job.Record{Node: node, Job: job.Job{Mode: job.Live}},
				Trigger: job.BotJoined, Data: []byte(data), Result: job.Result{Applied: true, From: job.Dispatching, To: job.Joining},
			}
			measure(e, "mine", s.metrics, func(one time.Duration) { took = append(took, one) })
		}
	}
	if want := fmt.Sprint([]time.Duration{2500 * time.Millisecond, 0, 0}); fmt.Sprint(took) != want {
		t.Errorf("recorded %v, want %s", took, want)
	}
}

// TestMeasureAttemptEnds checks that ends of attempts are counted by platform, code and cause.
func TestMeasureAttemptEnds(t *testing.T) {
	t.Parallel()
	s := start(t, settings(storetest.FreshDataDir(t)))
	defer closeService(t, s)
	for _, end := range []*job.AttemptEnd{nil, {}, new(job.NewAttemptEnd(0, job.NetworkLoss, "\"} 1\n<b>")), new(job.NewAttemptEnd(1, "", "the bot was lost"))} {
		measure(event.StateApplied{Job: job.Record{Job: job.Job{Mode: job.Live, Platform: job.Teams}}, End: end}, "mine", s.metrics, nil)
	}
	served := httptest.NewRecorder()
	s.metrics.Handler().ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{`{cause="",code="",platform="teams"} 1`, `{cause="other",code="network_loss",platform="teams"} 1`,
		`{cause="other",code="",platform="teams"} 1`} {
		if !strings.Contains(served.Body.String(), "standin_attempt_ends_total"+line+"\n") {
			t.Errorf("missing %s", line)
		}
	}
	if n := strings.Count(served.Body.String(), "\nstandin_attempt_ends_total{"); n != 3 {
		t.Errorf("%d series, want 3", n)
	}
}
