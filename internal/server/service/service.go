// Package service assembles the parts of Standin: database, storage, launchers,
// dispatcher, webhook sender, accounts, calendar intake, payments, HTTP API and
// dashboard. All wiring is here, so that serve, practice and the end-to-end tests
// run the same program. The rules of each part are in its own package.
package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/base/dialguard"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/runner"
	"standin/internal/jobs/webhook"
	"standin/internal/launch"
	"standin/internal/launch/process"
	"standin/internal/launch/simulator"
	"standin/internal/operation/alert"
	"standin/internal/operation/metrics"
	"standin/internal/operation/tracing"
	"standin/internal/recording/formats"
	"standin/internal/recording/retention"
	"standin/internal/recording/sound"
	"standin/internal/recording/storage"
	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/server/dashboard"
	"standin/internal/server/httpapi"
	"standin/internal/server/live"
	"standin/internal/store"
	"standin/internal/store/postgres"
	"standin/internal/store/sqlite"
)

// drainTime is how long requests may take to finish when the service stops.
const drainTime = 20 * time.Second

// Service is a running service.
type Service struct {
	Keys *account.Keys // creates keys without the HTTP API

	Settings
	key []byte // of ingest tokens

	// Opened by open.
	lock      *os.File
	listener  net.Listener
	store     *store.Store
	unchecked bool // the database is checked while the service runs
	jobs      *lifecycle.Service
	storage   *storage.Recordings

	// Built by build.
	network     dialguard.Network     // that webhooks, calendars and files may be in
	process     *process.Launcher     // nil with another launcher
	engine      launch.RemoteLauncher // nil unless bots run in containers
	simulator   *simulator.Launcher   // of the jobs of test keys
	dispatcher  *dispatch.Dispatcher
	fleet       *dispatch.FleetReader
	sender      *webhook.Sender
	notifier    *postgres.Notifier
	cleaner     *retention.Cleaner
	transcripts *transcript.Worker
	composer    *formats.Composer
	meetings    *streaming.Meetings // nil without a live transcriber
	formats     *formats.Maker
	live        *live.Hub
	sound       *sound.Service
	health      *health
	capacity    *dispatch.Capacity
	invites     *lifecycle.EventScheduler
	calendars   *calendarsync.Service
	metrics     *metrics.Metrics
	alerts      *alert.Watcher
	started     time.Time
	tracer      *tracing.Tracer // nil without a collector
	flows       *device.Flows   // of command line logins
	users       *account.Users  // of the dashboard
	dashboard   *dashboard.Dashboard
	api         *httpapi.API
	server      *http.Server

	metricsServer   *http.Server // nil when metrics have no address of their own
	metricsListener net.Listener

	stop   context.CancelFunc
	parts  sync.WaitGroup
	failed chan error
}

// Start opens everything and starts the service. ctx bounds only the start.
func Start(ctx context.Context, settings Settings) (*Service, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	s := &Service{Settings: settings, failed: make(chan error, 1)}
	running, stop := context.WithCancel(context.Background()) // until Close
	s.stop = stop
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.build(running); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.health.update(ctx)
	s.run(running)
	return s, nil
}

// open opens the data folder, the listeners, the database and the storage.
func (s *Service) open(ctx context.Context) (err error) {
	if s.DataDir, err = filepath.Abs(s.DataDir); err != nil {
		return err
	}
	if s.lock, err = LockDataDir(s.DataDir); err != nil {
		return err
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.Listen); err != nil {
		return fmt.Errorf("listen on %s: %w", s.Listen, err)
	}
	s.complete(s.listener.Addr())
	if s.MetricsListen != "" {
		if s.metricsListener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.MetricsListen); err != nil {
			return fmt.Errorf("listen for metrics on %s: %w", s.MetricsListen, err)
		}
	}
	if s.key, err = s.signingKey(s.DataSettings); err != nil {
		return err
	}
	database := DatabaseAddress(s.DatabaseURL, s.DataDir)
	closedCleanly := store.IsPostgres(s.DatabaseURL) || sqlite.ClosedCleanly(database)
	if s.store, err = store.Open(ctx, database); err != nil {
		return err
	}
	if s.unchecked = closedCleanly; !closedCleanly {
		s.Log.Warn("the database was not closed cleanly; checking it", "path", database)
		if err := s.store.Check(ctx); err != nil {
			return err
		}
	}
	if s.storage, err = storage.Open(ctx, StorageAddress(s.StorageURL, s.DataDir), s.OpenS3); err != nil {
		return fmt.Errorf("open the storage: %w", err)
	}
	checking, cancel := context.WithTimeout(ctx, storageCheckTimeout)
	defer cancel()
	// An unavailable store ends by itself, and the health checks tell of it. Otherwise no recording
	// can be stored until an operator changes something.
	if err := s.storage.Check(checking); err != nil && !storage.IsUnavailable(err) {
		return fmt.Errorf("recordings cannot be stored; standin doctor, with the same settings, checks the storage: %w", err)
	}
	return nil
}

