package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/meetinglink"
	"standin/internal/runner"
	"standin/internal/store"
)

// task processes one claimed job.
type task struct {
	d          *Dispatcher
	claimed    job.ClaimedJob
	job        job.Record // as it was last read or written
	lease      *runner.Lease
	noCapacity string // why no slot was reserved for the first bot of an admitted job; empty when one was
	failure    error  // of a launch, which the job records
}

// process loads the job's situation, decides, and applies the decision.
func (t *task) process(ctx context.Context, lease *runner.Lease) error {
	t.lease = lease
	s, err := t.load(ctx)
	if err != nil {
		if t.claimed.Admitted {
			t.d.releaseSlot(t.claimed.ID) // reserved when it was claimed
		}
		return fmt.Errorf("load due job: %w", err)
	}
	loaded := t.job
	next := decide(s)
	if !loaded.HasBot() && next.action != startAttempt && next.action != prelaunchBot {
		t.d.releaseSlot(loaded.ID)
	}
	err = t.apply(ctx, next)
	if next.action == wait && t.botState() != s.bot {
		t.botStateChanged(ctx)
	}
	if next.action != wait {
		t.d.Log.Info("dispatch decision", "job", loaded.ID, "attempt", loaded.Attempt, "status", loaded.Status, "bot", s.bot,
			"has_media", s.hasMedia, "action", next.action, "detail", next.detail, "late_ms", s.lateness(next).Milliseconds(),
			"error", errors.Join(t.failure, err))
	}
	switch {
	case errors.Is(err, errJobChanged):
		return t.release(ctx, t.d.Now())
	case errors.Is(err, runner.ErrLost):
		t.d.Metrics.LeaseLost()
	}
	return err
}

// botStateChanged makes the dispatcher look at the job again: the report of a change of its
// bot could not wake it while it was leased.
func (t *task) botStateChanged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.d.Lease)
	defer cancel()
	t.d.BotStateChanged(ctx, t.claimed.ID)
}

// load reads the job, and collects everything that the decision depends on.
func (t *task) load(ctx context.Context) (situation, error) {
	d := t.d
	r, err := d.Store.Job(ctx, t.claimed.ID)
	if err != nil {
		return situation{}, err
	}
	t.job = r
	s := d.situationOf(r)
	s.noCapacity = t.noCapacity
	if !t.claimed.Admitted && r.Mode == job.Live && (r.Status == job.Scheduled || r.Status == job.Pending) {
		s.noCapacity = d.notAdmitted(ctx)
	}
	s.bot, s.otherNode = t.botState(), t.onOtherNode()
	if r.HasBot() {
		s.botReason = d.Launcher.Reason(r.ID, r.Attempt)
	}
	if s.mayBeLost() {
		if s.leaving, s.stops, err = d.history(ctx, r.ID); err != nil {
			return s, err
		}
	}
	if s.needsMedia() {
		err = t.call(ctx, func() (err error) {
			s.hasMedia, err = d.Recordings.HasMedia(ctx, r.ID)
			if err != nil {
				return fmt.Errorf("look for uploaded media: %w", err)
			}
			return nil
		})
	}
	return s, err
}

// history returns whether a job's bots were told to leave, and how many of them reported
// that they were stopped by someone else than the service.
func (d *Dispatcher) history(ctx context.Context, id uuid.UUID) (leaving bool, stops int, err error) {
	commands, err := d.Store.CommandsOfKind(ctx, id, ingest.LeaveCall)
	if err != nil {
		return false, 0, err
	}
	entries, err := d.Store.Timeline(ctx, id)
	for _, entry := range entries {
		if entry.Kind == job.BotExited && entry.Applied && ingest.ParseEventData(entry.Data).EndReason == ingest.EndStopped {
			stops++
		}
	}
	return len(commands) > 0, stops, err
}

// situationOf returns what the decision about a job without a bot depends on.
func (d *Dispatcher) situationOf(r job.Record) situation {
	s := situation{
		job: r, bot: launch.NotStarted, now: d.Now(), badLink: d.badLink(r), noZoomSDK: d.NoZoomSDK,
		timeouts: d.timeoutsOf(r), reachable: time.Unix(0, d.reachable.Load()).UTC(),
	}
	if r.Mode != job.Test {
		s.prelaunch = d.prelaunch()
	}
	return s
}

