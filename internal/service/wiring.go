package service

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/docs"
	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/account/device"
	"standin/internal/bot/zoomsdk"
	"standin/internal/calendarsync"
	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/event"
	"standin/internal/guide"
	"standin/internal/host"
	"standin/internal/httpapi"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/jobfiles"
	"standin/internal/launch/simulator"
	"standin/internal/lifecycle"
	"standin/internal/live"
	"standin/internal/mail"
	"standin/internal/mcpserver"
	"standin/internal/metrics"
	"standin/internal/recording/build"
	"standin/internal/recording/formats"
	"standin/internal/retention"
	"standin/internal/sound"
	"standin/internal/store/postgres"
	"standin/internal/tracing"
	"standin/internal/webhook"
)

const (
	// maxUpload bounds one uploaded file: a day's recording is far smaller.
	maxUpload = 32 << 30
	// maxConnections bounds the open connections of clients.
	maxConnections = 10_000
	// uploadTime is how long such a file may take; a stalled upload ends earlier.
	uploadTime = 6 * time.Hour
)

// build builds the parts of the service, each from those before it. ctx ends
// when the service stops.
func (s *Service) build(ctx context.Context) error {
	settings, log := s.settings, s.settings.Log
	node, err := loadNode(settings)
	if err != nil {
		return err
	}
	if s.tracer, err = s.newTracer(node.ID); err != nil {
		return err
	}
	events := new(event.Publisher)
	machine := host.NewReader(settings.DataDir)
	if s.sender, err = s.newSender(); err != nil {
		return err
	}
	launcher, timeouts, check, err := s.newLauncher(events)
	if err != nil {
		return err
	}
	s.health = s.newHealth(check)
	if settings.Launcher == "manual" {
		settings.Dispatch.Prelaunch = 0 // the operator runs the bots, and may do so before joinAt
	}
	files := jobfiles.Files{Storage: s.storage, DataDir: settings.DataDir}
	files.Volumes, _ = launcher.(jobfiles.Volumes) // of the Docker launcher
	finisher := &build.Finisher{Storage: s.storage, BaseURL: settings.BaseURL, TempDir: settings.DataDir, Log: log}
	finalizer := &dispatch.Finalizer{
		Store:    s.store,
		Finisher: finisher,
		Files:    files,
	}
	s.jobs = lifecycle.New(lifecycle.Settings{
		Store: s.store, Finalizer: finalizer, Recordings: files, Outputs: s.storage, BaseURL: settings.BaseURL, Events: events, Now: time.Now,
		Transcribe: settings.Transcriber.URL != "", Options: settings.Lifecycle, RecordingBitRate: recordingBitRate(settings.Bots.Recording),
	})
	jobs := s.jobs
	s.live = live.NewHub(s.store, log)
	s.sound = &sound.Service{Hub: sound.NewHub(), Recordings: finisher, Jobs: jobs, Live: s.live, Client: s.sender.Client(), NodeURL: settings.NodeURL, Nodes: s.store, Log: log}
	s.simulator = simulator.New(simulator.Settings{Service: jobs, Uploads: s.storage, OnExit: botChanged(events), Log: log})
	s.fleet = dispatch.NewFleetReader(s.store, settings.Dispatch.Lease, time.Now)
	s.metrics = newMetrics(s.fleet, log)
	s.metrics.Register(s.sender.Collectors()...)
	s.metrics.Register(s.sound.Collectors()...)
	s.metrics.Register(s.tracer.Collectors()...)
	s.metricsServer = s.newMetricsServer()
	s.capacity = s.newCapacity(machine)
	s.dispatcher = dispatch.New(dispatch.Settings{
		Store: s.store, Jobs: jobs, Launcher: simulator.Router{Test: s.simulator, Live: launcher}, Timeouts: timeouts,
		Recordings: finalizer, SigningKey: s.key, ServiceURL: settings.BotServiceURL,
		Options: settings.Dispatch, OwnHosts: s.ownHosts(), NoZoomSDK: s.noZoomSDK(), SingleNode: !Shared(settings.DatabaseURL), Node: node,
		Capacity: s.capacity, Broken: func() error { return s.health.failure(checkLauncher) }, Metrics: s.metrics, Now: time.Now, Log: log,
	})
	s.notifier = s.store.NewNotifier(publishRemote(events), log)
	ended := new(endedJobs)
	s.alerts = s.newAlerts(machine, ended, node.Name)
	s.subscribe(ctx, events, jobs, node, ended)
	s.flows = device.New(device.Settings{Store: s.store, BaseURL: settings.BaseURL, Now: time.Now, Log: log})
	s.cleaner = retention.New(retention.Settings{
		Store: s.store, Recordings: jobs, Files: files, Options: settings.Retention, Now: time.Now, Log: log,
	})
	if s.transcripts, err = s.newTranscriber(jobs); err != nil {
		return err
	}
	s.metrics.Register(s.transcripts.Collectors()...)
	if err := s.newLiveTranscriber(jobs); err != nil {
		return err
	}
	s.formats = formats.NewMaker(s.storage, settings.DataDir, log)
	s.invites = &lifecycle.InviteScheduler{
		Jobs: jobs, Plans: s.store, FreeTierJobs: settings.FreeTierJobs, WebhookSecret: settings.WebhookSecret,
	}
	if s.calendars, err = s.newCalendars(); err != nil {
		return err
	}
	return s.buildServer(jobs, machine)
}

