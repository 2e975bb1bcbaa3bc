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
	upcoming := map[string]time.Duration{"5m": 5 * time.Minute, "15m": 15 * time.Minute, "24h": 24 * time.Hour}
	converted := metrics.Fleet{
		Jobs: f.Jobs, OldestHeartbeat: f.OldestHeartbeat, Upcoming: map[string]int{"5m": 0, "15m": 0, "24h": 0},
	}
	for _, n := range f.Nodes {
		converted.Nodes = append(converted.Nodes, metrics.Node{
			Name: n.Name, Bots: n.Bots, Capacity: n.Capacity, Full: n.FullReason != "", HeartbeatAge: max(0, now.Sub(n.HeartbeatAt)),
			BotCores: f.BotUsage[n.ID].Cores, BotMemory: f.BotUsage[n.ID].Memory,
		})
	}
	for _, interval := range f.Upcoming {
		for within, length := range upcoming {
			if interval.From.Before(now.Add(length)) {
				converted.Upcoming[within] += interval.Jobs
			}
		}
		if interval.Bots > f.Capacity && converted.UntilShortage == 0 {
			converted.UntilShortage = max(time.Second, interval.From.Sub(now))
		}
	}
	return converted
}

// Capacity returns the capacity of all nodes, for the dashboard.
func (s *Service) Capacity(ctx context.Context) (dashboard.CapacityView, error) {
	f, err := s.fleet.Fleet(ctx)
	return dashboard.CapacityView{
		Hosts: f.Nodes, Capacity: f.Capacity, Bots: f.Bots, Forecast: f.Upcoming, Week: f.Week, Problems: s.health.problems(),
	}, err
}
