package streaming

import (
	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/base/counter"
)

// metrics count what the live transcriber does.
type metrics struct {
	utterances *prometheus.CounterVec
	duration   prometheus.Histogram
	failures   prometheus.Counter
}

// The outcomes of an utterance.
const (
	outcomeRecognized = "recognized"
	outcomeLost       = "lost"
)

func newMetrics() *metrics {
	return &metrics{
		utterances: counter.New("standin_live_utterances_total",
			"Utterances that this node sent to the live transcriber, by outcome (recognized, lost).", "outcome", outcomeRecognized, outcomeLost),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "standin_live_utterance_seconds", Help: "Time from the end of an utterance until its final text.",
			Buckets: []float64{.1, .25, .5, 1, 2, 4, 8, 15, 30, 60},
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_live_transcriber_failures_total", Help: "Failed calls of the live transcriber; each is retried.",
		}),
	}
}

// Collectors returns the metrics of the live transcriber, for registration.
func (m *Meetings) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.metrics.utterances, m.metrics.duration, m.metrics.failures}
}
