package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account/device"
	"standin/internal/base/dialguard"
	"standin/internal/bot/ingest"
	"standin/internal/calendar/calendarsync"
	"standin/internal/calendar/mail"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/launch/simulator"
	"standin/internal/operation/host"
	"standin/internal/operation/metrics"
	"standin/internal/operation/tracing"
	"standin/internal/recording/build"
	"standin/internal/recording/formats"
	"standin/internal/recording/retention"
	"standin/internal/recording/sound"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/server/live"
	"standin/internal/store"
	"standin/internal/store/postgres"
)

// maxConnections bounds the open connections of clients.
const maxConnections = 10_000

// build builds the parts of the service, each from those before it. ctx ends
// when the service stops.
func (s *Service) build(ctx context.Context) error {
	settings, log := s.Settings, s.Log
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	id, err := readOrCreate(filepath.Join(settings.DataDir, nodeFile), func() string { return uuid.NewString() + "\n" })
	if err != nil {
		return fmt.Errorf("load the node's ID: %w", err)
	}
	node := dispatch.Node{ID: strings.TrimSpace(id), Name: name, BaseURL: settings.BaseURL}
	traces := s.Tracing
	traces.Node, traces.Timeline, traces.Log = node.ID, s.store, log
	if s.tracer, err = tracing.New(traces); err != nil {
		return err
	}
	if s.network, err = s.newNetwork(); err != nil {
		return err
	}
	events, machine, ended := new(event.Publisher), host.NewReader(settings.DataDir), new(endedJobs)
	sending := webhook.Settings{
		Allow: s.network.Allow, OwnHosts: s.network.OwnHosts, Proxy: s.network.Proxy, PrivateBodies: s.WebhookPrivateResponses,
		TryTimeout: s.WebhookTimeout, Log: log,
	}
	if s.tracer != nil { // a nil *Tracer is not a nil interface
		sending.Tracer = s.tracer
	}
	s.sender = webhook.NewSender(s.store, sending)
	if err := s.buildJobs(events, machine, node); err != nil {
		return err
	}
	s.notifier = s.store.NewNotifier(func(n postgres.Notification) { // of another node
		if n.Jobs {
			events.Publish(event.JobDue{Remote: true})
		}
		if n.Deliveries {
			events.Publish(event.DeliveryDue{Remote: true})
		}
		for _, id := range n.Commands {
			events.Publish(event.CommandQueued{JobID: id, Remote: true})
		}
	}, log)
	s.alerts = s.newAlerts(machine, ended, node.Name)
	s.subscribe(ctx, events, node, ended)
	s.flows = device.New(device.Settings{Store: s.store, BaseURL: settings.BaseURL, Now: time.Now})
	transcribing := transcript.Settings{
		Config: s.Transcriber, Simulate: simulator.Transcript, Queue: s.store, Jobs: s.jobs, Storage: s.storage,
		BaseURL: settings.BaseURL, TempDir: settings.DataDir, Now: time.Now, Log: log,
	}
	recognizer, err := transcript.NewClient(s.Transcriber)
	if err != nil {
		return err
	}
	if recognizer != nil { // a nil *Client is not a nil Recognizer
		transcribing.Recognizer = recognizer
	}
	s.transcripts = transcript.NewWorker(transcribing)
	s.metrics.Register(s.transcripts.Collectors()...)
	s.composer = formats.NewComposer(formats.ComposerSettings{
		Queue: s.store, Jobs: s.jobs, Storage: s.storage, Recording: s.Bots.Recording, BaseURL: settings.BaseURL, DataDir: settings.DataDir,
		Now: time.Now, Log: log,
	})
	liveRecognizer, err := streaming.New(s.Live)
	if err != nil {
		return err
	}
	if liveRecognizer != nil {
		s.meetings = streaming.NewMeetings(streaming.Settings{
			Recognizer: liveRecognizer, Sounds: s.sound, Records: s.store, Jobs: s.jobs, Log: log,
		})
		s.sound.Connected = s.meetings.Begin
		s.metrics.Register(s.meetings.Collectors()...)
	}
	s.formats = formats.NewMaker(s.storage, settings.DataDir, log)
	s.invites = s.scheduler(s.store, s.jobs)
	if s.AlertMail.URL != nil {
		s.invites.SendMail = s.AlertMail.Send
	}
	s.calendars = calendarsync.New(calendarsync.Settings{
		Store: s.store, Jobs: s.invites, Key: s.jobs.Sealer, Network: s.network,
		APIs: s.Calendars, BaseURL: settings.BaseURL, SendsMail: s.AlertMail.URL != nil, MeetingHosts: s.Dispatch.AllowedMeetingHosts,
		Now: time.Now, Log: log,
	})
	return s.buildServer(machine)
}