// storageCheckTimeout bounds the check of the storage at the start.
const storageCheckTimeout = 15 * time.Second

// run starts the parts. The first one that fails is reported by Failed.
func (s *Service) run(ctx context.Context) {
	fail := func(part string, err error) {
		select {
		case s.failed <- fmt.Errorf("%s: %w", part, err):
		default: // another part has failed already
		}
	}
	runs := []func(context.Context){
		s.dispatcher.Run, s.health.run, s.notifier.Run, s.sender.Run, s.cleaner.Run, s.transcripts.Run, s.composer.Run, s.formats.Run,
		s.live.Run, s.calendars.Run,
	}
	if s.meetings != nil {
		runs = append(runs, s.meetings.Run)
	}
	for _, run := range runs {
		s.parts.Go(func() { run(ctx) })
	}
	if s.unchecked {
		s.parts.Go(func() {
			if err := s.store.Check(ctx); err != nil && ctx.Err() == nil {
				fail("database", err)
			}
		})
	}
	s.parts.Go(func() {
		runner.Repeat(ctx, time.Now, s.Log, runner.Task{Name: "sign-in folder", Every: time.Minute, Run: s.jobs.ReadAccountFiles})
	})
	s.parts.Go(func() {
		runner.Repeat(ctx, time.Now, s.Log, append(s.alerts.Tasks(), runner.Task{
			Name: "delete what has expired", Every: time.Minute,
			Run: func(ctx context.Context) error { return s.store.DeleteExpired(ctx, time.Now()) },
		}, runner.Task{Name: "analyze what has grown", Every: 5 * time.Second, Run: s.store.AnalyzeGrown},
			runner.Task{Name: "correct times ahead", Every: time.Minute, Run: s.correctTimes},
			runner.Task{Name: "tell organizers", Every: time.Minute, Run: s.invites.TellOrganizers},
			runner.Task{Name: "settle invitations", Every: time.Minute, Run: s.invites.SettleInvitations},
			runner.Task{Name: "delete old invitations", Every: 24 * time.Hour, Run: s.store.DeleteOldInvitations})...)
	})
	s.parts.Go(func() {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			fail("HTTP server", err)
		}
	})
	if s.metricsServer != nil {
		s.Log.Info("metrics are served without credentials", "address", s.metricsListener.Addr())
		s.parts.Go(func() {
			if err := s.metricsServer.Serve(s.metricsListener); !errors.Is(err, http.ErrServerClosed) {
				s.Log.Error("metrics server stopped", "error", err)
			}
		})
	}
}

// correctTimes corrects times in the database that the clock left behind when it was ahead.
func (s *Service) correctTimes(ctx context.Context) error {
	// For how long a job under way may not be looked at, after the first heartbeat of its bot.
	timeouts := s.dispatcher.Timeouts
	underWay := max(timeouts.Launch, timeouts.Heartbeat, timeouts.Leaving)
	corrected, ahead, err := s.store.CorrectTimes(ctx, time.Now(), max(underWay, timeouts.FirstHeartbeat), underWay)
	if corrected > 0 {
		s.Log.Warn("times in the database were ahead of this clock, and were corrected", "times", corrected, "ahead", ahead)
		s.dispatcher.Wake()
		s.sender.Wake()
	}
	return err
}

// Addr returns the address that the service listens on.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// BaseURL returns where consumers reach the service.
func (s *Service) BaseURL() string { return s.Settings.BaseURL }

// Store returns the service's database.
func (s *Service) Store() *store.Store { return s.store }

// Failed returns a channel with the error of a part that cannot continue; the
// service should be closed then.
func (s *Service) Failed() <-chan error { return s.failed }

// Close drains the service: it accepts no new work and finishes the running
// requests. Bots continue to run.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish the running requests: %w", err), s.server.Close())
	}
	s.api.Wait()
	s.stop()
	if s.metricsServer != nil {
		err = errors.Join(err, s.metricsServer.Close())
	}
	s.parts.Wait()
	return errors.Join(err, s.release())
}

// release closes what open and build have opened so far.
func (s *Service) release() error {
	var errs []error
	s.stop()
	s.tracer.Close()
	if s.simulator != nil {
		s.simulator.Close()
	}
	if s.process != nil {
		s.process.Close()
	}
	if s.engine != nil {
		s.engine.Close()
	}
	if s.jobs != nil {
		s.jobs.Close()
	}
	if s.storage != nil {
		errs = append(errs, s.storage.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	for _, listener := range []net.Listener{s.listener, s.metricsListener} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
