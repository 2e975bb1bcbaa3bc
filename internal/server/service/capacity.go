package service

import (
	"context"

	"standin/internal/server/dashboard"
)

// Capacity returns the capacity of all nodes, for the dashboard.
func (s *Service) Capacity(ctx context.Context) (dashboard.CapacityView, error) {
	f, err := s.fleet.Fleet(ctx)
	return dashboard.CapacityView{
		Hosts: f.Nodes, Capacity: f.Capacity, Bots: f.Bots, Forecast: f.Upcoming, Week: f.Week, Problems: s.health.problems(),
	}, err
}
