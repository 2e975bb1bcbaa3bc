package service

import (
	"context"
	"time"

	"standin/internal/jobs/dispatch"
	"standin/internal/operation/metrics"
	"standin/internal/server/dashboard"
)

// fleetMetrics converts a fleet for the metrics.
func fleetMetrics(f dispatch.Fleet, now time.Time) metrics.Fleet {
	converted := metrics.Fleet{Jobs: f.Jobs, OldestHeartbeat: f.OldestHeartbeat}
	for _, n := range f.Nodes {
		converted.Nodes = append(converted.Nodes, metrics.Node{
			Name: n.Name, Bots: n.Bots, Capacity: n.Capacity, Full: n.FullReason != "", HeartbeatAge: max(0, now.Sub(n.HeartbeatAt)),
			BotCores: f.BotUsage[n.ID].Cores, BotMemory: f.BotUsage[n.ID].Memory,
		})
	}
	for _, interval := range f.Upcoming {
		converted.Next24Hours += interval.Jobs
		if interval.From.Before(now.Add(5 * time.Minute)) {
			converted.Next5Minutes += interval.Jobs
		}
		// Bots that are still in meetings by then are not counted: nobody knows how long meetings last.
		if interval.Jobs > f.Capacity && converted.UntilShortage == 0 {
			converted.UntilShortage = max(time.Second, interval.From.Sub(now))
		}
	}
	return converted
}

// Capacity returns the capacity of all nodes, for the dashboard.
func (s *Service) Capacity(ctx context.Context) (dashboard.CapacityView, error) {
	f, err := s.fleet.Fleet(ctx)
	return dashboard.CapacityView{Hosts: f.Nodes, Capacity: f.Capacity, Bots: f.Bots, Forecast: f.Upcoming, Problems: s.health.problems()}, err
}
