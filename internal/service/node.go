package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/dispatch"
	"standin/internal/host"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/metrics"
	"standin/internal/store"
)

// nodeFile in the data folder holds the node's id: the bots of the folder
// belong to it, so that it stays the same each time the service starts.
const nodeFile = "node.id"

// node returns who this service is among those of its database.
func (s *Service) node() (dispatch.Node, error) {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	node := dispatch.Node{Name: cmp.Or(s.settings.NodeName, name)}
	path := filepath.Join(s.settings.DataDir, nodeFile)
	kept, err := os.ReadFile(path)
	if node.ID = strings.TrimSpace(string(kept)); err == nil && node.ID != "" {
		return node, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return node, fmt.Errorf("read the node's id: %w", err)
	}
	node.ID = uuid.NewString()
	if err := writeDurably(path, []byte(node.ID+"\n")); err != nil {
		return node, fmt.Errorf("keep the node's id: %w", err)
	}
	return node, nil
}

// room returns the room for the bots that this node starts. Those that an
// engine or the operator runs elsewhere take none of this machine.
func (s *Service) room(machine *host.Reader) *dispatch.Capacity {
	settings := dispatch.CapacitySettings{MaxBots: s.settings.MaxBots, PerBot: s.settings.BotResources}
	switch s.settings.Launcher {
	case "", "process":
		settings.Machine = remembered(machine.Resources)
	}
	return dispatch.NewCapacity(settings)
}

// resourcesAge is how old a look at what the machine has may be.
const resourcesAge = time.Second

// remembered looks at what the machine has no more often than that is worth.
func remembered(look func(context.Context) host.Resources) func(context.Context) host.Resources {
	var mu sync.Mutex
	var last host.Resources
	var at time.Time
	return func(ctx context.Context) host.Resources {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || time.Since(at) > resourcesAge {
			last, at = look(ctx), time.Now()
		}
		return last
	}
}

// newMetrics returns the metrics of this node; how the fleet is doing is asked
// of the dispatcher.
func (s *Service) newMetrics(dispatcher *dispatch.Dispatcher) *metrics.Metrics {
	return metrics.New(func(ctx context.Context) (metrics.Fleet, error) {
		f, err := dispatcher.Fleet(ctx)
		if err != nil {
			return metrics.Fleet{}, err
		}
		return fleetMetrics(f, time.Now()), nil
	}, s.settings.Log)
}

// fleetMetrics is what metrics show of a fleet.
func fleetMetrics(f dispatch.Fleet, now time.Time) metrics.Fleet {
	shown := metrics.Fleet{Jobs: f.Jobs, OldestHeartbeat: f.OldestHeartbeat}
	for _, n := range f.Nodes {
		shown.Nodes = append(shown.Nodes, metrics.Node{
			Name: n.Name, Bots: n.Bots, Capacity: n.Capacity, Full: n.FullReason != "", HeartbeatAge: max(0, now.Sub(n.HeartbeatAt)),
			BotCores: f.BotUsage[n.ID].Cores, BotMemory: f.BotUsage[n.ID].Memory,
		})
	}
	for _, ahead := range f.Upcoming {
		shown.Next24Hours += ahead.Jobs
		if ahead.From.Before(now.Add(5 * time.Minute)) {
			shown.Next5Minutes += ahead.Jobs
		}
	}
	if short, is := f.FirstShortage(); is {
		shown.UntilShortage = max(time.Second, short.From.Sub(now))
	}
	return shown
}

// moved counts what happens to jobs, and learns from it how long bots take to
// be ready.
func moved(m *metrics.Metrics, started func(time.Duration), node string) func(lifecycle.Move) {
	return func(move lifecycle.Move) {
		r := move.Job
		if move.Result.Changed() {
			m.Transitioned(move.Result.To, r.FailureCode)
		}
		if move.Trigger != job.BotJoined || r.Mode == job.Test {
			return
		}
		if r.Attempt == 0 && !r.JoinAt.Before(r.CreatedAt) {
			m.Joining(max(0, r.HeartbeatAt.Sub(r.JoinAt)))
		}
		if r.Node == node {
			started(readyTime(move.Data))
		}
	}
}

// changes ties this node's changes to the other nodes of its database.
type changes struct {
	line *store.Notifier
}

// wake tells the others that a job may have become due.
func (c *changes) wake() { c.line.Notify(store.Notification{Jobs: true}) }

// hooks tells the others that the outbox has something new.
func (c *changes) hooks() { c.line.Notify(store.Notification{Deliveries: true}) }

// told tells the others of a command.
func (c *changes) told(id uuid.UUID) { c.line.Notify(store.Notification{Commands: []uuid.UUID{id}}) }

// hear passes on what other nodes tell.
func (p parts) hear(news store.Notification) {
	if news.Jobs {
		p.dispatcher.Wake()
	}
	if news.Deliveries {
		p.sender.Wake()
	}
	for _, id := range news.Commands {
		p.jobs.NotifyCommand(id)
	}
}

// serveMetrics shows the metrics, and nothing else, on an address of their own,
// to whoever can reach it.
func (s *Service) serveMetrics(ctx context.Context, m *metrics.Metrics) error {
	if s.settings.MetricsListen == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.settings.MetricsListen)
	if err != nil {
		return fmt.Errorf("listen for scrapers on %s: %w", s.settings.MetricsListen, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	s.metrics = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 8 << 10,
	}
	s.metricsAddress = listener.Addr().String()
	s.settings.Log.Info("metrics are shown to whoever can reach this address", "address", s.metricsAddress)
	s.parts.Go(func() {
		if err := s.metrics.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.settings.Log.Error("metrics are shown no more on their own address", "error", err)
		}
	})
	return nil
}

// MetricsAddress is where metrics alone are shown; empty when nowhere.
func (s *Service) MetricsAddress() string { return s.metricsAddress }

// Fleet is how all nodes of the database are doing.
func (s *Service) Fleet(ctx context.Context) (dispatch.Fleet, error) { return s.dispatcher.Fleet(ctx) }

// readyTime is how long a bot says that it took to be ready; 0 when it does not
// say.
func readyTime(data json.RawMessage) time.Duration {
	var said struct {
		ReadyMS int64 `json:"readyMs"`
	}
	// What is no such object says nothing.
	_ = json.Unmarshal(data, &said)
	return time.Duration(max(0, said.ReadyMS)) * time.Millisecond
}
