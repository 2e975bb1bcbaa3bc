package webhook

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are updated when tries end.
type metrics struct {
	tries   *prometheus.CounterVec
	latency *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		tries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_webhook_tries_total",
			Help: "Webhook attempts by outcome (delivered, retry, failed) and response class (2xx to 5xx, or none).",
		}, []string{"outcome", "status_class"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "standin_webhook_try_seconds",
			Help:    "Duration of webhook attempts, from name resolution to the end of the response, by whether there was a response.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"responded"}),
	}
	for _, class := range []string{"none", "2xx", "3xx", "4xx", "5xx"} {
		for _, outcome := range []Outcome{Delivered, Retry, PermanentFailure} {
			m.tries.WithLabelValues(string(outcome), class) // there from the start, so that the first loss shows in rates
		}
		m.latency.WithLabelValues(strconv.FormatBool(class != "none"))
	}
	return m
}

// Collectors returns the metrics of the sender, for registration: tries, their
// latency, how many are in flight, and the backlog of the outbox.
func (s *Sender) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		s.metrics.tries, s.metrics.latency,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "standin_webhook_tries_running", Help: "Webhook attempts in flight.",
		}, func() float64 { all, _ := s.endpoints.running(); return float64(all) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "standin_webhook_tries_hanging", Help: "Webhook attempts in flight for more than a second.",
		}, func() float64 { _, slow := s.endpoints.running(); return float64(slow) }),
		&backlog{outbox: s.outbox, now: s.settings.Now},
	}
}

// backlog collects the size and age of the outbox. Nodes that share a database
// report the same backlog.
type backlog struct {
	outbox Outbox
	now    func() time.Time
}

const backlogTimeout = 5 * time.Second

var (
	backlogDepth = prometheus.NewDesc("standin_webhook_queue_depth",
		"Webhook deliveries that are neither delivered nor failed.", nil, nil)
	backlogOldest = prometheus.NewDesc("standin_webhook_oldest_undelivered_seconds",
		"Age of the oldest event in the webhook outbox; 0 if it is empty.", nil, nil)
)

// Describe implements prometheus.Collector.
func (b *backlog) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- backlogDepth
	descriptions <- backlogOldest
}

// Collect implements prometheus.Collector. It reports no figures while the
// database is unavailable.
func (b *backlog) Collect(collected chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
	defer cancel()
	waiting, oldest, err := b.outbox.Backlog(ctx)
	if err != nil {
		collected <- prometheus.NewInvalidMetric(backlogDepth, err)
		return
	}
	age := 0.0
	if !oldest.IsZero() {
		age = max(0, b.now().Sub(oldest).Seconds())
	}
	collected <- prometheus.MustNewConstMetric(backlogDepth, prometheus.GaugeValue, float64(waiting))
	collected <- prometheus.MustNewConstMetric(backlogOldest, prometheus.GaugeValue, age)
}