// buildJobs builds the parts that start the bots of jobs, hear from them, and keep what they record.
func (s *Service) buildJobs(events *event.Publisher, machine *host.Reader, node dispatch.Node) error {
	settings, log := s.Settings, s.Log
	launcher, timeouts, check, err := s.newLauncher(events)
	if err != nil {
		return err
	}
	s.health = s.newHealth(check)
	if settings.Launcher == "manual" {
		settings.Dispatch.Prelaunch = 0 // the operator runs the bots, and may do so before joinAt
	}
	files := jobfiles.Files{Recordings: s.storage, DataDir: settings.DataDir}
	files.Volumes, _ = launcher.(jobfiles.Volumes) // of the Docker launcher
	finisher := &build.Finisher{Storage: s.storage, BaseURL: settings.BaseURL, TempDir: settings.DataDir, Log: log}
	finalizer := &dispatch.Finalizer{Store: s.store, Finisher: finisher, Files: files}
	sealer, err := s.Sealer(s.DataSettings)
	if err != nil {
		return err
	}
	bitRate := int64(settings.Bots.Recording.VideoBitRate) // of all tracks of a recording together; 0 with the default settings
	if bitRate != 0 {
		bitRate += 17 * 64_000 // for the sound of the mix and of 16 participants
	}
	s.jobs = lifecycle.New(lifecycle.Settings{
		Store: s.store, Finalizer: finalizer, Recordings: files, Outputs: s.storage, BaseURL: settings.BaseURL, Events: events, Now: time.Now,
		Transcribe: settings.Transcriber.URL != "", Compose: settings.Compose, Capture: settings.Bots.Recording.Capture,
		Options: settings.Lifecycle, RecordingBitRate: bitRate,
		Sealer: sealer, SignInFolder: settings.SignIn, GoogleURL: settings.Calendars.GoogleURL,
	})
	s.cleaner = retention.New(retention.Settings{
		Store: s.store, Recordings: s.jobs, Files: files, Options: settings.Retention, Now: time.Now, Log: log,
	})
	s.live = live.NewHub(s.store, log)
	s.sound = &sound.Service{
		Hub: sound.NewHub(), Recordings: finisher, Jobs: s.jobs, Live: s.live, Client: s.sender.Client(), NodeURL: settings.NodeURL,
		Nodes: s.store, Log: log,
	}
	s.simulator = simulator.New(simulator.Settings{Service: s.jobs, Uploads: s.storage, OnExit: botChanged(events), Log: log})
	s.fleet = dispatch.NewFleetReader(s.store, settings.Dispatch.Lease, time.Now)
	s.metrics = metrics.New(log)
	s.metrics.Register(s.fleet)
	s.metrics.Register(s.sender.Collectors()...)
	s.metrics.Register(s.sound.Collectors()...)
	s.metrics.Register(s.tracer.Collectors()...)
	s.metricsServer = s.newMetricsServer()
	capacity := dispatch.CapacitySettings{
		MaxBots: s.MaxBots, PerBot: dispatch.BotResources{Cores: s.BotCores, Memory: uint64(s.BotMemory * (1 << 30))},
	}
	if s.Launcher == "" || s.Launcher == "process" { // bots that run elsewhere use nothing of this machine
		capacity.Machine = machine.Resources
	}
	s.capacity = dispatch.NewCapacity(capacity)
	s.dispatcher = dispatch.New(dispatch.Settings{
		Store: s.store, Jobs: s.jobs, Launcher: simulator.Router{Test: s.simulator, Live: launcher}, Timeouts: timeouts,
		Recordings: finalizer, SigningKey: s.key, ServiceURL: settings.BotServiceURL,
		Options: settings.Dispatch, OwnHosts: s.network.OwnHosts, SingleNode: !store.IsPostgres(settings.DatabaseURL),
		Node:     node,
		Capacity: s.capacity, Broken: func() error { return s.health.failure(checkLauncher) }, Metrics: s.metrics, Now: time.Now, Log: log,
	})
	return nil
}

