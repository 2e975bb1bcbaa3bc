package service

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"syscall"
	"time"

	"standin/api"
	"standin/docs"
	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/operation/host"
	"standin/internal/recording/speech"
	"standin/internal/recording/storage"
	"standin/internal/server/dashboard"
	"standin/internal/server/guide"
	"standin/internal/server/httpapi"
	"standin/internal/server/httpmw"
	"standin/internal/server/mcpserver"
	"standin/internal/store"
)

// isOutage reports whether an error is of the database, the storage or a disk, and may end by
// itself.
func isOutage(err error) bool {
	return store.IsUnavailable(err) || storage.IsUnavailable(err) || errors.Is(err, syscall.ENOSPC)
}

// buildServer builds the HTTP API and the dashboard.
func (s *Service) buildServer(machine *host.Reader) error {
	settings := s.Settings
	if settings.WebhookSecret != "" && !webhook.Standard(settings.WebhookSecret) {
		s.Log.Warn("libraries of Standard Webhooks cannot verify what STANDIN_WEBHOOK_SECRET signs: it needs whsec_ and base64; " +
			"x-service-signature can be verified")
	}
	s.Keys = &account.Keys{Store: s.store, Now: time.Now, WebhookSecret: settings.WebhookSecret}
	description, err := api.Load()
	if err != nil {
		return err
	}
	tester := &lifecycle.EndpointTester{Poster: s.sender, Consumers: s.store, Now: time.Now}
	bodies, costly, revocations := httpmw.NewBodies(), httpapi.NewCostlyReads(), new(account.Revocations)
	apiSettings := httpapi.Settings{
		Description: description, BaseURL: settings.BaseURL, Version: settings.Tracing.Version, Keys: s.Keys, Jobs: s.jobs,
		Live: s.live, Sound: s.sound, Recordings: s.storage, Formats: s.formats, Logins: s.flows, Host: machine, Metrics: s.metrics.Handler(),
		Readiness: s.health.readiness,
		Invites:   s.invites, Calendars: s.calendars, Tester: tester,
		SigningKey: s.key, Options: settings.HTTP, Bodies: bodies, CostlyReads: costly, Revocations: revocations,
		AllowedMeetingHosts: settings.Dispatch.AllowedMeetingHosts, Agents: mcpserver.New(settings.Log), Tracer: s.tracer,
		Unavailable: isOutage, Log: settings.Log,
	}
	if settings.PaymentWebhookSecret != "" {
		apiSettings.Payments = &billing.Receiver{Secret: settings.PaymentWebhookSecret, Store: s.store, Now: time.Now}
	}
	if apiSettings.Output, err = speech.NewMaker(speech.Settings{ // fetches files from where webhooks may be sent
		Config: s.Speech, Files: s.network, Dir: filepath.Join(s.DataDir, "sounds"),
	}); err != nil {
		return err
	}
	handler, err := httpapi.New(apiSettings)
	if err != nil {
		return err
	}
	s.server, s.api = httpapi.NewServer(handler), handler
	s.server.ConnState = httpmw.NewConnections(maxConnections, settings.HTTP.TrustedProxies).Track
	s.users = account.NewUsers(account.UserSettings{
		Store: s.store, Now: time.Now, WebhookSecret: settings.WebhookSecret, Revocations: revocations,
	})
	s.started = time.Now()
	s.dashboard, err = dashboard.New(dashboard.Settings{
		Users: s.users, Jobs: s.jobs, Recordings: s.storage, Keys: s.Keys,
		Flows: s.flows, Host: machine, Mail: &mail.Store{DB: s.store}, Calendars: s.calendars,
		Tester: tester, System: s.System, Capacity: s.Capacity, OIDC: settings.OIDC,
		ShareLifetime: settings.ShareLinks, Alerts: s.alerts,
		AllowedMeetingHosts: settings.Dispatch.AllowedMeetingHosts,
		BaseURL:             settings.BaseURL, TrustedProxies: settings.HTTP.TrustedProxies, Bodies: bodies, CostlyReads: costly,
		Revocations: revocations, Unavailable: isOutage, Now: time.Now, Log: settings.Log, Limits: settings.DashboardLimits,
	})
	if err != nil {
		return err
	}
	about := guide.About{Version: settings.Tracing.Version, Description: description.JSON()}
	s.server.Handler = guide.Handler(docs.Files, about, s.dashboard.Handler(handler))
	s.server.Handler = settings.HTTP.TrustedProxies.WarnUnknownProxy(settings.Log, s.server.Handler)
	s.server.RegisterOnShutdown(s.dashboard.Drain)
	return nil
}

// newMetricsServer returns the server of the metrics on an address of their own;
// nil without one.
func (s *Service) newMetricsServer() *http.Server {
	if s.metricsListener == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	if s.Profiling {
		// Without the command line, which may contain secrets.
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 8 << 10,
	}
}

// FirstUserLink returns the page on which the first user of the dashboard is
// created. It works once and for a day. It is false when there is a user already.
func (s *Service) FirstUserLink(ctx context.Context) (string, bool, error) {
	return s.dashboard.FirstUserLink(ctx)
}

// SignInLink returns a link that signs in to the dashboard as a user of a team, and shows a page of
// it. It creates the first user if there is none.
func (s *Service) SignInLink(ctx context.Context, team account.Consumer, page string) (string, error) {
	token, none, err := s.users.FirstUserToken(ctx)
	if err != nil {
		return "", err
	}
	if none {
		user, err := s.users.Accept(ctx, token, account.NewUser{
			Name: "You", Email: "you@example.com", Password: rand.Text(), Consumer: team.Name,
		})
		if err != nil {
			return "", err
		}
		return s.dashboard.SignInLink(user, page), nil
	}
	users, err := s.users.Store.ConsumerUsers(ctx, team.ID)
	if err != nil {
		return "", err
	}
	if len(users) == 0 {
		return "", fmt.Errorf("team %s has no users", team.Name)
	}
	return s.dashboard.SignInLink(users[0], page), nil
}
