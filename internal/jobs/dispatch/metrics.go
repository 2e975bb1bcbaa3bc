package dispatch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/jobs/job"
)

// readTimeout bounds the reading of the fleet.
const readTimeout = 10 * time.Second

// Describe implements prometheus.Collector. What is collected depends on the fleet.
func (*FleetReader) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It reads the fleet for each request.
func (r *FleetReader) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout) // Collect is given none
	defer cancel()
	fleet, err := r.Fleet(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	fleet.collect(to)
}

// collect returns the metrics of a fleet.
func (f Fleet) collect(to chan<- prometheus.Metric) {
	gauge := func(value float64, name, help string, labels ...string) { // a label and its value, or none
		var names, values []string
		if len(labels) > 0 {
			names, values = labels[:1], labels[1:]
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("standin_"+name, help, names, nil), prometheus.GaugeValue, value, values...)
	}
	for _, status := range job.Statuses() {
		if !status.Terminal() {
			gauge(float64(f.Jobs[status]), "jobs", "Unfinished jobs on all nodes, by status.", "status", string(status))
		}
	}
	seen := map[string]bool{}
	for _, node := range f.Nodes {
		if seen[node.Name] {
			continue // a duplicate name would fail the whole request
		}
		seen[node.Name] = true
		full, usage, age := 0.0, f.BotUsage[node.ID], max(0, f.ReadAt.Sub(node.HeartbeatAt))
		if node.FullReason != "" {
			full = 1
		}
		gauge(float64(node.Bots), "node_bots", "Bots that use the capacity of a node.", "node", node.Name)
		gauge(float64(node.Capacity), "node_capacity", "Number of bots that a node can run.", "node", node.Name)
		gauge(full, "node_full", "1 if a node has no capacity left, otherwise 0.", "node", node.Name)
		gauge(age.Seconds(), "node_heartbeat_age_seconds", "Age of the last heartbeat of a node.", "node", node.Name)
		if usage.Cores > 0 {
			gauge(usage.Cores, "node_bot_cores", "Average CPU cores of a bot with its browser on a node.", "node", node.Name)
		}
		if usage.Memory > 0 {
			gauge(float64(usage.Memory), "node_bot_memory_bytes", "Average memory of a bot with its browser on a node.", "node", node.Name)
		}
	}
	starting := func(within time.Duration) (jobs int) {
		for _, interval := range f.Upcoming {
			if interval.From.Before(f.ReadAt.Add(within)) {
				jobs += interval.Jobs
			}
		}
		return jobs
	}
	for name, within := range map[string]time.Duration{"5m": 5 * time.Minute, "15m": ReserveTime, "24h": 24 * time.Hour} {
		gauge(float64(starting(within)), "upcoming_bots", "Live jobs that are scheduled to start within a time.", "within", name)
	}
	gauge(float64(starting(ReserveTime)+f.Unscheduled), "expected_bots", "Live jobs that are scheduled to start within 15 minutes, "+
		"and as many as began unscheduled in the same time of one of the last three weeks.")
	for _, interval := range f.Upcoming {
		if interval.Bots > f.Capacity {
			gauge(max(1, interval.From.Sub(f.ReadAt).Seconds()), "capacity_shortage_seconds",
				"Time until the scheduled bots exceed the capacity; absent if all fit.")
			break
		}
	}
	gauge(f.OldestHeartbeat.Seconds(), "bot_heartbeat_age_seconds", "Age of the oldest last heartbeat of all bots.")
}
