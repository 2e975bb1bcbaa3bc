// Package fleet simulates many nodes on one PostgreSQL database. The dispatchers
// and the simulated bots of all nodes run in this process; each node has its own
// identity, capacity and bots.
package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/bench/seed"
	"standin/internal/account"
	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch/simulator"
	"standin/internal/recording/build"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/store/postgres"
)

// nodesPerStore is how many nodes share the connections of a store. A store has
// up to 32 connections, and a server for 500 of them would need more memory than
// the nodes.
const nodesPerStore = 64

// baseURL is the URL of every node, which nothing requests.
const baseURL = "http://127.0.0.1"

// Settings describe a simulation.
type Settings struct {
	Address   string // of the PostgreSQL database
	Dir       string // for the storage
	Nodes     int
	Bots      int           // jobs that are due at the same time; the nodes have the capacity for twice as many
	Heartbeat time.Duration // between two heartbeats of a bot
	Timeout   time.Duration // for the launch of all bots
}

// Result is what a simulation measured.
type Result struct {
	Latenesses []int64 // of the launches after joinAt, in milliseconds, ascending
	Repeated   int     // jobs with more than one attempt
	FewestBots int     // of a node
	MostBots   int     // of a node
}

// Fleet is a running simulation.
type Fleet struct {
	settings Settings
	storage  *storage.Recordings
	stores   []*store.Store
	nodes    []*node
	parts    sync.WaitGroup
	stop     context.CancelFunc
}

// node is a simulated node.
type node struct {
	events     *event.Publisher
	dispatcher *dispatch.Dispatcher
	simulator  *simulator.Launcher
	jobs       *lifecycle.Service
}

// Start starts the nodes.
func Start(ctx context.Context, settings Settings) (*Fleet, error) {
	ctx, stop := context.WithCancel(ctx)
	recordings, err := storage.Open(ctx, "file://"+settings.Dir, nil)
	if err != nil {
		stop()
		return nil, err
	}
	f := &Fleet{settings: settings, storage: recordings, stop: stop}
	for first := 0; first < settings.Nodes; first += nodesPerStore {
		s, err := store.Open(ctx, settings.Address)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.stores = append(f.stores, s)
		f.startNodes(ctx, s, first, min(settings.Nodes, first+nodesPerStore))
	}
	return f, nil
}

// startNodes starts the nodes that share a store.
func (f *Fleet) startNodes(ctx context.Context, s *store.Store, from, to int) {
	var started []*node
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	notifier := s.NewNotifier(func(n postgres.Notification) {
		for _, node := range started {
			if n.Jobs {
				node.events.Publish(event.JobDue{Remote: true})
			}
		}
	}, log)
	for number := from; number < to; number++ {
		n := f.newNode(ctx, s, number, notifier, log)
		started = append(started, n)
	}
	f.nodes = append(f.nodes, started...)
	f.parts.Go(func() { notifier.Run(ctx) })
	for _, n := range started {
		f.parts.Go(func() { n.dispatcher.Run(ctx) })
	}
}

// newNode assembles a node as package service does, without HTTP, storage and
// webhooks.
func (f *Fleet) newNode(ctx context.Context, s *store.Store, number int, notifier *postgres.Notifier, log *slog.Logger) *node {
	n := &node{events: new(event.Publisher)}
	finalizer := &dispatch.Finalizer{
		Store: s, Finisher: &build.Finisher{Storage: f.storage, BaseURL: baseURL, TempDir: f.settings.Dir, Log: log},
		Files: jobfiles.Files{Recordings: f.storage, DataDir: f.settings.Dir},
	}
	n.jobs = lifecycle.New(lifecycle.Settings{Store: s, Finalizer: finalizer, BaseURL: baseURL, Events: n.events, Now: time.Now})
	share := 2 * (f.settings.Bots + f.settings.Nodes - 1) / f.settings.Nodes
	n.simulator = simulator.New(simulator.Settings{
		Service: bots{n.jobs, f.settings.Heartbeat}, MaxBots: share, Log: log,
		OnExit: func(id uuid.UUID, attempt int) { n.events.Publish(event.BotChanged{JobID: id, Attempt: attempt}) },
	})
	timeouts := dispatch.DefaultTimeouts()
	timeouts.Heartbeat = max(timeouts.Heartbeat, 3*f.settings.Heartbeat)
	timeouts.FirstHeartbeat = max(timeouts.FirstHeartbeat, 3*f.settings.Heartbeat)
	n.dispatcher = dispatch.New(dispatch.Settings{
		Store: s, Jobs: n.jobs, Launcher: n.simulator, Timeouts: timeouts, Recordings: finalizer, SigningKey: []byte("simulation"),
		ServiceURL: baseURL, Node: dispatch.Node{ID: fmt.Sprintf("node-%d", number), Name: fmt.Sprintf("node-%d", number)},
		Capacity: dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: share}), Now: time.Now, Log: log,
	})
	n.events.Subscribe(func(e event.Event) {
		switch e := e.(type) {
		case event.JobDue:
			if !dispatch.DueSoon(e.At, e.Waiting, time.Now()) {
				return
			}
			n.dispatcher.Wake()
			if !e.Remote {
				notifier.Notify(postgres.Notification{Jobs: true})
			}
		case event.BotChanged:
			if ctx.Err() == nil {
				n.dispatcher.BotStateChanged(ctx, e.JobID)
			}
		}
	})
	return n
}

