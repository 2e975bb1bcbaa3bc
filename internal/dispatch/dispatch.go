// Package dispatch sees to it that every job comes to its end: it launches
// bots when they are due, looks after those that run, and finalizes what a
// lost one saved. It sleeps until the next job needs it; there is no sweep.
//
// What to do is decided in one pure function (decide.go); how a bot is
// started is the launcher's business, and what a change of a job entails is
// lifecycle's.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

const (
	lease    = 30 * time.Second // how long a claimed job is held without a sign of life
	batch    = 64               // jobs handled at once
	backstop = 5 * time.Second  // the longest sleep: another node's changes wake nobody here
)

// errLeaseLost says that another dispatcher holds the job by now.
var errLeaseLost = errors.New("the job's lease was lost")

// errMoved says that the job has moved to where the decision no longer fits.
var errMoved = errors.New("the job has moved on")

// Recordings is what the dispatcher needs to look after recordings.
type Recordings interface {
	// Saved reports whether a bot of the job uploaded anything usable.
	Saved(ctx context.Context, jobID uuid.UUID) (bool, error)
	// Salvage finalizes what the job's bots uploaded and stores the manifest.
	// It tells its progress. With nothing usable it is ErrNothingSaved.
	Salvage(ctx context.Context, r store.Record, detail string, progress func(Progress) error) error
	// Clean removes what is no longer needed once the manifest is kept.
	Clean(ctx context.Context, jobID uuid.UUID) error
}

// ErrNothingSaved says that a lost bot left nothing usable.
var ErrNothingSaved = errors.New("nothing usable was recorded")

// Stage is a part of salvaging.
type Stage string

// The stages of salvaging.
const (
	Packing Stage = "packing"
	Storing Stage = "storing"
)

// Progress is how far salvaging is.
type Progress struct {
	Stage       Stage
	Done, Total int64 // bytes, while Storing
}

// Settings are what a Dispatcher is made of.
type Settings struct {
	Store         *store.Store
	Jobs          *lifecycle.Service
	Launcher      launch.Launcher
	Recordings    Recordings
	SigningKey    []byte // of ingest tokens
	ServiceURL    string // where bots reach the service
	AllowedHosts  []string
	LoopbackPeers bool
	AskFirst      bool   // every bot records only with the host's permission
	NoZoomSDK     string // why bots cannot join with Zoom's Meeting SDK; empty when they can
	Timeouts      Timeouts
	Sole          bool // no other dispatcher works on this database
	Now           func() time.Time
	Log           *slog.Logger
}

// Dispatcher runs jobs.
type Dispatcher struct {
	Settings

	wake    chan struct{}
	handled sync.WaitGroup
	slots   chan struct{}
}

// New returns a Dispatcher. It does nothing before Run.
func New(settings Settings) *Dispatcher {
	return &Dispatcher{
		Settings: settings,
		wake:     make(chan struct{}, 1),
		slots:    make(chan struct{}, batch),
	}
}

// timeouts are the ones for a job: those of the simulator are short, because
// the tests of a consumer wait for them.
func (d *Dispatcher) timeouts(r store.Record) Timeouts {
	if r.Mode == job.Test {
		return d.Timeouts.Simulated()
	}
	return d.Timeouts
}

// Wake makes the dispatcher look for due jobs at once.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// BotExited makes the dispatcher look at a job whose bot has ended.
func (d *Dispatcher) BotExited(ctx context.Context, jobID uuid.UUID) {
	err := d.Store.Write(ctx, func(q *store.Queries) error { return q.Nudge(ctx, jobID, d.Now()) })
	if err != nil {
		d.Log.Error("cannot look at a job whose bot has ended; it is looked at later", "job", jobID, "error", err)
	}
	d.Wake()
}

