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
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

const (
	batch    = 64                    // jobs handled at once
	backstop = 5 * time.Second       // the longest sleep: what other nodes tell of their changes may be lost
	blocked  = 10 * time.Millisecond // the shortest, while somebody else is taking what is due

	salvagesAtOnce = 4 // recordings that are put together; each uses processor and disk
)

// DefaultLease is how long a claimed job is held, and a node that is not heard
// is waited for.
const DefaultLease = 30 * time.Second

// errLeaseLost says that another dispatcher holds the job by now.
var errLeaseLost = errors.New("the job's lease was lost")

// errMoved says that the job has moved to where the decision no longer fits.
var errMoved = errors.New("the job has moved on")

// Recordings is what the dispatcher needs to look after recordings.
type Recordings interface {
	// Saved reports whether a bot of the job uploaded anything usable.
	HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error)
	// Salvage finalizes what the job's bots uploaded and stores the manifest.
	// It tells its progress. With nothing usable it is ErrNothingSaved.
	Salvage(ctx context.Context, r job.Record, detail string, progress func(Progress) error) error
	// Clean removes what is no longer needed once the manifest is kept.
	DeleteUploads(ctx context.Context, jobID uuid.UUID) error
}

// ErrNothingSaved says that a lost bot left nothing usable.
var ErrNoMedia = errors.New("nothing usable was recorded")

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
	Prelaunch     Prelaunch
	Capacity      *Capacity // for the bots of this node; boundless when nil
	Node          Node
	SingleNode    bool          // no other dispatcher works on this database
	Lease         time.Duration // DefaultLease when 0
	Metrics       Metrics       // may be nil
	Now           func() time.Time
	Log           *slog.Logger
}

// Meter counts what the dispatcher does.
type Metrics interface {
	// Launched counts a first attempt whose bot was started so long after
	// joinAt.
	Launched(late time.Duration)
	// LaunchFailed counts a bot that could not be started.
	LaunchFailed()
	// LeaseLost counts a job that another dispatcher took over.
	LeaseLost()
}

// Dispatcher runs jobs.
type Dispatcher struct {
	Settings

	wake    chan struct{}
	handled sync.WaitGroup
	slots   chan struct{}

	salvages  chan struct{}
	startedAt time.Time
	listening atomic.Int64 // since when all bots could be heard; see policy
	starts    startTimes
	fleet     struct {
		mu   sync.Mutex
		last Fleet
	}
}

// New returns a Dispatcher. It does nothing before Run.
func New(settings Settings) *Dispatcher {
	if settings.Lease == 0 {
		settings.Lease = DefaultLease
	}
	if settings.Capacity == nil {
		settings.Capacity = NewCapacity(CapacitySettings{})
	}
	d := &Dispatcher{
		Settings: settings,
		wake:     make(chan struct{}, 1),
		slots:    make(chan struct{}, batch),
		salvages: make(chan struct{}, salvagesAtOnce),
	}
	d.heardAgain(settings.Now())
	return d
}

// timeouts are the ones for a job: those of the simulator are short, because
// the tests of a consumer wait for them.
func (d *Dispatcher) timeouts(r job.Record) Timeouts {
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
	err := d.Store.Write(ctx, func(q *store.Queries) error { return q.WakeJob(ctx, jobID, d.Now()) })
	if err != nil {
		d.Log.Error("cannot look at a job whose bot has ended; it is looked at later", "job", jobID, "error", err)
	}
	d.Wake()
}

// Run handles jobs as they become due until ctx ends. Bots run on then.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.handled.Wait()
	if err := d.arrive(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	d.handled.Go(func() { d.keepPresence(ctx) })
	for ctx.Err() == nil {
		taken, err := d.claim(ctx)
		if err != nil && ctx.Err() == nil {
			d.Log.Error("cannot look for due jobs", "error", err)
			d.sleep(ctx, time.Second)
			continue
		}
		length := d.untilNext(ctx)
		if taken == 0 && length <= 0 {
			length = blocked
		}
		d.sleep(ctx, length)
	}
	return nil
}

// claim takes due jobs, as many as there are slots for, hands each to a
// goroutine, and tells how many there were. Those that get their first bot take their places in the order of
// joinAt.
func (d *Dispatcher) claim(ctx context.Context) (taken int, err error) {
	claim := d.nextClaim(ctx)
	if claim.Limit == 0 {
		return 0, nil
	}
	begun := time.Now() // before the claim: a lease must not seem longer than it is
	due, err := d.claimed(ctx, claim)
	if err != nil {
		return 0, err
	}
	for _, r := range due {
		held := newLeaseGuard(begun, d.Lease)
		noRoom := d.place(ctx, r)
		d.slots <- struct{}{}
		d.handled.Go(func() {
			free := sync.OnceFunc(func() { <-d.slots; d.Wake() })
			defer free()
			d.handle(ctx, held, r, noRoom, free)
		})
	}
	return len(due), nil
}

// claimed takes what a claim asks for.
func (d *Dispatcher) claimed(ctx context.Context, claim job.Claim) (due []job.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.Lease/2)
	defer cancel()
	waits, err := d.Store.CanClaim(ctx, claim)
	if err != nil || !waits {
		return nil, err // and nobody's turn to write is taken
	}
	err = d.Store.Write(ctx, func(q *store.Queries) (err error) {
		due, err = q.ClaimJobs(ctx, claim)
		return err
	})
	return due, err
}