// newCalendars returns the worker that reads connected calendars.
func (s *Service) newCalendars() (*calendarsync.Service, error) {
	secret := s.key
	if s.settings.EncryptionKey != "" {
		secret = []byte(s.settings.EncryptionKey)
	}
	key, err := calendarsync.NewKey(secret)
	if err != nil {
		return nil, err
	}
	allow, err := s.webhookAllow()
	if err != nil {
		return nil, err
	}
	proxy, err := webhook.ParseProxy(s.settings.WebhookProxy)
	if err != nil {
		return nil, err
	}
	return calendarsync.New(calendarsync.Settings{
		Store: s.store, Jobs: s.invites, Key: key, Network: calendarsync.Network{Allow: allow, OwnHosts: s.ownHosts(), Proxy: proxy},
		APIs: s.settings.Calendars, BaseURL: s.settings.BaseURL, MeetingHosts: s.settings.Dispatch.AllowedMeetingHosts, Now: time.Now, Log: s.settings.Log,
	}), nil
}

// newSender returns the sender of webhooks.
func (s *Service) newSender() (*webhook.Sender, error) {
	allow, err := s.webhookAllow()
	if err != nil {
		return nil, err
	}
	s.settings.Log.Debug("webhook destinations allowed: public addresses and these networks", "allow", allow)
	proxy, err := webhook.ParseProxy(s.settings.WebhookProxy)
	if err != nil {
		return nil, err
	}
	settings := webhook.Settings{
		Allow: allow, OwnHosts: s.ownHosts(), Proxy: proxy, PrivateBodies: s.settings.WebhookPrivateResponses, TryTimeout: s.settings.WebhookTimeout, Log: s.settings.Log,
	}
	if s.tracer != nil {
		settings.Tracer = s.tracer
	}
	return webhook.NewSender(s.store, settings), nil
}

// newTracer returns the exporter of traces; nil without a collector.
func (s *Service) newTracer(node string) (*tracing.Tracer, error) {
	settings := s.settings.Tracing
	settings.Node, settings.Timeline, settings.Log = node, s.store, s.settings.Log
	tracer, err := tracing.New(settings)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	return tracer, nil
}

// noZoomSDK returns why bots cannot join with Zoom's Meeting SDK; empty when
// they can.
func (s *Service) noZoomSDK() string {
	sdk := s.settings.Bots.ZoomSDK
	if err := (zoomsdk.Settings{Dir: sdk.Dir, Key: sdk.Key, Secret: sdk.Secret}).Validate(); err != nil {
		return err.Error()
	}
	return ""
}

