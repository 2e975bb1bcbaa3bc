package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/account"
	"standin/internal/base/meetinglink"
	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/runner"
	"standin/internal/jobs/zoomstream"
	"standin/internal/launch"
)

const (
	// A failed launch is retried after minLaunchDelay, doubled each time up to
	// maxLaunchDelay.
	minLaunchDelay = time.Second
	maxLaunchDelay = 30 * time.Second

	// recordDelay is how soon the launch of a bot is recorded again when the
	// database did not accept it.
	recordDelay = 200 * time.Millisecond
)

// errJobChanged is the error of a task whose decision no longer fits the job.
var errJobChanged = errors.New("the job has changed")

// task processes one claimed job.
type task struct {
	d          *Dispatcher
	claimed    job.ClaimedJob
	job        job.Record // as it was last read or written
	lease      *runner.Lease
	unreserve  func()             // makes the job's slot as it was before this task reserved one; nil if it did not
	noCapacity string             // why no slot was reserved for the first bot of an admitted job; empty when one was
	failure    error              // of a launch, which the job records
	stream     *zoomstream.Access // of the meeting, on the platform zoom-sdk
}

// process takes the job one step further: it loads its situation, decides what is next, and
// does it.
func (t *task) process(ctx context.Context, lease *runner.Lease) error {
	t.lease = lease
	s, err := t.load(ctx)
	if err != nil {
		t.takeBackSlot()
		return fmt.Errorf("load due job: %w", err)
	}
	loaded, next := t.job, decide(s)
	if !loaded.HasBot() && next.action != startAttempt && next.action != prelaunchBot {
		t.d.releaseSlot(loaded.ID)
	}
	err = t.apply(ctx, next)
	if (next.action == wait || next.action == reportDelay) && t.botState() != s.bot {
		t.botStateChanged(ctx)
	}
	if next.action != wait {
		var late time.Duration // after joinAt, of a first attempt
		if next.action == startAttempt && s.job.Attempts == 0 && !s.job.JoinAt.Before(s.job.CreatedAt) {
			late = s.now.Sub(s.job.JoinAt)
		}
		t.d.Log.Info("dispatch decision", "job", loaded.ID, "attempt", loaded.Attempt, "status", loaded.Status, "bot", s.bot,
			"has_media", s.hasMedia, "action", next.action, "detail", next.detail, "late_ms", late.Milliseconds(),
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

// load reads the job, and collects everything that the decision depends on.
func (t *task) load(ctx context.Context) (s situation, err error) {
	d := t.d
	if t.job, err = d.Store.Job(ctx, t.claimed.ID); err != nil {
		return s, err
	}
	r := t.job
	waiting := r.Status == job.Scheduled || r.Status == job.Pending
	s = situation{
		job: r, bot: t.botState(), otherNode: t.onOtherNode(), now: d.Now(), noCapacity: t.noCapacity,
		timeouts: d.timeoutsOf(r), latestStart: d.LatestStart, reachable: d.reachableAt(),
	}
	if r.Mode != job.Test {
		s.prelaunch = d.prelaunch()
	}
	if r.Platform == job.ZoomSDK && r.Mode != job.Test && !r.Status.Terminal() && !s.now.Before(r.JoinAt) {
		var hasApp bool
		if t.stream, hasApp, err = d.Jobs.ZoomStream(ctx, r.Job); err != nil {
			return s, err
		}
		s.noZoomApp, s.noStream = !hasApp, t.stream == nil
	} else if waiting && r.Mode != job.Test { // the simulator opens no link
		s.badLink = meetinglink.Refusal(r.MeetingURL, d.AllowedMeetingHosts...)
	}
	if waiting && r.Mode == job.Live && !t.claimed.Admitted {
		s.noCapacity = d.Capacity.FullReason(ctx, d.Now())
		switch {
		case s.noCapacity != "":
		case d.MaxBotsPerConsumer > 0:
			s.noCapacity = fmt.Sprintf("its team runs its maximum of %d bots (STANDIN_MAX_BOTS_PER_CONSUMER), or other jobs are served first",
				d.MaxBotsPerConsumer)
		default:
			s.noCapacity = "other jobs are served first"
		}
	}
	if waiting && r.ByEvent && !r.Requested {
		other, ok, err := d.Store.BotInMeeting(ctx, r.Job)
		if err != nil {
			return s, err
		}
		if ok {
			s.otherBot = other.String()
		}
	}
	if r.HasBot() {
		s.botReason = d.Launcher.Reason(r.ID, r.Attempt)
	}
	_, lost := s.lostBot()
	launching := r.Status == job.Dispatching && r.LaunchedAt.IsZero()
	if r.HasBot() && !r.Status.Terminal() && (lost || launching || s.otherNode) {
		leave, err := d.Store.CommandsOfKind(ctx, r.ID, ingest.LeaveCall)
		if err != nil {
			return s, err
		}
		entries, err := d.Store.Timeline(ctx, r.ID)
		if err != nil {
			return s, err
		}
		s.leaving = len(leave) > 0
		for _, entry := range entries {
			s.wasIn = s.wasIn || entry.Applied && entry.To.InCall()
			if entry.Kind == job.BotExited && entry.Applied && ingest.ParseEventData(entry.Data).EndReason == ingest.EndStopped {
				s.stops++
			}
		}
	}
	over := r.Status == job.Completed || r.Status == job.Failed
	if !waiting && !over && (lost || !s.now.Before(s.deadline())) { // otherwise it does not matter, and is expensive to find out
		err = t.call(ctx, func() (err error) {
			s.hasMedia, err = d.Recordings.HasMedia(ctx, r.ID)
			return err
		})
	}
	return s, err
}

// apply does what was decided.
func (t *task) apply(ctx context.Context, next decision) error {
	d := t.d
	switch next.action {
	case wait:
		return t.release(ctx, next.until)
	case queue:
		return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			c.Lease, c.WakeAt = "", next.until
			if c.Status != job.Scheduled {
				return nil // the reason is on the timeline already
			}
			_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.NoCapacity}, map[string]string{"reason": next.detail, "node": d.Node.Name})
			return err
		})
	case prelaunchBot: // nothing of the bot shows before joinAt: the job stays scheduled
		return t.start(ctx, func(_ context.Context, c *lifecycle.Change) (bool, error) { return c.BeginPrelaunch(d.Node.ID), nil })
	case skipPrelaunch:
		return t.change(ctx, func(_ context.Context, c *lifecycle.Change) error {
			c.Lease, c.WakeAt, c.Prelaunch = "", c.JoinAt, job.PrelaunchSkipped
			return nil
		})
	case startPrelaunched:
		err := t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			started, err := c.StartPrelaunched(ctx)
			if err == nil && !started {
				err = errJobChanged
			}
			c.Lease, c.WakeAt = "", c.Now
			if !c.LaunchedAt.IsZero() {
				c.WakeAt = t.heartbeatDue(c.Record)
			}
			return err
		})
		if err == nil {
			t.measureLaunch()
		}
		return err
	case startAttempt:
		if t.job.Attempts > 0 && t.job.Mode != job.Test && t.reserve(ctx, t.job.NextAttempt()) != "" {
			return t.release(ctx, d.Now().Add(capacityRetry))
		}
		return t.start(ctx, func(ctx context.Context, c *lifecycle.Change) (bool, error) {
			return c.StartAttempt(ctx, d.Node.ID, d.Node.Name, next.detail)
		})
	case launchBot:
		consumer, err := d.Store.Consumer(ctx, t.job.ConsumerID)
		if err != nil {
			return err
		}
		return t.launch(ctx, consumer)
	case reportDelay:
		return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			c.Lease, c.WakeAt = "", next.until
			return c.BotLaunchFailed(ctx, d.Node.Name, errors.New(next.detail))
		})
	case adoptBot:
		return t.recordLaunch(ctx)
	case stopPrelaunched:
		return t.call(ctx, func() error { return t.stopPrelaunched(ctx) })
	case salvage:
		return t.salvage(ctx, next.detail)
	case giveUp:
		return t.call(ctx, func() error { return t.giveUp(ctx, next.code, next.detail) })
	case joinOther:
		return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			c.Lease = ""
			return c.JoinOther(ctx, next.otherJob)
		})
	case cleanUp:
		return t.call(ctx, func() error { return t.cleanUp(ctx) })
	}
	return fmt.Errorf("unknown action %q", next.action)
}

