// Package dispatch brings every job to its end: it launches bots when they are
// due, supervises the running ones, and finalizes what a lost bot uploaded. It
// sleeps until the next job is due; it never scans all jobs.
//
// Each claimed job takes one path (task.go): load its situation, decide
// (decide.go, a pure function), apply the decision. Launchers start the bots,
// and package lifecycle changes the jobs.
package dispatch

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/runner"
	"standin/internal/launch"
	"standin/internal/store"
)

const (
	maxTasks    = 512             // jobs processed at once: leased, and mostly waiting for the database or for a slot of maxCalls
	maxCalls    = 64              // jobs whose launcher or storage is called at once
	maxSalvages = 4               // recordings finalized at once: each uses CPU and disk
	maxSleep    = 5 * time.Second // notifications from other nodes may be lost
	maxRetry    = time.Minute     // before a job that cannot be read or saved is tried again

	// claimInterval is the minimum time between two claims: jobs that become due
	// one after the other are claimed together.
	claimInterval = 10 * time.Millisecond
)

// DefaultLease is how long a claimed job is leased, and after how long a
// silent node counts as gone.
const DefaultLease = 30 * time.Second

// DefaultLatestStart is the default of Options.LatestStart.
const DefaultLatestStart = 30 * time.Minute

// Options are the settings of the dispatcher that operators choose.
type Options struct {
	MaxBotsPerConsumer      int           `env:"STANDIN_MAX_BOTS_PER_CONSUMER" name:"max-bots-per-consumer" default:"0" help:"Maximum number of bots that a team may run at a time, on all nodes; 0 means no limit."`
	Prelaunch               Prelaunch     `env:"STANDIN_PRELAUNCH" default:"auto" help:"How long before joinAt to start bots, so that they join on time: auto (the recent startup time of this node's bots), a duration such as 5s, or 0."`
	LatestStart             time.Duration `env:"STANDIN_LATEST_START" default:"30m" help:"How long after joinAt, or after the job was created if that is later, a first bot may be sent. The end of a calendar event, or a job's option startBefore, overrides it."`
	Lease                   time.Duration `kong:"-"` // other nodes take over the work of a node that has not renewed its lease for this long; DefaultLease when 0
	AllowedMeetingHosts     []string      `env:"STANDIN_ALLOWED_MEETING_HOSTS" help:"Hosts that bots may open in addition to the meeting platforms' hosts."`
	LoopbackMeetings        bool          `env:"STANDIN_LOOPBACK_MEETINGS" help:"Allow meetings on this machine to send media over loopback. For replicas only."`
	RequireRecordingConsent bool          `env:"STANDIN_REQUIRE_RECORDING_CONSENT" help:"Record only with the host's permission. A job can request this with its option consent.required."`
}

// Settings configure a Dispatcher.
type Settings struct {
	Options
	Store      *store.Store
	Jobs       *lifecycle.Service
	Launcher   launch.Launcher
	Recordings Recordings
	SigningKey []byte   // of ingest tokens
	ServiceURL string   // where bots reach the service
	OwnHosts   []string // see launch.Assignment
	Timeouts   Timeouts
	Capacity   *Capacity    // for the bots of this node; unlimited when nil
	Broken     func() error // returns why this node cannot launch any bot; nil if it can
	Node       Node
	SingleNode bool    // no other dispatcher uses this database
	Metrics    Metrics // may be nil
	Now        func() time.Time
	Log        *slog.Logger
}

// Metrics counts what the dispatcher does.
type Metrics interface {
	// Launched counts a first attempt whose bot was started this long after
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

	runner   *runner.Runner[*task]
	calls    chan struct{} // holds a value for each task that calls the launcher or the storage
	salvages chan struct{} // holds a value for each salvage that is running

	startedAt  time.Time
	reachable  atomic.Int64 // since when every bot could reach the service, in Unix nanoseconds
	startTimes startTimes

	heartbeatError atomic.Pointer[error] // of the last heartbeat
}

// New returns a Dispatcher. It does nothing before Run.
func New(settings Settings) *Dispatcher {
	settings.Lease = cmp.Or(settings.Lease, DefaultLease)
	if settings.LatestStart <= 0 {
		settings.LatestStart = DefaultLatestStart
	}
	settings.Capacity = cmp.Or(settings.Capacity, NewCapacity(CapacitySettings{}))
	if settings.Metrics == nil {
		settings.Metrics = noMetrics{}
	}
	if settings.Broken == nil {
		settings.Broken = func() error { return nil }
	}
	d := &Dispatcher{
		Settings: settings,
		calls:    make(chan struct{}, maxCalls),
		salvages: make(chan struct{}, maxSalvages),
	}
	d.runner = &runner.Runner[*task]{
		Name: "job", Slots: maxTasks, Poll: maxSleep, Gap: claimInterval, Lease: settings.Lease, MaxPause: maxRetry,
		Claim: d.claimDue,
		Next: func(ctx context.Context) (time.Time, bool, error) {
			return d.Store.NextWake(ctx, d.Node.ID, d.Now(), d.prelaunch())
		},
		Extend: func(ctx context.Context, t *task, until time.Time) error {
			return d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				held, err := tx.ExtendLease(ctx, t.claimed.ID, t.claimed.Lease, until)
				if err == nil && !held {
					err = runner.ErrLost
				}
				return err
			})
		},
		Run: func(ctx context.Context, t *task, lease *runner.Lease) error { return t.process(ctx, lease) },
		ID:  func(t *task) string { return t.claimed.ID.String() },
		Now: settings.Now, Log: settings.Log,
	}
	d.reachableSince(settings.Now())
	return d
}

