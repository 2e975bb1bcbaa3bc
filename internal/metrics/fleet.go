package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/job"
)

// Fleet is the state of all nodes of a database.
type Fleet struct {
	Jobs            map[job.Status]int // that have not ended
	Nodes           []Node
	Next5Minutes    int           // live jobs that start in the next 5 minutes
	Next24Hours     int           // in the next 24 hours
	UntilShortage   time.Duration // until more bots start within 5 minutes than fit; 0 when all scheduled jobs fit
	OldestHeartbeat time.Duration // age of the oldest last heartbeat of a bot
}

// Node is one of the services that share the database.
type Node struct {
	Name           string
	Bots, Capacity int
	Full           bool
	HeartbeatAge   time.Duration
	BotCores       float64 // average of its bots; 0 when none reports it
	BotMemory      uint64  // bytes
}

// readTimeout bounds the reading of the fleet.
const readTimeout = 10 * time.Second

// fleetCollector reads the fleet for each request for the metrics.
type fleetCollector struct {
	read                                                                     func(context.Context) (Fleet, error)
	log                                                                      *slog.Logger
	jobs, bots, capacity, full, nodeAge, upcoming, shortage, oldestHeartbeat *prometheus.Desc
	botCores, botMemory                                                      *prometheus.Desc
}

func newFleetCollector(read func(context.Context) (Fleet, error), log *slog.Logger) *fleetCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("standin_"+name, help, labels, nil)
	}
	return &fleetCollector{
		read: read, log: log,
		jobs:            describe("jobs", "Jobs of all nodes that have not ended, by status.", "status"),
		bots:            describe("node_bots", "Bots that use capacity of a node.", "node"),
		capacity:        describe("node_room", "Capacity of a node for bots.", "node"),
		full:            describe("node_full", "1 if no more bots fit on a node now.", "node"),
		nodeAge:         describe("node_heartbeat_age_seconds", "Age of the last heartbeat of a node.", "node"),
		botCores:        describe("node_bot_cores", "CPU cores that a bot of a node uses, browser included: average of the bots that report it.", "node"),
		botMemory:       describe("node_bot_memory_bytes", "Memory that a bot of a node uses, browser included: average of the bots that report it.", "node"),
		upcoming:        describe("bots_ahead", "Live jobs that are scheduled to start within a time.", "within"),
		shortage:        describe("room_short_seconds", "Time until more bots start within 5 minutes than all nodes have capacity for; absent while all scheduled jobs fit."),
		oldestHeartbeat: describe("bot_heartbeat_age_seconds", "Age of the last heartbeat of the bot that is silent for longest."),
	}
}

// Describe implements prometheus.Collector.
func (c *fleetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.jobs, c.bots, c.capacity, c.full, c.nodeAge, c.botCores, c.botMemory, c.upcoming, c.shortage, c.oldestHeartbeat} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *fleetCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout) // Collect is given none
	defer cancel()
	fleet, err := c.read(ctx)
	if err != nil {
		c.log.Error("cannot read the state of the fleet for the metrics", "error", err)
		return
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, status := range job.Statuses() {
		if !status.Terminal() {
			gauge(c.jobs, float64(fleet.Jobs[status]), string(status))
		}
	}
	seen := map[string]bool{}
	for _, node := range fleet.Nodes {
		if seen[node.Name] {
			continue // a duplicate name would fail the whole request
		}
		seen[node.Name] = true
		full := 0.0
		if node.Full {
			full = 1
		}
		gauge(c.bots, float64(node.Bots), node.Name)
		gauge(c.capacity, float64(node.Capacity), node.Name)
		gauge(c.full, full, node.Name)
		gauge(c.nodeAge, node.HeartbeatAge.Seconds(), node.Name)
		if node.BotCores > 0 {
			gauge(c.botCores, node.BotCores, node.Name)
		}
		if node.BotMemory > 0 {
			gauge(c.botMemory, float64(node.BotMemory), node.Name)
		}
	}
	gauge(c.upcoming, float64(fleet.Next5Minutes), "5m")
	gauge(c.upcoming, float64(fleet.Next24Hours), "24h")
	if fleet.UntilShortage > 0 {
		gauge(c.shortage, fleet.UntilShortage.Seconds())
	}
	gauge(c.oldestHeartbeat, fleet.OldestHeartbeat.Seconds())
}
