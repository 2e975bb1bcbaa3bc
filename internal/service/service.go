// Package service puts Standin's parts together: database, storage, launchers,
// dispatcher, webhook sender, logins, intake, payments and HTTP surface. All
// wiring is here, so that serve, the demo and the end-to-end tests run the same
// program.
//
// It decides nothing: each part's rules are in the part's own package.
package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/dashboard"
	"standin/internal/dispatch"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/simulator"
	"standin/internal/store"
)

// drainTime is how long requests may take to finish when the service stops.
const drainTime = 20 * time.Second

// Service is a running service.
type Service struct {
	Keys *account.Keys // to make keys without going through the surface

	settings  Settings
	store     *store.Store
	storage   *recording.Storage
	process   *launch.Process      // nil with another launcher
	engine    engine               // nil unless bots run elsewhere
	simulator *simulator.Simulator // of the jobs of test keys
	listener  net.Listener
	server    *http.Server
	users     *account.Users // of the dashboard
	dashboard *dashboard.Dashboard

	dispatcher     *dispatch.Dispatcher
	metrics        *http.Server // nil when metrics have no address of their own
	metricsAddress string

	lock *os.File
	key  []byte // of ingest tokens

	stop   context.CancelFunc
	parts  sync.WaitGroup
	failed chan error
}

// Start opens everything and begins to serve. ctx bounds the start only.
func Start(ctx context.Context, settings Settings) (*Service, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	s := &Service{settings: settings, failed: make(chan error, 1)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.run(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// open opens what the parts stand on.
func (s *Service) open(ctx context.Context) (err error) {
	if s.settings.DataDir, err = filepath.Abs(s.settings.DataDir); err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	if err := PrepareDataDir(s.settings.DataDir); err != nil {
		return err
	}
	if s.lock, err = holdDataDir(s.settings.DataDir); err != nil {
		return err
	}
	if s.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.settings.Listen); err != nil {
		return fmt.Errorf("listen on %s: %w", s.settings.Listen, err)
	}
	s.fillAddresses()
	if s.key, err = signingKey(s.settings); err != nil {
		return err
	}
	database := DatabaseAddress(s.settings.DatabaseURL, s.settings.DataDir)
	closedCleanly := Shared(s.settings.DatabaseURL) || store.ClosedCleanly(database)
	if s.store, err = store.Open(ctx, database); err != nil {
		return err
	}
	if !closedCleanly {
		s.settings.Log.Warn("the database was not closed cleanly; checking it", "path", database)
		if err := s.store.Check(ctx); err != nil {
			return err
		}
	}
	if s.storage, err = recording.OpenStorage(ctx, StorageAddress(s.settings.StorageURL, s.settings.DataDir)); err != nil {
		return fmt.Errorf("open the storage: %w", err)
	}
	return nil
}

// fillAddresses derives the addresses that were not set from where the
// service listens.
func (s *Service) fillAddresses() {
	local := "http://" + reachable(s.listener.Addr().String())
	if s.settings.BaseURL == "" {
		s.settings.BaseURL = local
	}
	s.settings.BaseURL = strings.TrimRight(s.settings.BaseURL, "/")
	if s.settings.BotServiceURL == "" {
		s.settings.BotServiceURL = local
	}
}

// Addr is where the service listens.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// BaseURL is where consumers reach the service.
func (s *Service) BaseURL() string { return s.settings.BaseURL }

// Store is the service's database.
func (s *Service) Store() *store.Store { return s.store }

// BytesReceived is how much of a job's recording the service has received from
// its bots so far; nothing is left to count once the recording is finished.
func (s *Service) BytesReceived(ctx context.Context, jobID uuid.UUID) (int64, error) {
	attempts, err := s.storage.Uploads(ctx, jobID)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, attempt := range attempts {
		for _, file := range attempt.Files {
			sum += file.Bytes
		}
	}
	return sum, nil
}

// Failed gives the error of a part that cannot go on; the service should be
// closed then.
func (s *Service) Failed() <-chan error { return s.failed }

// Close drains the service: no new work is taken, requests are finished, and
// bots run on.
func (s *Service) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("finish the running requests: %w", err), s.server.Close())
	}
	s.stop()
	if s.metrics != nil {
		err = errors.Join(err, s.metrics.Close())
	}
	s.parts.Wait()
	return errors.Join(err, s.release())
}

// release closes what open and run opened, as far as they came.
func (s *Service) release() error {
	var errs []error
	if s.stop != nil {
		s.stop()
	}
	if s.simulator != nil {
		s.simulator.Close()
	}
	if s.process != nil {
		s.process.Close()
	}
	if s.engine != nil {
		s.engine.Close()
	}
	if s.storage != nil {
		errs = append(errs, s.storage.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