// nextClaim says what this node takes now.
func (d *Dispatcher) nextClaim(ctx context.Context) job.Claim {
	now := d.Now()
	limit := cap(d.slots) - len(d.slots)
	return job.Claim{
		Node: d.Node.ID, Now: now, Lease: d.Lease, Limit: limit,
		Capacity: min(limit, d.Capacity.Free(ctx, now)), Prelaunch: d.prelaunch(),
	}
}

// place gives the first bot of a live job its place, or tells why there is
// none.
func (d *Dispatcher) place(ctx context.Context, r job.Record) (noRoom string) {
	if r.Mode == job.Test || r.Status != job.Scheduled && r.Status != job.Pending {
		return ""
	}
	return d.Capacity.reserve(ctx, r.ID, r.Attempts, d.Now())
}

// untilNext is how long it is until the next job is due, at most the
// backstop. While all slots are taken it is the backstop: a slot that becomes
// free wakes the dispatcher.
func (d *Dispatcher) untilNext(ctx context.Context) time.Duration {
	if len(d.slots) == cap(d.slots) {
		return backstop
	}
	now := d.Now()
	next, ok, err := d.Store.NextWake(ctx, d.Node.ID, now, d.prelaunch())
	if err != nil || !ok {
		return backstop
	}
	return min(backstop, next.Sub(now))
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

// handle does what a claimed job needs, and frees its slot before that when it
// takes long. An error leaves the job to be claimed again at the end of its
// lease.
func (d *Dispatcher) handle(ctx context.Context, held *leaseGuard, r job.Record, noRoom string, free func()) {
	working, stop := d.keepLease(ctx, r, held)
	defer stop()
	bot := d.botState(r)
	saved, err := d.saved(working, r, bot)
	if err != nil {
		d.Log.Error("cannot see what a bot saved", "job", r.ID, "error", err)
		return
	}
	by := d.policy(r)
	by.NoCapacity = noRoom
	if r.Attempts > 0 {
		by.Reason = d.Launcher.Reason(r.ID, r.Attempt)
	}
	next := decide(r, bot, saved, d.Now(), by)
	if next.step != begin && r.Attempts == 0 {
		d.leave(r.ID) // the place that it was given when it was claimed
	}
	if next.step == salvage {
		free()
		select {
		case d.salvages <- struct{}{}:
			defer func() { <-d.salvages }()
		case <-working.Done():
			return
		}
	}
	err = d.carryOut(working, held, r, next)
	stop()
	switch {
	case errors.Is(err, errMoved):
		err = errors.Join(err, d.release(ctx, r, d.Now()))
	case errors.Is(err, errLeaseLost) && d.Metrics != nil:
		d.Metrics.LeaseLost()
	}
	if next.step != wait {
		d.Log.Info("dispatch", "job", r.ID, "attempt", r.Attempt, "status", r.Status, "bot", bot, "saved", saved,
			"step", next.step, "detail", next.detail, "late_ms", lateness(r, next, d.Now()), "error", err)
	}
}

// botState asks what became of the current attempt's bot. Of another node's
// bot this one can tell nothing by not knowing it; and a simulated one that its
// own node does not know ended with the service that ran it.
func (d *Dispatcher) botState(r job.Record) launch.State {
	if r.Attempts == 0 {
		return launch.NotStarted
	}
	state := d.Launcher.State(r.ID, r.Attempt)
	switch {
	case state != launch.NotStarted:
		return state
	case d.elsewhere(r):
		return launch.Unknown
	case r.Mode == job.Test && r.Node != "" && !r.LaunchedAt.IsZero():
		return launch.Gone
	}
	return state
}

// elsewhere reports whether another node began the job's attempt.
func (d *Dispatcher) elsewhere(r job.Record) bool {
	return r.Attempts > 0 && r.Node != "" && r.Node != d.Node.ID
}

// policy is what is decided by for a job, but for the room.
func (d *Dispatcher) policy(r job.Record) policy {
	by := policy{
		Timeouts: d.timeouts(r), NoZoomSDK: d.NoZoomSDK, Elsewhere: d.elsewhere(r),
		Listening: time.Unix(0, d.listening.Load()).UTC(),
	}
	if r.Mode != job.Test {
		by.Prelaunch = d.prelaunch()
	}
	return by
}

// saved asks whether anything usable was uploaded, where decide may need to
// know it.
func (d *Dispatcher) saved(ctx context.Context, r job.Record, bot launch.State) (bool, error) {
	switch r.Status {
	case job.Scheduled, job.Pending, job.Completed, job.Failed:
		return false, nil
	}
	by := d.policy(r)
	if _, lost := lostBot(r, bot, d.Now(), by); !lost && d.Now().Before(deadline(r, by)) {
		return false, nil
	}
	return d.Recordings.HasMedia(ctx, r.ID)
}

// lateness is how long after joinAt an attempt began, in milliseconds, and 0
// for anything but the first.
func lateness(r job.Record, next decision, now time.Time) int64 {
	if next.step != begin || r.Attempts > 0 || r.JoinAt.Before(r.CreatedAt) {
		return 0
	}
	return now.Sub(r.JoinAt).Milliseconds()
}
