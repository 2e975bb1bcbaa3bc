package canary

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the metrics of a canary.
type metrics struct {
	registry *prometheus.Registry
	match    prometheus.Gauge
	visits   *prometheus.CounterVec
	last     prometheus.Gauge
	seconds  prometheus.Gauge
	elements *prometheus.GaugeVec
	webhooks prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		match:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "standin_canary_match", Help: "1 if the pages of the last visit matched the profile, otherwise 0."}),
		visits:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "standin_canary_visits_total", Help: "Visits by result: match, mismatch or failed."}, []string{"result"}),
		last:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "standin_canary_last_visit_timestamp_seconds", Help: "When the last visit that reached a page began."}),
		seconds:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "standin_canary_last_visit_seconds", Help: "How long the last visit lasted."}),
		elements: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "standin_canary_element_candidate", Help: "Candidate of the profile that found an element in the last visit, from 1; 0 if the element is missing."}, []string{"screen", "element"}),
		webhooks: prometheus.NewCounter(prometheus.CounterOpts{Name: "standin_canary_webhook_failures_total", Help: "Webhooks that were not accepted in any attempt."}),
	}
	m.registry.MustRegister(m.match, m.visits, m.last, m.seconds, m.elements, m.webhooks)
	for _, result := range []string{"match", "mismatch", "failed"} {
		m.visits.WithLabelValues(result)
	}
	return m
}

// visited counts a visit.
func (m *metrics) visited(report Report) {
	result, match := "mismatch", 0.0
	if report.Match {
		result, match = "match", 1
	}
	m.visits.WithLabelValues(result).Inc()
	m.match.Set(match)
	m.last.Set(float64(report.At.UnixMilli()) / 1000)
	m.seconds.Set(report.Seconds)
	m.elements.Reset()
	for _, step := range report.Steps {
		for name, candidate := range elementsOf(report.Steps, step.Screen) {
			m.elements.WithLabelValues(string(step.Screen), name).Set(float64(candidate))
		}
	}
}

// failed counts a visit that did not take place.
func (m *metrics) failed() { m.visits.WithLabelValues("failed").Inc() }

// webhookFailed counts a webhook that was not accepted.
func (m *metrics) webhookFailed() { m.webhooks.Inc() }

// Metrics serves the metrics without authentication.
func (c *Canary) Metrics() http.Handler {
	return promhttp.HandlerFor(c.metrics.registry, promhttp.HandlerOpts{})
}