// start makes begin begin an attempt or a prelaunch, unless the job has changed since the
// decision: a bot that the operator runs has reported, or the lost one is back. Then it
// launches the bot.
func (t *task) start(ctx context.Context, begin func(context.Context, *lifecycle.Change) (bool, error)) error {
	var consumer account.Consumer
	err := t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if c.Status != t.job.Status {
			return errJobChanged
		}
		begun, err := begin(ctx, c)
		if err != nil {
			return err
		}
		if !begun {
			return errJobChanged
		}
		consumer, err = c.Consumer(ctx)
		return err
	})
	if err != nil {
		t.takeBackSlot()
		return err
	}
	return t.launch(ctx, consumer)
}

// launch launches the bot of the current attempt. The previous attempt's bot is
// stopped first: there are never two. It is stopped only now, when its token is
// void, because a bot that is stopped can report that as the end of the job. A
// failed launch is retried with growing delays until decide gives up.
func (t *task) launch(ctx context.Context, consumer account.Consumer) error {
	launcher := t.d.Launcher
	var failure error
	err := t.call(ctx, func() error {
		if t.job.Attempts > 1 {
			if err := launcher.Stop(ctx, t.job.ID, t.job.Attempt-1); err != nil {
				return err
			}
		}
		if !t.lease.Valid() {
			return runner.ErrLost // this process was suspended: another dispatcher may have the job
		}
		failure = launcher.Launch(ctx, t.assignment(consumer))
		return nil
	})
	switch {
	case err != nil:
		return err
	case failure == nil && launcher.State(t.job.ID, t.job.Attempt) == launch.Starting:
		// The engine reports when it runs.
		err := t.release(ctx, t.wakeForLaunch(t.job.AttemptStartedAt.Add(min(slowStart, t.d.timeoutsOf(t.job).Launch))))
		if launcher.State(t.job.ID, t.job.Attempt) != launch.Starting {
			t.botStateChanged(ctx)
		}
		return err
	case failure == nil:
		return t.recordLaunch(ctx)
	case ctx.Err() != nil:
		return ctx.Err() // the dispatcher stops: the launch has not failed, and the next one retries it
	}
	t.failure = fmt.Errorf("launch: %w", failure)
	t.d.Metrics.LaunchFailed()
	return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if err := c.BotLaunchFailed(ctx, t.d.Node.Name, failure); err != nil {
			return err
		}
		c.Lease, c.WakeAt = "", t.wakeForLaunch(c.Now.Add(launchDelay(c.LaunchFailures)))
		return nil
	})
}

