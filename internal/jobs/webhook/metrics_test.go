package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
)

// registered returns a registry with a sender's metrics.
func registered(sender *webhook.Sender) *prometheus.Registry {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(sender.Collectors()...)
	return registry
}

// gather returns the values of a registry; of histograms, the counts.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "standin_webhook_")
			for _, label := range metric.GetLabel() {
				name += fmt.Sprintf(" %s=%s", label.GetName(), label.GetValue())
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	fine, gone, dead := newReceiver(t, ok), newReceiver(t, status(410)), newReceiver(t, status(503))
	closed := newReceiver(t, ok)
	closed.Close()
	outbox := newOutbox(t)
	put(t, outbox, delivery(fine.URL), delivery(fine.URL), delivery(gone.URL), delivery(dead.URL), delivery(closed.URL))
	registry := registered(run(t, outbox, webhook.Settings{Schedule: webhook.Schedule{time.Hour}}).Sender)
	want := map[string]float64{
		"tries_total outcome=delivered status_class=2xx": 2,
		"tries_total outcome=failed status_class=4xx":    1,
		"tries_total outcome=retry status_class=5xx":     1,
		"tries_total outcome=retry status_class=none":    1,
		"try_seconds responded=true":                     4,
		"try_seconds responded=false":                    1,
		"tries_running":                                  0,
		"tries_hanging":                                  0,
	}
	await.Until(t, "the metrics of five tries", func() bool {
		got := gather(t, registry)
		for name, value := range want {
			if one, ok := got[name]; !ok || one != value {
				return false
			}
		}
		return true
	})
}

// The backlog metrics are absent while the outbox is unavailable.
func TestBacklogMetrics(t *testing.T) {
	t.Parallel()
	at := time.Now().Truncate(time.Millisecond)
	settings := webhook.Settings{Now: func() time.Time { return at }}
	outbox := newOutbox(t)
	if got := gather(t, registered(webhook.NewSender(outbox, settings))); got["queue_depth"] != 0 || got["oldest_undelivered_seconds"] != 0 {
		t.Errorf("of an empty outbox: %v", got)
	}
	young, old := delivery("https://a.test/"), delivery("https://b.test/")
	young.EmittedAt, old.EmittedAt = at.Add(-time.Minute), at.Add(-time.Hour)
	put(t, outbox, young, old)
	if got := gather(t, registered(webhook.NewSender(outbox, settings))); got["queue_depth"] != 2 ||
		got["oldest_undelivered_seconds"] != 3600 {
		t.Errorf("of two deliveries: %v", got)
	}
	outbox.fail = func(string) error { return errors.New("database is away") }
	if _, err := registered(webhook.NewSender(outbox, settings)).Gather(); err == nil || !strings.Contains(err.Error(), "database is away") {
		t.Errorf("while the database is away: %v", err)
	}
}
