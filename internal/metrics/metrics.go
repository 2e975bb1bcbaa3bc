// Package metrics counts what the service does, for Prometheus. The state of the
// fleet, such as the number of waiting jobs, is read when the metrics are
// requested.
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

// The steps whose lateness is measured, each from joinAt.
const (
	UntilLaunched = "launched" // the first attempt's bot was started
	UntilJoining  = "joining"  // the bot opens the meeting's page
)

// Metrics counts events. Its methods may be called from any goroutine.
type Metrics struct {
	registry       *prometheus.Registry
	lateness       *prometheus.HistogramVec
	transitions    *prometheus.CounterVec
	failures       *prometheus.CounterVec
	launchFailures prometheus.Counter
	leaseLosses    prometheus.Counter
	log            *slog.Logger
}

// New returns metrics that start at zero. readFleet returns the state of the
// fleet.
func New(readFleet func(context.Context) (Fleet, error), log *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "standin_dispatch_lateness_seconds", Help: "Time from joinAt until the bot of the first attempt was launched, and until it was joining.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"until"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_job_transitions_total", Help: "Status changes of jobs that this node applied, by the new status.",
		}, []string{"to"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_job_failures_total", Help: "Failed jobs on this node, by failure code.",
		}, []string{"code"}),
		launchFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_launch_failures_total", Help: "Failed launches of bots, which are retried.",
		}),
		leaseLosses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_lease_losses_total", Help: "Jobs that another dispatcher claimed while this node processed them.",
		}),
		log: log,
	}
	m.Register(m.lateness, m.transitions, m.failures, m.launchFailures, m.leaseLosses,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newFleetCollector(readFleet, log))
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

// Launched counts a first attempt whose bot was started this long after joinAt.
func (m *Metrics) Launched(late time.Duration) {
	m.lateness.WithLabelValues(UntilLaunched).Observe(late.Seconds())
}

// Joining counts a first attempt whose bot started to join this long after joinAt.
func (m *Metrics) Joining(late time.Duration) {
	m.lateness.WithLabelValues(UntilJoining).Observe(late.Seconds())
}

// Transitioned counts a status change of a job. code is the failure code of a
// failed job.
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

// Handler serves the metrics without authentication.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: errorLog{m.log}, ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 20 * time.Second,
	})
}

// errorLog writes the errors of a scrape to the service's log.
type errorLog struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (l errorLog) Println(about ...any) {
	for _, one := range about {
		if err, ok := one.(error); ok {
			l.log.Error("cannot serve all metrics", "error", err)
		}
	}
}
