// Package counter makes counters for Prometheus.
package counter

import "github.com/prometheus/client_golang/prometheus"

// New returns a counter with a label. All values of the label are there from the start, so that
// rates have a beginning.
func New[T ~string](name, help, label string, values ...T) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		counter.WithLabelValues(string(value))
	}
	return counter
}
