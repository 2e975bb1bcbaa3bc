package service

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/httpapi/ratelimit"
)

// addDashboard has the server serve the dashboard's pages as well. The API's
// paths stay the API's.
func (s *Service) addDashboard(server *http.Server, p parts, proxies ratelimit.Proxies) error {
	var err error
	s.users = account.NewUsers(account.UserSettings{Store: s.store, Now: time.Now, WebhookSecret: s.settings.WebhookSecret})
	s.dashboard, err = dashboard.New(dashboard.Settings{
		Users: s.users, Jobs: p.jobs, Recordings: s.storage, Records: s.store, Flows: p.flows, Host: p.machine,
		Tester:   &dashboard.EndpointTester{Poster: p.sender, Now: time.Now},
		Capacity: fleet{p.dispatcher}, OIDC: s.settings.OIDC,
		BaseURL: s.settings.BaseURL, Proxies: proxies, Now: time.Now, Log: s.settings.Log, Limits: s.settings.DashboardLimits,
	})
	if err != nil {
		return fmt.Errorf("make the dashboard: %w", err)
	}
	server.Handler = s.dashboard.Handler(server.Handler)
	server.RegisterOnShutdown(s.dashboard.Drain)
	return nil
}

// FirstUserLink is the page on which the first user of the dashboard is made,
// good once and for a day; false when there is a user already.
func (s *Service) FirstUserLink(ctx context.Context) (string, bool, error) {
	return s.dashboard.FirstUserLink(ctx)
}

// fleet tells the dashboard what the dispatcher knows of all nodes.
type fleet struct{ dispatcher *dispatch.Dispatcher }

// Capacity implements dashboard.Capacity.
func (f fleet) Capacity(ctx context.Context) (dashboard.CapacityView, error) {
	now, err := f.dispatcher.Fleet(ctx)
	if err != nil {
		return dashboard.CapacityView{}, err
	}
	view := dashboard.CapacityView{Capacity: now.Capacity, Bots: now.Bots}
	for _, node := range now.Nodes {
		view.Hosts = append(view.Hosts, dashboard.HostView{
			Name: node.Name, Bots: node.Bots, Capacity: node.Capacity, LastHeartbeatAt: node.HeartbeatAt, FullReason: node.FullReason,
		})
	}
	for _, ahead := range now.Upcoming {
		view.Forecast = append(view.Forecast, dashboard.Forecast{From: ahead.From, Bots: ahead.Jobs})
	}
	return view, nil
}
