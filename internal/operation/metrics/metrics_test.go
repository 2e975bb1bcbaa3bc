package metrics_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	m := metrics.New(slog.New(slog.DiscardHandler))
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
		`standin_lease_losses_total 1`, `standin_launch_failures_total 1`)
}

// failing has no metrics but an error.
type failing struct{}

func (failing) Describe(chan<- *prometheus.Desc) {}

func (failing) Collect(to chan<- prometheus.Metric) {
	err := errors.New("no database")
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

// TestFailingCollector: the others are served, and the error is in the log.
func TestFailingCollector(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := metrics.New(slog.New(slog.NewTextHandler(&log, nil)))
	m.Register(failing{})
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
	m.LeaseLost()
	expect(t, scrape(t, m), `standin_lease_losses_total 1`)
	if !strings.Contains(log.String(), "no database") {
		t.Errorf("logged:\n%s", log.String())
	}
}