// subscribe connects the events of this process to the parts that handle them,
// and to the other nodes. ctx ends when the service stops: simulated bots end
// with it, and their jobs get another attempt after the restart.
func (s *Service) subscribe(ctx context.Context, events *event.Publisher, jobs *lifecycle.Service, node dispatch.Node, ended *endedJobs) {
	events.Subscribe(func(e event.Event) {
		switch e := e.(type) {
		case event.JobDue:
			if !dispatch.Soon(e.At, e.Waiting, time.Now()) {
				return
			}
			s.dispatcher.Wake()
			if !e.Remote {
				s.notifier.Notify(postgres.Notification{Jobs: true})
			}
		case event.DeliveryDue:
			s.sender.Wake()
			if !e.Remote {
				s.notifier.Notify(postgres.Notification{Deliveries: true})
			}
		case event.CommandQueued:
			if e.Remote {
				jobs.NotifyCommand(e.JobID)
			} else {
				s.notifier.Notify(postgres.Notification{Commands: []uuid.UUID{e.JobID}})
			}
		case event.BotChanged:
			if ctx.Err() == nil {
				s.dispatcher.BotStateChanged(ctx, e.JobID)
			}
		case event.TextsStored:
			s.live.Wake(e.JobID)
		case event.TranscriptionDue:
			s.transcripts.Wake()
		case event.CommandSettled:
			s.live.Wake(e.JobID)
		case event.StreamChanged:
			s.live.Wake(e.JobID)
		case event.StateApplied:
			s.live.Wake(e.Job.ID)
			if e.Result.Changed() && e.Result.To.Terminal() {
				s.tracer.JobEnded(e.Job)
			}
			if e.Trigger == job.ManifestFinalized {
				s.transcripts.Wake()
			}
			ended.add(e)
			measure(e, node.ID, s.metrics, s.dispatcher.RecordStart)
		}
	})
}

// publishRemote publishes the notifications of other nodes.
func publishRemote(events *event.Publisher) func(postgres.Notification) {
	return func(n postgres.Notification) {
		if n.Jobs {
			events.Publish(event.JobDue{Remote: true})
		}
		if n.Deliveries {
			events.Publish(event.DeliveryDue{Remote: true})
		}
		for _, id := range n.Commands {
			events.Publish(event.CommandQueued{JobID: id, Remote: true})
		}
	}
}

// botChanged publishes the starts and exits that a launcher reports.
func botChanged(events *event.Publisher) func(uuid.UUID, int) {
	return func(jobID uuid.UUID, attempt int) { events.Publish(event.BotChanged{JobID: jobID, Attempt: attempt}) }
}

// measure counts state changes, and records how long the bots of this node take
// to start.
func measure(e event.StateApplied, node string, m *metrics.Metrics, recordStart func(time.Duration)) {
	r := e.Job
	if e.Result.Changed() {
		m.Transitioned(e.Result.To, r.FailureCode)
	}
	if state, ok := ingest.OutputStates[e.Trigger]; ok && e.Result.Applied {
		m.OutputChanged(ingest.KnownOutput(ingest.ParseEventData(e.Data).Command), state)
	}
	if e.Trigger != job.BotJoined || r.Mode == job.Test {
		return
	}
	if r.Attempts <= 1 && !r.JoinAt.Before(r.CreatedAt) {
		m.Joining(max(0, r.HeartbeatAt.Sub(r.JoinAt)))
	}
	if r.Node != node {
		return
	}
	var data struct {
		ReadyMS int64 `json:"readyMs"`
	}
	_ = json.Unmarshal(e.Data, &data) // a bot need not report it
	recordStart(time.Duration(max(0, data.ReadyMS)) * time.Millisecond)
}

