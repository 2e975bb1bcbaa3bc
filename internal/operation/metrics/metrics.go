// Package metrics counts what the service does, for Prometheus.
package metrics

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"standin/internal/base/counter"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// The steps whose lateness is measured, each from joinAt.
const (
	untilLaunched = "launched" // the first attempt's bot was started
	untilJoining  = "joining"  // the bot opens the meeting's page
)

// Metrics counts events. Its methods may be called from any goroutine.
type Metrics struct {
	registry       *prometheus.Registry
	lateness       *prometheus.HistogramVec
	transitions    *prometheus.CounterVec
	failures       *prometheus.CounterVec
	ends           *prometheus.CounterVec
	launchFailures prometheus.Counter
	leaseLosses    prometheus.Counter
	output         *prometheus.CounterVec
	log            *slog.Logger
}

// New returns metrics that start at zero.
func New(log *slog.Logger) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		lateness: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "standin_dispatch_lateness_seconds",
			Help:    "Time from joinAt until the bot of the first attempt was launched, and until it was joining.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"until"}),
		transitions: counter.New("standin_job_transitions_total", "Job status changes that this node applied, by new status.",
			"to", job.Statuses()...),
		failures: counter.New("standin_job_failures_total", "Jobs that failed on this node, by failure code.", "code", job.FailureCodes()...),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_attempt_ends_total",
			Help: "Attempts of live jobs that ended on this node, by platform, failure code and cause; the code is empty if the job completed or " +
				"another attempt followed, the cause if it completed.",
		}, []string{"platform", "code", "cause"}),
		launchFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_launch_failures_total", Help: "Bot launches that failed and are retried.",
		}),
		leaseLosses: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_lease_losses_total", Help: "Jobs that another dispatcher claimed while this node processed them.",
		}),
		output: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_bot_output_total",
			Help: "Sounds and pictures that bots played and showed, by command and state, as received by this node.",
		}, []string{"command", "state"}),
		log: log,
	}
	m.Register(m.lateness, m.transitions, m.failures, m.ends, m.launchFailures, m.leaseLosses, m.output,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, until := range []string{untilLaunched, untilJoining} { // all are there from the start, so that rates have a beginning
		m.lateness.WithLabelValues(until)
	}
	for _, kind := range ingest.OutputKinds {
		for _, state := range ingest.OutputStates {
			m.output.WithLabelValues(kind, state)
		}
	}
	return m
}

// Register adds what others count. A metric whose name is taken is left
// out and logged.
func (m *Metrics) Register(others ...prometheus.Collector) {
	for _, other := range others {
		if err := m.registry.Register(other); err != nil {
			m.log.Error("cannot register metrics", "error", err)
		}
	}
}

// Launched counts a first attempt whose bot was started this long after joinAt.
func (m *Metrics) Launched(late time.Duration) {
	m.lateness.WithLabelValues(untilLaunched).Observe(late.Seconds())
}

// Joining counts a first attempt whose bot started to join this long after joinAt.
func (m *Metrics) Joining(late time.Duration) {
	m.lateness.WithLabelValues(untilJoining).Observe(late.Seconds())
}

// Transitioned counts a status change of a job. code is the failure code of a
// failed job.
func (m *Metrics) Transitioned(to job.Status, code job.FailureCode) {
	m.transitions.WithLabelValues(string(to)).Inc()
	if to == job.Failed {
		m.failures.WithLabelValues(string(code)).Inc()
	}
}

// AttemptEnded counts an attempt of a live job that ended.
func (m *Metrics) AttemptEnded(platform job.Platform, end job.AttemptEnd) {
	m.ends.WithLabelValues(string(platform), string(end.Code), end.Cause).Inc()
}

// OutputChanged counts what became of the output of a command.
func (m *Metrics) OutputChanged(command, state string) {
	m.output.WithLabelValues(command, state).Inc()
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