// call calls fn, which uses the launcher or the storage, when few enough other
// tasks do so.
func (t *task) call(ctx context.Context, fn func() error) error {
	select {
	case t.d.calls <- struct{}{}:
		defer func() { <-t.d.calls }()
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// apply carries out a decision.
func (t *task) apply(ctx context.Context, next decision) error {
	switch next.action {
	case wait:
		return t.release(ctx, next.until)
	case queue:
		return t.queue(ctx, next)
	case startAttempt:
		return t.startAttempt(ctx, next.detail)
	case launchBot:
		return t.launchAgain(ctx)
	case prelaunchBot:
		return t.prelaunchBot(ctx)
	case skipPrelaunch:
		return t.skipPrelaunch(ctx)
	case startPrelaunched:
		return t.startPrelaunched(ctx)
	case stopPrelaunched:
		return t.call(ctx, func() error { return t.stopPrelaunched(ctx) })
	case adoptBot:
		return t.recordLaunch(ctx)
	case salvage:
		return t.salvage(ctx, next.detail)
	case giveUp:
		return t.call(ctx, func() error { return t.giveUp(ctx, next.code, next.detail) })
	case cleanUp:
		return t.call(ctx, func() error { return t.cleanUp(ctx) })
	}
	return fmt.Errorf("unknown action %q", next.action)
}

// botState returns the state of the current attempt's bot. This node's launcher
// cannot know the bots of other nodes. A simulated bot that its own node does
// not know ended with the service that ran it.
func (t *task) botState() launch.State {
	r := t.job
	if !r.HasBot() {
		return launch.NotStarted
	}
	state := t.d.Launcher.State(r.ID, r.Attempt)
	switch {
	case state != launch.NotStarted:
		return state
	case t.onOtherNode():
		return launch.Unknown
	case r.Mode == job.Test && r.Node != "" && !r.LaunchedAt.IsZero():
		return launch.Gone
	}
	return state
}

// onOtherNode reports whether another node launches the bot of the current
// attempt.
func (t *task) onOtherNode() bool {
	return t.job.HasBot() && t.job.Node != "" && t.job.Node != t.d.Node.ID
}

func (t *task) timeouts() Timeouts { return t.d.timeoutsOf(t.job) }

// timeoutsOf are short for simulated bots: the tests of a consumer wait for them.
func (d *Dispatcher) timeoutsOf(r job.Record) Timeouts {
	if r.Mode == job.Test {
		return d.Timeouts.simulated()
	}
	return d.Timeouts
}

// lateness is how long after joinAt a first attempt is started; 0 for every
// other decision.
func (s situation) lateness(next decision) time.Duration {
	if next.action != startAttempt || s.job.Attempts > 0 || s.job.JoinAt.Before(s.job.CreatedAt) {
		return 0
	}
	return s.now.Sub(s.job.JoinAt)
}

// badLink returns why the meeting link certainly leads to no meeting, or "". The
// simulator opens no link.
func (d *Dispatcher) badLink(r job.Record) string {
	if r.Mode == job.Test || r.Status != job.Scheduled && r.Status != job.Pending {
		return ""
	}
	return meetinglink.Refusal(r.MeetingURL, d.AllowedMeetingHosts...)
}

// errJobChanged is the error of a task whose decision no longer fits the job.
var errJobChanged = errors.New("the job has changed")

// change changes the job while this task holds its lease and the attempt that
// was decided on is the current one.
func (t *task) change(ctx context.Context, fn func(context.Context, *lifecycle.Change) error) error {
	return t.withLease(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if c.Attempt != t.job.Attempt {
			return errJobChanged
		}
		return fn(ctx, c)
	})
}

// release gives the lease up. The job is processed again at wakeAt, and at once
// when it has changed since it was claimed.
func (t *task) release(ctx context.Context, wakeAt time.Time) error {
	return t.withLease(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		c.Lease, c.WakeAt = "", wakeAt
		if c.Status != t.job.Status || c.Attempt != t.job.Attempt || c.BotLost != t.job.BotLost {
			c.WakeAt = c.Now
		}
		return nil
	})
}

// withLease changes the job if this task still holds its lease.
func (t *task) withLease(ctx context.Context, fn func(context.Context, *lifecycle.Change) error) error {
	changed, err := t.d.Jobs.Change(ctx, t.claimed.ID, func(ctx context.Context, c *lifecycle.Change) error {
		switch {
		case c.Lease == "":
			return errJobChanged // the end of the job, or a new joinAt, has revoked the lease
		case c.Lease != t.claimed.Lease:
			return runner.ErrLost
		}
		return fn(ctx, c)
	})
	if err != nil {
		return err
	}
	t.job = changed
	return nil
}

// extendLease sets the end of the lease.
func (t *task) extendLease(ctx context.Context, until time.Time) error {
	return t.d.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		held, err := tx.ExtendLease(ctx, t.claimed.ID, t.claimed.Lease, until)
		if err == nil && !held {
			err = runner.ErrLost
		}
		return err
	})
}
