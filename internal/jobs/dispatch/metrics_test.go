package dispatch_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/testing/storetest"
)

// TestFleetMetrics checks the metrics of a fleet whose capacity will be exceeded, with two nodes of one name.
func TestFleetMetrics(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 58, 0, 0, time.UTC)
	fleet := dispatch.Fleet{
		Jobs: map[job.Status]int{job.Pending: 2, job.InMeeting: 1},
		Nodes: []job.Node{
			{ID: "1", Name: "one", Bots: 3, Capacity: 4, HeartbeatAt: now.Add(time.Second)},
			{ID: "2", Name: "two", Bots: 4, Capacity: 4, FullReason: "no memory", HeartbeatAt: now.Add(-5 * time.Second)},
			{Name: "two", Bots: 9},
		},
		BotUsage: map[string]dispatch.BotResources{"1": {Cores: 1.25, Memory: 700 << 20}},
		Capacity: 2, Unscheduled: 7, OldestHeartbeat: 7 * time.Second, ReadAt: now,
		Upcoming: []job.UpcomingCount{
			{From: now.Add(-3 * time.Minute), Jobs: 1, Bots: 2}, {From: now.Add(2 * time.Minute), Jobs: 3, Bots: 3},
			{From: now.Add(time.Hour), Jobs: 5, Bots: 8},
		},
	}
	text := scrape(t, fleet)
	for _, line := range []string{
		`standin_jobs{status="pending"} 2`, `standin_jobs{status="scheduled"} 0`,
		`standin_node_bots{node="one"} 3`, `standin_node_full{node="one"} 0`, `standin_node_full{node="two"} 1`,
		`standin_node_heartbeat_age_seconds{node="one"} 0`, `standin_node_heartbeat_age_seconds{node="two"} 5`,
		`standin_node_bot_cores{node="one"} 1.25`, `standin_node_bot_memory_bytes{node="one"} 7.340032e+08`,
		`standin_upcoming_bots{within="5m"} 4`, `standin_upcoming_bots{within="15m"} 4`, `standin_upcoming_bots{within="24h"} 9`,
		`standin_expected_bots 11`, `standin_capacity_shortage_seconds 120`, `standin_bot_heartbeat_age_seconds 7`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("missing line %q:\n%s", line, text)
		}
	}
}

// TestFleetMetricsWithoutDatabase: the error is reported, with no metric.
func TestFleetMetricsWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.FreshSQLite(t))
	reader := dispatch.NewFleetReader(s, 0, time.Now)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := scrape(t, reader)
	if strings.Contains(text, "standin_jobs") || !strings.Contains(text, "count the jobs that have not ended: ") {
		t.Error(text)
	}
}

// scrape returns metrics as Prometheus reads them, or the error.
func scrape(t *testing.T, metrics prometheus.Collector) string {
	t.Helper()
	registry, answer := prometheus.NewRegistry(), httptest.NewRecorder()
	registry.MustRegister(metrics)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}
