package metrics

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/job"
)

// Fleet is how all nodes of a database are doing.
type Fleet struct {
	Jobs            map[job.Status]int // that have not ended
	Nodes           []Node
	Next5Minutes    int           // live jobs that begin in the next 5 minutes
	Next24Hours     int           // in the next 24 hours
	UntilShortage   time.Duration // until more bots begin within 5 minutes than there is room for; 0 when that is not foreseen
	OldestHeartbeat time.Duration // since the bot was heard that is silent for longest
}

// Node is one service of those that share the database.
type Node struct {
	Name           string
	Bots, Capacity int
	Full           bool
	HeartbeatAge   time.Duration
	BotCores       float64 // what its bots take, on average; 0 when none tells
	BotMemory      uint64  // bytes
}

// lookTime bounds a look at the fleet.
const lookTime = 10 * time.Second

// fleetCollector looks at the fleet whenever the metrics are asked for.
type fleetCollector struct {
	look                                                     func(context.Context) (Fleet, error)
	log                                                      *slog.Logger
	jobs, bots, room, full, nodeAge, ahead, shortIn, unheard *prometheus.Desc
	botCores, botMemory                                      *prometheus.Desc
}

func newFleetCollector(look func(context.Context) (Fleet, error), log *slog.Logger) *fleetCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("standin_"+name, help, labels, nil)
	}
	return &fleetCollector{
		look: look, log: log,
		jobs:      describe("jobs", "Jobs of all nodes that have not ended, by state.", "status"),
		bots:      describe("node_bots", "Bots that take room on a node.", "node"),
		room:      describe("node_room", "For how many bots a node has room.", "node"),
		full:      describe("node_full", "Whether one bot more would not fit on a node now.", "node"),
		nodeAge:   describe("node_heartbeat_age_seconds", "Since when a node was not heard.", "node"),
		botCores:  describe("node_bot_cores", "Processors that a bot of a node and its browser take, on the average of those that tell.", "node"),
		botMemory: describe("node_bot_memory_bytes", "Memory that a bot of a node and its browser take, on the average of those that tell.", "node"),
		ahead:     describe("bots_ahead", "Live jobs that are scheduled to begin within a time.", "within"),
		shortIn:   describe("room_short_seconds", "In what time more bots begin within 5 minutes than all nodes have room for; absent while that is not foreseen."),
		unheard:   describe("bot_heartbeat_age_seconds", "Since when the bot was not heard that is silent for longest."),
	}
}

// Describe implements prometheus.Collector.
func (c *fleetCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.jobs, c.bots, c.room, c.full, c.nodeAge, c.botCores, c.botMemory, c.ahead, c.shortIn, c.unheard} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *fleetCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime) // Collect is given none
	defer cancel()
	fleet, err := c.look(ctx)
	if err != nil {
		c.log.Error("metrics of the fleet cannot be had", "error", err)
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
			continue // a name twice would take all metrics with it
		}
		seen[node.Name] = true
		full := 0.0
		if node.Full {
			full = 1
		}
		gauge(c.bots, float64(node.Bots), node.Name)
		gauge(c.room, float64(node.Capacity), node.Name)
		gauge(c.full, full, node.Name)
		gauge(c.nodeAge, node.HeartbeatAge.Seconds(), node.Name)
		if node.BotCores > 0 {
			gauge(c.botCores, node.BotCores, node.Name)
		}
		if node.BotMemory > 0 {
			gauge(c.botMemory, float64(node.BotMemory), node.Name)
		}
	}
	gauge(c.ahead, float64(fleet.Next5Minutes), "5m")
	gauge(c.ahead, float64(fleet.Next24Hours), "24h")
	if fleet.UntilShortage > 0 {
		gauge(c.shortIn, fleet.UntilShortage.Seconds())
	}
	gauge(c.unheard, fleet.OldestHeartbeat.Seconds())
}