type noMetrics struct{}

func (noMetrics) Launched(time.Duration) {}
func (noMetrics) LaunchFailed()          {}
func (noMetrics) LeaseLost()             {}

// Wake makes the dispatcher look for due jobs at once.
func (d *Dispatcher) Wake() { d.runner.Wake() }

// DueSoon reports whether dispatchers must be woken for a job that is due at a
// time, or whose bot may be launched before it. They look for due jobs at least
// every maxSleep and find later ones then.
func DueSoon(at time.Time, waiting bool, now time.Time) bool {
	ahead := maxSleep
	if waiting {
		ahead += maxPrelaunch
	}
	return !at.After(now.Add(ahead))
}

// Run processes jobs as they become due until ctx ends. Bots continue to run.
func (d *Dispatcher) Run(ctx context.Context) {
	backoff := retry.Backoff{Min: time.Second, Max: 10 * time.Second}
	for {
		err := d.joinFleet(ctx)
		if err == nil {
			break
		}
		pause := backoff.Next()
		if ctx.Err() == nil {
			d.Log.Error("cannot register this node", "error", err, "retry_in", pause)
		}
		if retry.Sleep(ctx, pause) != nil {
			return
		}
	}
	var heartbeats sync.WaitGroup
	heartbeats.Go(func() { d.sendHeartbeats(ctx) })
	d.runner.Work(ctx)
	heartbeats.Wait()
}

// claimDue leases due jobs. It starts a write only when there is something to claim.
// Admitted jobs get a slot for their first bot.
func (d *Dispatcher) claimDue(ctx context.Context, limit int) (found runner.Batch[*task], err error) {
	now := d.Now()
	claim := job.Claim{
		Node: d.Node.ID, Now: now, Lease: d.Lease, Limit: limit,
		Capacity: d.Capacity.Free(ctx, now), PerConsumer: d.MaxBotsPerConsumer, Prelaunch: d.prelaunch(),
	}
	waiting, err := d.Store.CanClaim(ctx, claim)
	if err != nil || !waiting {
		return found, err
	}
	var claimed job.Claimed
	err = d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, err = tx.ClaimJobs(ctx, claim)
		return err
	})
	if err != nil {
		return found, err
	}
	found.More = claimed.More
	for _, c := range claimed.Jobs {
		t := &task{d: d, claimed: c}
		if c.Admitted {
			t.noCapacity = t.reserve(ctx, c.Attempt)
		}
		found.Items = append(found.Items, t)
	}
	return found, nil
}

// Timeouts bound how long a job may stay in each phase. Every state that is
// not terminal has one, so no job can hang.
type Timeouts struct {
	Launch         time.Duration // from the start of an attempt until its bot has been started
	FirstHeartbeat time.Duration // from the start of a bot until its first heartbeat
	Heartbeat      time.Duration // since the last heartbeat
	Joining        time.Duration // in joining: the page opens and the join button is found
	Lobby          time.Duration // in the lobby, beyond the job's own entry delay
	Meeting        time.Duration // in the meeting, beyond the job's own maximum
	Teardown       time.Duration // in each state in which the recording is put together
	Leaving        time.Duration // for the bot of an ended job to leave and to upload what it has
	MaxAttempts    int           // of a job
	MaxStops       int           // attempts that do not count, because someone else than the service stopped the bot
}

// DefaultTimeouts returns the timeouts for bots that the service launches.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Launch:         2 * time.Minute,
		FirstHeartbeat: 45 * time.Second,
		Heartbeat:      60 * time.Second,
		Joining:        5 * time.Minute,
		Lobby:          2 * time.Minute,
		Meeting:        5 * time.Minute,
		Teardown:       30 * time.Minute,
		Leaving:        10 * time.Minute,
		MaxAttempts:    3,
		MaxStops:       10,
	}
}

// Manual returns the timeouts for bots that the operator runs. Nobody can
// predict when that happens, and a silent bot cannot be replaced.
func (t Timeouts) Manual() Timeouts {
	t.FirstHeartbeat = 4 * time.Hour
	t.Heartbeat = 30 * time.Minute
	t.Joining = 30 * time.Minute
	t.MaxAttempts, t.MaxStops = 1, 0
	return t
}

// timeoutsOf returns the timeouts of a job. The simulated bots of test keys are fast and send a
// heartbeat every few seconds.
func (d *Dispatcher) timeoutsOf(r job.Record) Timeouts {
	t := d.Timeouts
	if r.Mode == job.Test {
		t.Launch = min(t.Launch, 3*time.Second)
		t.FirstHeartbeat = min(t.FirstHeartbeat, 10*time.Second)
		t.Heartbeat = min(t.Heartbeat, 15*time.Second)
		t.Teardown = min(t.Teardown, time.Minute)
		t.Leaving = min(t.Leaving, 30*time.Second)
		t.MaxAttempts = max(t.MaxAttempts, 3)
	}
	return t
}

// BotStateChanged makes the dispatcher look at a job whose bot has started or
// ended.
func (d *Dispatcher) BotStateChanged(ctx context.Context, jobID uuid.UUID) {
	err := d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.WakeJob(ctx, jobID, d.Now()) })
	if err != nil {
		d.Log.Error("cannot wake a job whose bot changed; processing it when it is due", "job", jobID, "error", err)
	}
	d.Wake()
}
