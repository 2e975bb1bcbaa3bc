package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/operation/metrics"
)

// scrape returns the metrics as Prometheus reads them.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// expect fails the test for each line that is missing.
func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, row := range lines {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("missing line %q", row)
		}
	}
}

func TestMetrics(t *testing.T) {
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
	m := metrics.New(func(context.Context) (dispatch.Fleet, error) { return fleet, nil }, slog.New(slog.DiscardHandler))
	m.Launched(20 * time.Millisecond)
	m.Joining(3 * time.Second)
	m.Transitioned(job.Failed, job.LobbyTimeout)
	m.Transitioned(job.Completed, "")
	m.LeaseLost()
	m.LaunchFailed()
	m.OutputChanged("speak", "finished")
	expect(t, scrape(t, m),
		`standin_dispatch_lateness_seconds_bucket{until="launched",le="0.01"} 0`,
		`standin_dispatch_lateness_seconds_bucket{until="launched",le="0.025"} 1`,
		`standin_dispatch_lateness_seconds_sum{until="joining"} 3`,
		`standin_job_transitions_total{to="failed"} 1`, `standin_job_transitions_total{to="completed"} 1`,
		`standin_job_failures_total{code="lobby_timeout"} 1`, `standin_job_failures_total{code="network_loss"} 0`,
		`standin_bot_output_total{command="speak",state="finished"} 1`, `standin_bot_output_total{command="other",state="failed"} 0`,
		`standin_lease_losses_total 1`, `standin_launch_failures_total 1`,
		`standin_jobs{status="pending"} 2`, `standin_jobs{status="scheduled"} 0`,
		`standin_node_bots{node="one"} 3`, `standin_node_full{node="two"} 1`, `standin_node_heartbeat_age_seconds{node="two"} 5`,
		`standin_node_bot_cores{node="one"} 1.25`, `standin_node_bot_memory_bytes{node="one"} 7.340032e+08`,
		`standin_node_heartbeat_age_seconds{node="one"} 0`,
		`standin_upcoming_bots{within="5m"} 4`, `standin_upcoming_bots{within="24h"} 9`, `standin_expected_bots 11`,
		`standin_capacity_shortage_seconds 120`, `standin_bot_heartbeat_age_seconds 7`)
}

// Counters are served even when the fleet cannot be read.
func TestMetricsWithoutFleet(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := metrics.New(func(context.Context) (dispatch.Fleet, error) { return dispatch.Fleet{}, errors.New("no database") },
		slog.New(slog.NewTextHandler(&log, nil)))
	m.LeaseLost()
	text := scrape(t, m)
	expect(t, text, `standin_lease_losses_total 1`)
	if strings.Contains(text, "standin_jobs{") || !strings.Contains(log.String(), "no database") {
		t.Errorf("shown:\n%s\nlogged:\n%s", text, log.String())
	}
}