// launchDelay is the delay after a number of failed launches.
func launchDelay(failures int) time.Duration {
	return min(minLaunchDelay/2<<min(failures, 10), maxLaunchDelay)
}

// recordLaunch records that the bot of the current attempt runs. When the task
// has lost the job, the bot is stopped only if another attempt has made its token
// void: with a valid token, a bot that is stopped reports that as the end of the
// job. Otherwise the next task of the job decides about the bot.
func (t *task) recordLaunch(ctx context.Context) error {
	for {
		err := t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			c.LaunchedAt = c.Now
			c.Lease, c.WakeAt = "", t.heartbeatDue(c.Record)
			if t.d.Launcher.State(c.ID, c.Attempt) == launch.Gone || c.BotLost != "" {
				c.WakeAt = c.Now // it ended while the job was leased, when its end could not wake the job
			}
			c.WakeAt = t.wakeForLaunch(c.WakeAt)
			if c.Prelaunch == job.Prelaunched {
				return nil // on the timeline from joinAt on
			}
			return c.BotLaunched(ctx, t.d.Node.Name)
		})
		switch {
		case err == nil:
			t.measureLaunch()
			return nil
		case errors.Is(err, runner.ErrLost) || errors.Is(err, errJobChanged) || !t.lease.Valid():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.d.Lease)
			defer cancel()
			current, readErr := t.d.Store.Job(ctx, t.job.ID)
			switch {
			case job.IsNotFound(readErr), readErr == nil && current.Attempt != t.job.Attempt:
				return errors.Join(err, t.stopBot(ctx))
			case readErr == nil && current.Node == t.d.Node.ID && !current.LaunchedAt.IsZero():
				return nil // it was recorded, and the answer to the commit was lost
			}
			return errors.Join(err, readErr)
		case ctx.Err() != nil:
			return err // the dispatcher stops: the next one of this node adopts the bot
		}
		_ = retry.Sleep(ctx, recordDelay) // the next round checks ctx
	}
}

