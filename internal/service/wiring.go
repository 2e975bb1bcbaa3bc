package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/bot/browser"
	"standin/internal/bot/zoomsdk"
	"standin/internal/dispatch"
	"standin/internal/host"
	"standin/internal/httpapi"
	"standin/internal/httpapi/ratelimit"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/metrics"
	"standin/internal/payment"
	"standin/internal/recording"
	"standin/internal/retention"
	"standin/internal/simulator"
	"standin/internal/store"
	"standin/internal/webhook"
)

const (
	// maxUpload bounds one uploaded file: a day's recording is far smaller.
	maxUpload = 32 << 30
	// uploadTime is how long such a file may take; a stalled one ends earlier.
	uploadTime = 6 * time.Hour
)

// parts are what works by itself once it is started.
type parts struct {
	jobs       *lifecycle.Service
	dispatcher *dispatch.Dispatcher
	sender     *webhook.Sender
	flows      *device.Flows
	keeper     *retention.Cleaner
	machine    *host.Reader
	metrics    *metrics.Metrics
	line       *store.Notifier
}

// run makes the parts and starts them.
func (s *Service) run() error {
	working, stop := context.WithCancel(context.Background()) // until Close
	s.stop = stop
	p, err := s.makeParts(working)
	if err != nil {
		return err
	}
	if s.server, err = s.makeServer(p); err != nil {
		return err
	}
	if err := s.serveMetrics(working, p.metrics); err != nil {
		return err
	}
	s.start(working, p)
	return nil
}

// makeParts makes what works by itself, and what that launches. ctx is how
// long it will work.
func (s *Service) makeParts(ctx context.Context) (p parts, err error) {
	allow, err := s.webhookAllow()
	if err != nil {
		return p, err
	}
	proxy, err := webhook.ParseProxy(s.settings.WebhookProxy)
	if err != nil {
		return p, err
	}
	p.sender = webhook.NewSender(s.store, webhook.Settings{Allow: allow, Proxy: proxy, TryTimeout: s.settings.WebhookTimeout, Log: s.settings.Log})
	recordings := &dispatch.Finalizer{
		Store: s.store,
		Finisher: &recording.Finisher{
			Storage: s.storage, BaseURL: s.settings.BaseURL, TempDir: s.settings.DataDir, Log: s.settings.Log,
		},
		Leftovers: s.leftovers,
	}
	node, err := s.node()
	if err != nil {
		return p, err
	}
	var dispatcher *dispatch.Dispatcher
	p.machine = host.NewReader(s.settings.DataDir)
	p.line = s.store.NewNotifier(func(news store.Notification) { p.hear(news) }, s.settings.Log)
	others := &changes{line: p.line}
	p.jobs = lifecycle.New(lifecycle.Settings{
		Store: s.store, Finalizer: recordings, Recordings: s.storage, BaseURL: s.settings.BaseURL, Now: time.Now,
		WakeJobs:  func() { dispatcher.Wake(); others.wake() },
		WakeHooks: func() { p.sender.Wake(); others.hooks() },
		Moved:     func(move lifecycle.Move) { moved(p.metrics, dispatcher.RecordStart, node.ID)(move) },
		Told:      others.told,
	})
	dispatcher = dispatch.New(dispatch.Settings{
		Store: s.store, Jobs: p.jobs, Recordings: recordings, SigningKey: s.key,
		ServiceURL: s.settings.BotServiceURL, AllowedHosts: s.settings.AllowedMeetingHosts,
		LoopbackPeers: s.settings.LoopbackMeetings, AskFirst: s.settings.AskFirst,
		NoZoomSDK: s.noZoomSDK(), SingleNode: !Shared(s.settings.DatabaseURL), Node: node,
		Prelaunch: s.settings.Prelaunch, Capacity: s.room(p.machine), Lease: s.settings.Lease,
		Now: time.Now, Log: s.settings.Log,
	})
	p.dispatcher, s.dispatcher = dispatcher, dispatcher
	p.metrics = s.newMetrics(dispatcher)
	dispatcher.Metrics = p.metrics
	p.metrics.Register(p.sender.Collectors()...)
	p.flows = device.New(device.Settings{Store: s.store, BaseURL: s.settings.BaseURL, Now: time.Now, Log: s.settings.Log})
	p.keeper = retention.New(retention.Settings{
		Store: s.store, Recordings: p.jobs, Storage: s.storage, Retention: s.settings.Retention, Now: time.Now, Log: s.settings.Log,
	})
	return p, s.addLaunchers(ctx, p)
}

// noZoomSDK tells why bots cannot join with Zoom's Meeting SDK; empty when they
// can.
func (s *Service) noZoomSDK() string {
	sdk := s.settings.Bots.ZoomSDK
	if err := (zoomsdk.Settings{Dir: sdk.Dir, Key: sdk.Key, Secret: sdk.Secret}).Validate(); err != nil {
		return err.Error()
	}
	return ""
}