// bots is the service of simulated bots. It spaces their heartbeats.
type bots struct {
	*lifecycle.Service
	interval time.Duration
}

// Heartbeat implements simulator.Service.
func (b bots) Heartbeat(ctx context.Context, bot ingest.Bot, beat ingest.Heartbeat, _ time.Duration) (ingest.HeartbeatResponse, error) {
	response, err := b.Service.Heartbeat(ctx, bot, beat, 0)
	if err == nil && len(response.Commands) == 0 {
		err = retry.Sleep(ctx, b.interval)
	}
	return response, err
}

// Close stops the bots and the nodes.
func (f *Fleet) Close() error {
	f.stop()
	var all sync.WaitGroup
	for _, n := range f.nodes {
		all.Go(n.simulator.Close)
	}
	all.Wait()
	f.parts.Wait()
	for _, n := range f.nodes {
		n.jobs.Close()
	}
	errs := []error{f.storage.Close()}
	for _, s := range f.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// dueDelay is how long after their insertion the jobs are due. Within this time
// every dispatcher learns of them.
const dueDelay = 8 * time.Second

// lobby makes a simulated bot wait in the lobby.
const lobby = `{"simulate": {"outcome": "lobby_timeout", "seconds": 3600}}`

// Run inserts the jobs and waits for the launch of their bots.
func (f *Fleet) Run(ctx context.Context) (Result, error) {
	s := f.stores[0]
	keys := &account.Keys{Store: s, Now: time.Now}
	key, _, err := keys.Issue(ctx, "bench", "", job.Live)
	if err != nil {
		return Result{}, err
	}
	original, err := insertJob(ctx, s, key.ConsumerID)
	if err != nil {
		return Result{}, err
	}
	copies := seed.Copies{Count: f.settings.Bots, Of: original.String()}
	inserting := time.Duration(f.settings.Bots/1500) * time.Second // more than it takes, also beside other load
	due := time.Now().Add(dueDelay + inserting)
	at := fmt.Sprint(due.UnixMilli())
	copies.Set = map[string]string{
		"join_at": at, "wake_at": at, "auto_leave": `'{"afterEntryDelaySeconds":86400,"afterSoloSeconds":600,"afterMaxSeconds":14400}'`,
	}
	if err := seed.Jobs(ctx, f.settings.Address, copies); err != nil {
		return Result{}, err
	}
	if err := seed.Vacuum(ctx, f.settings.Address); err != nil {
		return Result{}, err
	}
	if time.Until(due) < 0 {
		return Result{}, errors.New("inserting the jobs took too long")
	}
	return f.awaitLaunches(ctx, copies, due)
}

// insertJob inserts a job that is due in a day.
func insertJob(ctx context.Context, s *store.Store, consumer uuid.UUID) (uuid.UUID, error) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	r := job.Record{
		Job: job.Job{
			ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: job.Live, ExternalID: "original",
			MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
			JoinAt: now.Add(24 * time.Hour), CreatedAt: now, Metadata: json.RawMessage(lobby), AutoLeave: job.DefaultAutoLeave(), State: job.New(),
		},
		StatusSince: now, WakeAt: now.Add(24 * time.Hour),
	}
	return r.ID, s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.InsertJob(ctx, r)
		return err
	})
}

// awaitLaunches waits until every bot was launched.
func (f *Fleet) awaitLaunches(ctx context.Context, copies seed.Copies, due time.Time) (r Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Until(due)+f.settings.Timeout)
	defer cancel()
	if err := retry.Sleep(ctx, time.Until(due)); err != nil {
		return r, err
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if r.Latenesses, err = seed.Latenesses(ctx, f.settings.Address, copies); err != nil {
			return r, err
		}
		if len(r.Latenesses) == copies.Count {
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return r, fmt.Errorf("%d of %d bots are launched: %w", len(r.Latenesses), copies.Count, ctx.Err())
		}
	}
	return r, seed.Spread(ctx, f.settings.Address, &r.Repeated, &r.FewestBots, &r.MostBots)
}
