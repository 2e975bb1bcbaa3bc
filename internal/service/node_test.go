package service

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/dispatch"
	"standin/internal/event"
	"standin/internal/job"
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

// TestMetrics: the service shows its metrics to those who show the secret, and
// on an address of its own to everybody there; nothing else is there.
func TestMetrics(t *testing.T) {
	t.Parallel()
	with := settings(filepath.Join(t.TempDir(), "data"))
	with.MetricsSecret, with.MetricsListen, with.NodeName, with.MaxBots = "scrape me", "127.0.0.1:0", "first", 7
	s := start(t, with)
	defer closeIt(t, s)
	if status, _ := get(t, s.BaseURL()+"/metrics", "guess"); status != http.StatusUnauthorized {
		t.Errorf("with a wrong secret: %d", status)
	}
	own := "http://" + s.metricsListener.Addr().String()
	if status, _ := get(t, own+"/healthz", ""); status != http.StatusNotFound {
		t.Errorf("the metrics' address answers another path with %d", status)
	}
	untilTrue(t, "the node's row", func() bool {
		_, text := get(t, own+"/metrics", "")
		return strings.Contains(text, `standin_node_room{node="first"} 7`+"\n")
	})
	_, text := get(t, s.BaseURL()+"/metrics", "scrape me")
	for _, row := range []string{
		`standin_jobs{status="pending"} 0`, `standin_bots_ahead{within="24h"} 0`, `standin_dispatch_lateness_seconds_count{until="joining"} 0`,
		"# TYPE standin_webhook_",
	} {
		if !strings.Contains(text, row) {
			t.Errorf("there is no line %q", row)
		}
	}
}

// untilTrue waits until something holds.
func untilTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s did not come", what)
		}
	}
}

// TestNodeStaysTheSame each time it starts on its data folder.
func TestNodeStaysTheSame(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var ids []string
	for range 2 {
		s := start(t, settings(dir))
		untilTrue(t, "the node's row", func() bool {
			f, err := s.fleet.Fleet(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Nodes) == 1 {
				ids = append(ids, f.Nodes[0].ID)
			}
			return len(f.Nodes) == 1
		})
		closeIt(t, s)
	}
	if ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("the node was %s", fmt.Sprint(ids))
	}
}

// TestMoves: what a bot says of the time that it took is counted for the lead
// of its own node.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := start(t, settings(filepath.Join(t.TempDir(), "data")))
	defer closeIt(t, s)
	var took []time.Duration
	for _, node := range []string{"mine", "another's"} {
		for _, data := range []string{`{"readyMs": 2500}`, `{"readyMs": "soon"}`, ``} {
			e := event.StateApplied{
				Job:     job.Record{Node: node, Job: job.Job{Mode: job.Live}},
				Trigger: job.BotJoined, Data: []byte(data), Result: job.Result{Applied: true, From: job.Dispatching, To: job.Joining},
			}
			measure(e, "mine", s.metrics, func(one time.Duration) { took = append(took, one) })
		}
	}
	if want := fmt.Sprint([]time.Duration{2500 * time.Millisecond, 0, 0}); fmt.Sprint(took) != want {
		t.Errorf("counted: %v, want %s", took, want)
	}
}

// TestFleetMetrics is what is shown of a fleet that will be short of room.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 58, 0, 0, time.UTC)
	f := dispatch.Fleet{
		BotUsage: map[string]dispatch.BotResources{"1": {Cores: 1.5, Memory: 1 << 29}},
		Nodes:    []job.Node{{ID: "1", Name: "a", Capacity: 2, Bots: 1, HeartbeatAt: now.Add(-time.Second), FullReason: "no memory"}},
		Capacity: 2,
		Upcoming: []job.UpcomingCount{{From: now.Add(-3 * time.Minute), Jobs: 1}, {From: now.Add(2 * time.Minute), Jobs: 3}, {From: now.Add(time.Hour), Jobs: 5}},
	}
	got := fleetMetrics(f, now)
	if got.Next5Minutes != 4 || got.Next24Hours != 9 || got.UntilShortage != 2*time.Minute || len(got.Nodes) != 1 || !got.Nodes[0].Full || got.Nodes[0].HeartbeatAge != time.Second ||
		got.Nodes[0].BotCores != 1.5 || got.Nodes[0].BotMemory != 1<<29 {
		t.Errorf("shown: %+v", got)
	}
}
