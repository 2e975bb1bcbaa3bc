package dispatch

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// Describe implements prometheus.Collector.
func (Fleet) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (f Fleet) Collect(to chan<- prometheus.Metric) { f.collect(to) }

// Reserve reserves a slot for a new bot.
func Reserve(t *testing.T, c *Capacity, now time.Time) {
	t.Helper()
	if _, reason := c.reserve(t.Context(), uuid.New(), 0, now); reason != "" {
		t.Fatal(reason)
	}
}