// Run handles jobs as they become due until ctx ends. Bots run on then.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.handled.Wait()
	if d.Sole {
		// Whoever held these is gone; nobody needs to wait for their leases.
		err := d.Store.Write(ctx, func(q *store.Queries) error { return q.ReleaseLeases(ctx, d.Now()) })
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	for ctx.Err() == nil {
		if err := d.claim(ctx); err != nil && ctx.Err() == nil {
			d.Log.Error("cannot look for due jobs", "error", err)
			d.sleep(ctx, time.Second)
			continue
		}
		d.sleep(ctx, d.untilNext(ctx))
	}
	return nil
}

// claim takes due jobs, as many as there are slots for, and hands each to a
// goroutine.
func (d *Dispatcher) claim(ctx context.Context) error {
	free := cap(d.slots) - len(d.slots)
	next, waiting, err := d.Store.NextWake(ctx)
	if err != nil || !waiting || free == 0 || next.After(d.Now()) {
		return err
	}
	var due []store.Record
	err = d.Store.Write(ctx, func(q *store.Queries) (err error) {
		due, err = q.ClaimJobs(ctx, d.Now(), free, lease)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range due {
		d.slots <- struct{}{}
		d.handled.Go(func() {
			defer func() { <-d.slots; d.Wake() }()
			d.handle(ctx, r)
		})
	}
	return nil
}

// untilNext is how long it is until the next job is due, at most the
// backstop. While all slots are taken it is the backstop: a slot that becomes
// free wakes the dispatcher.
func (d *Dispatcher) untilNext(ctx context.Context) time.Duration {
	if len(d.slots) == cap(d.slots) {
		return backstop
	}
	next, ok, err := d.Store.NextWake(ctx)
	if err != nil || !ok {
		return backstop
	}
	return min(backstop, next.Sub(d.Now()))
}

// sleep waits for the given time, or until something wakes the dispatcher.
func (d *Dispatcher) sleep(ctx context.Context, length time.Duration) {
	if length <= 0 {
		return
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.wake:
	case <-ctx.Done():
	}
}

// handle does what a claimed job needs. An error leaves the job to be claimed
// again at the end of its lease.
func (d *Dispatcher) handle(ctx context.Context, r store.Record) {
	bot := launch.NotStarted
	if r.Attempts > 0 {
		bot = d.Launcher.State(r.ID, r.Attempt)
	}
	saved, err := d.saved(ctx, r, bot)
	if err != nil {
		d.Log.Error("cannot see what a bot saved", "job", r.ID, "error", err)
		return
	}
	next := decide(r, bot, saved, d.Now(), policy{Timeouts: d.timeouts(r), NoZoomSDK: d.NoZoomSDK})
	stop := d.keepLease(ctx, r)
	err = d.carryOut(ctx, r, next)
	stop()
	if errors.Is(err, errMoved) {
		err = errors.Join(err, d.release(ctx, r, d.Now()))
	}
	if next.step != wait {
		d.Log.Info("dispatch", "job", r.ID, "attempt", r.Attempt, "status", r.Status, "bot", bot, "saved", saved,
			"step", next.step, "detail", next.detail, "late_ms", lateness(r, next, d.Now()), "error", err)
	}
}

// saved asks whether anything usable was uploaded, where decide may need to
// know it.
func (d *Dispatcher) saved(ctx context.Context, r store.Record, bot launch.State) (bool, error) {
	switch r.Status {
	case job.Scheduled, job.Pending, job.Completed, job.Failed:
		return false, nil
	}
	if _, lost := lostBot(r, bot, d.Now(), d.timeouts(r)); !lost && d.Now().Before(deadline(r, d.timeouts(r))) {
		return false, nil
	}
	return d.Recordings.Saved(ctx, r.ID)
}

// lateness is how long after joinAt an attempt began, in milliseconds, and 0
// for anything but the first.
func lateness(r store.Record, next decision, now time.Time) int64 {
	if next.step != begin || r.Attempts > 0 || r.JoinAt.Before(r.CreatedAt) {
		return 0
	}
	return now.Sub(r.JoinAt).Milliseconds()
}
