// Package metrics counts what the service does and shows it in Prometheus'
// form. What is a state rather than an event, such as how many jobs wait, is
// looked at when it is asked for.
//
// It knows nothing of how jobs move or where they are kept: those who know
// call it.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"standin/internal/job"
)

// The ways to a meeting whose lateness is measured, each from joinAt.
const (
	UntilLaunched = "launched" // the first attempt's bot was started
	UntilJoining  = "joining"  // it opens the meeting's page
)

// Metrics is what is counted. Its methods may be called from any goroutine.
type Metrics struct {
	registry       *prometheus.Registry
	lateness       *prometheus.HistogramVec
	transitions    *prometheus.CounterVec
	failures       *prometheus.CounterVec
	launchFailures prometheus.Counter
	leaseLosses    prometheus.Counter
	log            *slog.Logger
}

// New returns metrics in which nothing was counted yet. look tells how the
// fleet is doing.
func New(look func(context.Context) (Fleet, error), log *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "standin_dispatch_lateness_seconds", Help: "How long after joinAt the first attempt's bot was launched, and was joining.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"until"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_job_transitions_total", Help: "Jobs that this node moved into a state.",
		}, []string{"to"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_job_failures_total", Help: "Jobs that this node saw fail, by their failure code.",
		}, []string{"code"}),
		launchFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_launch_failures_total", Help: "Launches that failed; each is tried again for a while.",
		}),
		leaseLosses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_lease_losses_total", Help: "Jobs that another dispatcher took over from this node while it worked on them.",
		}),
		log: log,
	}
	m.Register(m.lateness, m.transitions, m.failures, m.launchFailures, m.leaseLosses,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newFleetCollector(look, log))
	for _, until := range []string{UntilLaunched, UntilJoining} {
		m.lateness.WithLabelValues(until) // there from the start, so that rates have a beginning
	}
	return m
}

// Register adds what others count. A name that is there already is left out,
// and said in the log.
func (m *Metrics) Register(others ...prometheus.Collector) {
	for _, other := range others {
		if err := m.registry.Register(other); err != nil {
			m.log.Error("metrics that are not shown", "error", err)
		}
	}
}

// Launched counts a first attempt whose bot was started so long after joinAt.
func (m *Metrics) Launched(late time.Duration) {
	m.lateness.WithLabelValues(UntilLaunched).Observe(late.Seconds())
}

// Joining counts a first attempt whose bot began to join so long after joinAt.
func (m *Metrics) Joining(late time.Duration) {
	m.lateness.WithLabelValues(UntilJoining).Observe(late.Seconds())
}

// Moved counts a job that came into a state; code is why it failed.
func (m *Metrics) Transitioned(to job.Status, code job.FailureCode) {
	m.transitions.WithLabelValues(string(to)).Inc()
	if to == job.Failed {
		m.failures.WithLabelValues(string(code)).Inc()
	}
}

// LaunchFailed counts a bot that could not be started.
func (m *Metrics) LaunchFailed() { m.launchFailures.Inc() }

// LeaseLost counts a job that another dispatcher took over.
func (m *Metrics) LeaseLost() { m.leaseLosses.Inc() }

// Handler shows the metrics, to whoever may call it.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: errorLog{m.log}, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 20 * time.Second,
	})
}

// errorLog writes what went wrong with a scrape to the service's log.
type errorLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(about ...any) {
	for _, one := range about {
		if err, ok := one.(error); ok {
			l.log.Error("metrics cannot be shown in full", "error", err)
		}
	}
}