// buildServer builds the HTTP API and the dashboard.
func (s *Service) buildServer(jobs *lifecycle.Service, machine *host.Reader) error {
	settings := s.settings
	s.Keys = &account.Keys{Store: s.store, Now: time.Now, WebhookSecret: settings.WebhookSecret}
	description, err := api.Load()
	if err != nil {
		return fmt.Errorf("load the API description: %w", err)
	}
	tester := &lifecycle.EndpointTester{Poster: s.sender, Consumers: s.store, Now: time.Now}
	bodies, costly, revocations := httpmw.NewBodies(), httpapi.NewCostlyReads(), new(account.Revocations)
	apiSettings := httpapi.Settings{
		Description: description, BaseURL: settings.BaseURL, Version: settings.Tracing.Version, Keys: s.Keys, Audit: s.store, Jobs: jobs, Controls: jobs, History: jobs, Texts: s.store, Usage: s.store, Live: s.live, Sound: s.sound, Webhooks: jobs, Bots: jobs,
		Recordings: s.storage, Formats: s.formats, Logins: s.flows, Host: machine, JobCounts: s.store, Metrics: s.metrics.Handler(), Readiness: s.health,
		Invites: s.invites, Calendars: s.calendars, Tester: tester,
		SigningKey: s.key, Options: settings.HTTP, Bodies: bodies, CostlyReads: costly, Revocations: revocations,
		AllowedMeetingHosts: settings.Dispatch.AllowedMeetingHosts, Agents: mcpserver.New(settings.Log),
		MaxUploadBytes: maxUpload, Log: settings.Log,
	}
	if apiSettings.Timeouts.Upload == 0 {
		apiSettings.Timeouts.Upload = uploadTime
	}
	if settings.PaymentWebhookSecret != "" {
		apiSettings.Payments = &billing.Receiver{Secret: settings.PaymentWebhookSecret, Store: s.store, Now: time.Now}
	}
	if s.tracer != nil {
		apiSettings.Tracer = s.tracer
	}
	if apiSettings.Output, err = s.newOutputMaker(); err != nil {
		return err
	}
	handler, err := httpapi.New(apiSettings)
	if err != nil {
		return fmt.Errorf("build the HTTP API: %w", err)
	}
	s.server, s.api = httpapi.NewServer(handler), handler
	s.server.ConnState = httpmw.NewConnections(maxConnections, settings.HTTP.TrustedProxies).Track
	s.users = account.NewUsers(account.UserSettings{Store: s.store, Now: time.Now, WebhookSecret: settings.WebhookSecret, Revocations: revocations})
	s.dashboard, err = dashboard.New(dashboard.Settings{
		Users: s.users, Jobs: jobs, Recordings: s.storage, Accounts: s.store, Keys: s.store, Audit: s.store, Search: s.store, Operator: s.store,
		Flows: s.flows, Host: machine, Mail: mail.Directory(MailDir(settings.DataDir)), Calendars: s.calendars,
		Webhooks: jobs, Tester: tester,
		System: systemView{s, time.Now()}, Capacity: fleetView{s.fleet, s.health}, OIDC: settings.OIDC, Usage: s.store, Shares: s.store, ShareLifetime: settings.ShareLinks, Alerts: alertsView{s},
		AllowedMeetingHosts: settings.Dispatch.AllowedMeetingHosts,
		BaseURL:             settings.BaseURL, TrustedProxies: settings.HTTP.TrustedProxies, Bodies: bodies, CostlyReads: costly, Revocations: revocations, Now: time.Now, Log: settings.Log, Limits: settings.DashboardLimits,
	})
	if err != nil {
		return fmt.Errorf("build the dashboard: %w", err)
	}
	about := guide.About{Version: settings.Tracing.Version, Description: description.JSON()}
	s.server.Handler = guide.Handler(docs.Files, about, s.dashboard.Handler(handler))
	s.server.Handler = settings.HTTP.TrustedProxies.WarnUnknownProxy(settings.Log, s.server.Handler)
	s.server.RegisterOnShutdown(s.dashboard.Drain)
	return nil
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
		user, err := s.users.Accept(ctx, token, account.NewUser{Name: "Demo", Email: "demo@example.com", Password: rand.Text(), Consumer: team.Name})
		if err != nil {
			return "", err
		}
		return s.dashboard.SignInLink(user, page), nil
	}
	users, err := s.users.Of(ctx, team.ID)
	if err != nil {
		return "", err
	}
	if len(users) == 0 {
		return "", fmt.Errorf("team %s has no users", team.Name)
	}
	return s.dashboard.SignInLink(users[0], page), nil
}

// newMetricsServer returns the server of the metrics on an address of their own;
// nil without one.
func (s *Service) newMetricsServer() *http.Server {
	if s.metricsListener == nil {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	if s.settings.Profiling {
		handleProfiles(mux)
	}
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 8 << 10,
	}
}

// handleProfiles serves the profiles of net/http/pprof, without the command
// line, which may contain secrets.
func handleProfiles(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