// stopPrelaunched stops the bot that was launched before joinAt. The next one is
// launched before joinAt, too, unless this one failed. The token of a bot that
// failed is made void first, because a bot that is stopped can report that as
// the end of the job.
func (t *task) stopPrelaunched(ctx context.Context) error {
	failed := t.job.Prelaunch == job.Prelaunched
	if failed {
		err := t.change(ctx, func(_ context.Context, c *lifecycle.Change) error {
			if c.Prelaunch != job.Prelaunched {
				return errJobChanged // the bot has joined
			}
			c.WithdrawPrelaunch()
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := t.d.Launcher.Stop(ctx, t.job.ID, t.job.Attempt-1); err != nil {
		return err
	}
	t.d.releaseSlot(t.job.ID)
	return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		c.Lease = ""
		err := c.EndPrelaunch(ctx)
		if failed {
			c.Prelaunch = job.PrelaunchSkipped
		}
		return err
	})
}

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
	return t.withLease(ctx, func(_ context.Context, c *lifecycle.Change) error {
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
	if err == nil {
		t.job = changed
	}
	return err
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

// reserve reserves a slot for the bot of an attempt, or returns why there is none.
func (t *task) reserve(ctx context.Context, attempt int) (noCapacity string) {
	t.unreserve, noCapacity = t.d.Capacity.reserve(ctx, t.claimed.ID, attempt, t.d.Now())
	return noCapacity
}

// takeBackSlot undoes reserve for an attempt that does not begin.
func (t *task) takeBackSlot() {
	if t.unreserve != nil {
		t.unreserve()
		t.d.Wake() // for the jobs that wait for capacity
	}
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

// botStateChanged makes the dispatcher look at the job again: the report of a change of its
// bot could not wake it while it was leased.
func (t *task) botStateChanged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.d.Lease)
	defer cancel()
	t.d.BotStateChanged(ctx, t.claimed.ID)
}

// wakeForLaunch returns when the job is looked at again after its bot was
// launched or not: at, but no later than joinAt when the bot is prelaunched.
func (t *task) wakeForLaunch(at time.Time) time.Time {
	if t.job.Prelaunch == job.Prelaunched {
		return job.Earliest(at, t.job.JoinAt)
	}
	return at
}

// measureLaunch counts the launch of a first attempt's bot.
func (t *task) measureLaunch() {
	if r := t.job; r.Attempts == 1 && !r.LaunchedAt.IsZero() && !r.JoinAt.Before(r.CreatedAt) {
		t.d.Metrics.Launched(max(0, r.LaunchedAt.Sub(r.JoinAt)))
	}
}

// heartbeatDue is when the first heartbeat of a bot that has just been launched
// is overdue.
func (t *task) heartbeatDue(r job.Record) time.Time {
	return situation{job: r, timeouts: t.d.timeoutsOf(t.job), reachable: t.d.reachableAt()}.heartbeatDue()
}
