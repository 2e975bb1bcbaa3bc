package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/meetinglink"
)

// task processes one claimed job.
type task struct {
	d             *Dispatcher
	job           job.Record // as it was last read or written
	lease         *leaseGuard
	started       bool   // the claim has started the job's first attempt
	noCapacity    string // why no slot was reserved for the job's first bot; empty when one was
	releaseWorker func() // may be called more than once
}

// process loads the job's situation, decides, and applies the decision. After
// an error the job is claimed again at the end of its lease.
func (t *task) process(ctx context.Context) {
	withLease, stop := t.keepLease(ctx)
	defer stop()
	claimed := t.job
	s, err := t.load(withLease)
	if err != nil {
		t.d.Log.Error("cannot load what a bot uploaded", "job", claimed.ID, "error", err)
		return
	}
	next := decide(s)
	if !claimed.HasBot() && next.action != startAttempt && next.action != prelaunchBot {
		t.d.releaseSlot(claimed.ID) // reserved when the job was claimed
	}
	err = t.apply(withLease, next)
	stop()
	if next.action == wait && t.botState() != s.bot {
		t.d.BotStateChanged(ctx, claimed.ID) // the report could not wake the job while it was leased
	}
	switch {
	case errors.Is(err, errJobChanged):
		err = errors.Join(err, t.release(ctx, t.d.Now()))
	case errors.Is(err, errLeaseLost):
		t.d.Metrics.LeaseLost()
	}
	if next.action != wait {
		t.d.Log.Info("dispatch", "job", claimed.ID, "attempt", claimed.Attempt, "status", claimed.Status, "bot", s.bot,
			"has_media", s.hasMedia, "action", next.action, "detail", next.detail, "late_ms", s.lateness(next).Milliseconds(), "error", err)
	}
}

// load collects everything that the decision depends on.
func (t *task) load(ctx context.Context) (situation, error) {
	d, r := t.d, t.job
	s := d.situationOf(r)
	s.started, s.noCapacity = t.started, t.noCapacity
	s.bot, s.otherNode = t.botState(), t.onOtherNode()
	if r.HasBot() {
		s.botReason = d.Launcher.Reason(r.ID, r.Attempt)
	}
	var err error
	if s.needsMedia() {
		err = t.call(ctx, func() (err error) {
			s.hasMedia, err = d.Recordings.HasMedia(ctx, r.ID)
			return err
		})
	}
	return s, err
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
		return t.launch(ctx)
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
		return d.Timeouts.Simulated()
	}
	return d.Timeouts
}

// lateness is how long after joinAt a first attempt is started; 0 for every
// other decision.
func (s situation) lateness(next decision) time.Duration {
	if next.action != startAttempt || s.job.Attempts > 0 && !s.started || s.job.JoinAt.Before(s.job.CreatedAt) {
		return 0
	}
	return s.now.Sub(s.job.JoinAt)
}

// badLink returns why the meeting link cannot lead to a meeting, or "". The
// simulator opens no link.
func (d *Dispatcher) badLink(r job.Record) string {
	if r.Mode == job.Test || r.Status != job.Scheduled && r.Status != job.Pending {
		return ""
	}
	return meetinglink.Warning(r.MeetingURL, d.AllowedHosts...)
}