// addLaunchers gives the dispatcher its launchers: the simulator for jobs of
// test keys, and the one that the settings name for all others. They tell the
// dispatcher of bots that end, from their start on. While the service stops
// nobody is told: simulated bots end with it, and their jobs get another
// attempt once it is back.
func (s *Service) addLaunchers(ctx context.Context, p parts) error {
	onExit := func(jobID uuid.UUID, _ int) {
		if ctx.Err() == nil {
			p.dispatcher.BotExited(ctx, jobID)
		}
	}
	timeouts := s.settings.Timeouts
	if timeouts == (dispatch.Timeouts{}) {
		timeouts = dispatch.DefaultTimeouts()
	}
	live, timeouts, err := s.launcher(timeouts, onExit)
	if err != nil {
		return err
	}
	s.simulator, err = simulator.New(simulator.Settings{
		Service: p.jobs, Uploads: s.storage, OnExit: onExit, Log: s.settings.Log,
	})
	if err != nil {
		return err
	}
	p.dispatcher.Launcher, p.dispatcher.Timeouts = simulator.Router{Test: s.simulator, Live: live}, timeouts
	return nil
}

// makeServer makes the HTTP surface.
func (s *Service) makeServer(p parts) (*http.Server, error) {
	s.Keys = &account.Keys{Store: s.store, Now: time.Now, WebhookSecret: s.settings.WebhookSecret}
	description, err := api.Load()
	if err != nil {
		return nil, fmt.Errorf("load the API description: %w", err)
	}
	proxies, err := ratelimit.ParseProxies(s.settings.TrustedProxies)
	if err != nil {
		return nil, err
	}
	settings := httpapi.Settings{
		Description: description, Keys: s.Keys, Jobs: p.jobs, Controls: p.jobs, History: p.jobs, Webhooks: p.jobs, Bots: p.jobs,
		Recordings: s.storage, Logins: p.flows, Host: p.machine, JobCounts: s.store, Metrics: p.metrics.Handler(), MetricsSecret: s.settings.MetricsSecret,
		Invites: &lifecycle.InviteScheduler{
			Jobs: p.jobs, Plans: s.store, FreeTierJobs: s.settings.FreeTierJobs, WebhookSecret: s.settings.WebhookSecret,
		},
		SigningKey: s.key, IntakeSecret: s.settings.IntakeSecret, AdminSecret: s.settings.AdminSecret,
		Proxies: proxies, KeyRate: s.settings.RateLimit,
		MaxUploadBytes: maxUpload, Timeouts: s.settings.HTTP, Log: s.settings.Log,
	}
	if settings.Timeouts.Upload == 0 {
		settings.Timeouts.Upload = uploadTime
	}
	if s.settings.PaymentWebhookSecret != "" {
		settings.Payments = &payment.Receiver{Secret: s.settings.PaymentWebhookSecret, Store: s.store, Now: time.Now}
	}
	surface, err := httpapi.New(settings)
	if err != nil {
		return nil, fmt.Errorf("make the HTTP surface: %w", err)
	}
	server := httpapi.NewServer(surface)
	return server, s.addDashboard(server, p, proxies)
}

// start starts the parts.
func (s *Service) start(ctx context.Context, p parts) {
	fail := func(what string, err error) {
		select {
		case s.failed <- fmt.Errorf("%s: %w", what, err):
		default: // the first one counts
		}
	}
	s.parts.Go(func() {
		if err := p.dispatcher.Run(ctx); err != nil {
			fail("dispatcher", err)
		}
	})
	s.parts.Go(func() { p.line.Run(ctx) })
	s.parts.Go(func() { p.sender.Run(ctx) })
	s.parts.Go(func() { p.flows.Run(ctx) })
	s.parts.Go(func() { p.keeper.Run(ctx) })
	s.parts.Go(func() { s.users.Run(ctx, s.settings.Log) })
	s.parts.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			fail("HTTP server", err)
		}
	})
}

// leftovers are the folders of a job's bots that are gone from this machine.
func (s *Service) leftovers(jobID uuid.UUID) (left []recording.LeftoverSpool) {
	if s.process == nil {
		return nil // bots run elsewhere
	}
	for attempt, folder := range s.process.LeftoverDirs(jobID) {
		left = append(left, recording.LeftoverSpool{Attempt: attempt, Folder: folder})
	}
	return left
}

// launcher returns the launcher of live jobs that the settings name, and the
// timeouts that go with it.
func (s *Service) launcher(timeouts dispatch.Timeouts, onExit func(uuid.UUID, int)) (launch.Launcher, dispatch.Timeouts, error) {
	switch s.settings.Launcher {
	case "manual":
		return launch.Manual{}, timeouts.Manual(), nil
	case "docker", "kubernetes":
		engine, err := s.newEngine(onExit)
		if err != nil {
			return nil, timeouts, err
		}
		s.engine, timeouts.Launch = engine, s.settings.startTime()
		return engine, timeouts, nil
	case "", "process":
	default:
		return nil, timeouts, fmt.Errorf("there is no launcher %q; there are process, docker, kubernetes and manual", s.settings.Launcher)
	}
	check := func() error {
		_, err := browser.Find(s.settings.Bots.Browser)
		return err
	}
	if err := check(); err != nil {
		s.settings.Log.Error("no bot can be sent before this is mended", "error", err)
	}
	if _, err := recording.FindTools(); err != nil {
		s.settings.Log.Error("no recording can be finished before this is mended", "error", err)
	}
	var err error
	s.process, err = launch.NewProcess(launch.ProcessSettings{
		Dir: filepath.Join(s.settings.DataDir, "bots"), Executable: s.settings.Executable, Bot: s.settings.Bots,
		Check: check, OnExit: onExit, Log: s.settings.Log,
	})
	return s.process, timeouts, err
}