// scheduler returns what keeps the jobs of events.
func (e EventSettings) scheduler(s *store.Store, jobs *lifecycle.Service) *lifecycle.EventScheduler {
	return &lifecycle.EventScheduler{Jobs: jobs, Plans: s, FreeTierJobs: e.FreeTierJobs, WebhookSecret: e.WebhookSecret}
}

// Scheduler returns what keeps the jobs of events for a process beside a service.
func (e EventSettings) Scheduler(s *store.Store) *lifecycle.EventScheduler {
	return e.scheduler(s, lifecycle.New(lifecycle.Settings{Store: s, Now: time.Now, Events: new(event.Publisher)}))
}

// OpenMail opens a mail worker for the service.
func (s *Service) OpenMail(ctx context.Context, settings mail.Settings) (*mail.Worker, error) {
	settings.Store, settings.Jobs, settings.Sealer = s.store, s.invites, s.calendars.Key
	return mail.Open(ctx, settings)
}

// newNetwork returns what the service may reach for its consumers.
func (s *Service) newNetwork() (dialguard.Network, error) {
	allow, err := s.webhookAllow()
	if err != nil {
		return dialguard.Network{}, err
	}
	s.Log.Debug("webhook destinations allowed: public addresses and these networks", "allow", allow)
	proxy, err := dialguard.ParseProxy(s.WebhookProxy)
	if err != nil {
		return dialguard.Network{}, fmt.Errorf("STANDIN_WEBHOOK_PROXY: %w", err)
	}
	network := dialguard.Network{Allow: allow, Proxy: proxy}
	// Neither webhooks nor meeting pages may reach the addresses of the service's machine.
	if base, err := url.Parse(s.Settings.BaseURL); err == nil && base.Hostname() != "" {
		network.OwnHosts = []string{base.Hostname()}
	}
	return network, nil
}

// subscribe connects the events of this process to the parts that handle them,
// and to the other nodes. ctx ends when the service stops: simulated bots end
// with it, and their jobs get another attempt after the restart.
func (s *Service) subscribe(ctx context.Context, events *event.Publisher, node dispatch.Node, ended *endedJobs) {
	events.Subscribe(func(e event.Event) {
		switch e := e.(type) {
		case event.JobDue:
			if !dispatch.DueSoon(e.At, e.Waiting, time.Now()) {
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
				s.jobs.NotifyCommand(e.JobID)
			} else {
				s.notifier.Notify(postgres.Notification{Commands: []uuid.UUID{e.JobID}})
			}
		case event.BotChanged:
			if ctx.Err() == nil {
				s.dispatcher.BotStateChanged(ctx, e.JobID)
			}
		case event.TextsStored:
			s.live.Wake(e.JobID)
		case event.RecordingTaskDue:
			s.transcripts.Wake()
			s.composer.Wake()
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
				s.composer.Wake()
			}
			ended.add(e)
			measure(e, node.ID, s.metrics, s.dispatcher.RecordStart)
		}
	})
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
	if e.End != nil {
		m.AttemptEnded(r.Platform, *e.End)
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
