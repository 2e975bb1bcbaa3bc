package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/retry"
	"standin/internal/runner"
)

// A failed launch is retried after minLaunchDelay, doubled each time up to
// maxLaunchDelay.
const (
	minLaunchDelay = time.Second
	maxLaunchDelay = 30 * time.Second
)

// recordDelay is how soon the launch of a bot is recorded again when the
// database did not accept it.
const recordDelay = 200 * time.Millisecond

// queue makes a job wait for capacity on any node. The reason is on the
// timeline once, when the job becomes pending.
func (t *task) queue(ctx context.Context, next decision) error {
	return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		c.Lease, c.WakeAt = "", next.until
		if c.Status != job.Scheduled {
			return nil
		}
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.NoCapacity}, map[string]string{"reason": next.detail, "node": t.d.Node.Name})
		return err
	})
}

// startAttempt counts a new attempt, and launches its bot.
func (t *task) startAttempt(ctx context.Context, reason string) error {
	d, first := t.d, t.job.Attempts == 0
	if !first && t.job.Mode != job.Test && d.Capacity.reserve(ctx, t.job.ID, t.job.NextAttempt(), d.Now()) != "" {
		return t.release(ctx, d.Now().Add(capacityRetry))
	}
	var consumer account.Consumer
	err := t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if c.Status != t.job.Status {
			return errJobChanged // a bot that the operator runs has reported, or the lost one is back
		}
		applied, err := c.StartAttempt(ctx, d.Node.ID, d.Node.Name, reason)
		if err == nil && !applied {
			err = errJobChanged
		}
		if err == nil {
			consumer, err = c.Consumer(ctx)
		}
		return err
	})
	if err != nil {
		if first {
			d.releaseSlot(t.job.ID)
		}
		return err
	}
	return t.launch(ctx, consumer)
}

// launchAgain launches the bot of an attempt that has been started.
func (t *task) launchAgain(ctx context.Context) error {
	consumer, err := t.d.Store.Consumer(ctx, t.job.ConsumerID)
	if err != nil {
		return fmt.Errorf("read the consumer's options: %w", err)
	}
	return t.launch(ctx, consumer)
}

// launch starts the bot of the current attempt. The previous attempt's bot is
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
			// This process was suspended: another dispatcher may have the job.
			return runner.ErrLost
		}
		failure = launcher.Launch(ctx, t.assignment(consumer))
		return nil
	})
	switch {
	case err != nil:
		return err
	case failure == nil && launcher.State(t.job.ID, t.job.Attempt) == launch.Starting:
		err := t.release(ctx, t.wakeForLaunch(t.job.AttemptStartedAt.Add(t.timeouts().Launch))) // the engine reports when it runs
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
	err = t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		if err := c.BotLaunchFailed(ctx, t.d.Node.Name, failure); err != nil {
			return err
		}
		c.Lease, c.WakeAt = "", t.wakeForLaunch(c.Now.Add(launchDelay(c.LaunchFailures)))
		return nil
	})
	return err
}

// wakeForLaunch returns when the job is looked at again after its bot was
// launched or not: at, but no later than joinAt when the bot is prelaunched.
func (t *task) wakeForLaunch(at time.Time) time.Time {
	if t.job.Prelaunch == job.Prelaunched {
		return earlier(at, t.job.JoinAt)
	}
	return at
}

// recordLaunch records that the bot of the current attempt runs. When the task
// has lost the job, the bot is stopped only if another attempt has made its token
// void: with a valid token, a bot that is stopped reports that as the end of the
// job. Otherwise the next task of the job decides about the bot.
func (t *task) recordLaunch(ctx context.Context) error {
	for {
		err := t.tryRecordLaunch(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, runner.ErrLost) || errors.Is(err, errJobChanged) || !t.lease.Valid():
			reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.d.Lease)
			defer cancel()
			return t.stopIfReplaced(reading, err)
		case ctx.Err() != nil:
			return err // the dispatcher stops: the next one of this node adopts the bot
		}
		_ = retry.Sleep(ctx, recordDelay) // the next round checks ctx
	}
}

// stopIfReplaced stops the bot if its attempt is no longer the current one. It
// returns why the launch was not recorded, or nil when it was recorded although
// the answer to the commit was lost.
func (t *task) stopIfReplaced(ctx context.Context, unrecorded error) error {
	current, err := t.d.Store.Job(ctx, t.job.ID)
	switch {
	case job.ErrorIs(err, job.NotFound), err == nil && current.Attempt != t.job.Attempt:
		return errors.Join(unrecorded, t.d.Launcher.Stop(ctx, t.job.ID, t.job.Attempt))
	case err == nil && current.Node == t.d.Node.ID && !current.LaunchedAt.IsZero():
		return nil
	}
	return errors.Join(unrecorded, err)
}

// tryRecordLaunch records once that the bot runs.
func (t *task) tryRecordLaunch(ctx context.Context) error {
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
	if err == nil {
		t.measureLaunch()
	}
	return err
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
	s := situation{job: r, timeouts: t.timeouts(), reachable: time.Unix(0, t.d.reachable.Load()).UTC()}
	return s.heartbeatDue()
}

// assignment is what the current attempt's bot is started with.
func (t *task) assignment(consumer account.Consumer) launch.Assignment {
	settings, r := t.d.Settings, t.job
	options := r.Resolved()
	options.Recording = options.Recording.Or(consumer.Recording)
	options.Output = cmp.Or(options.Output, consumer.Output)
	return launch.Assignment{
		JobID:             r.ID,
		Attempt:           r.Attempt,
		Token:             ingest.Token(settings.SigningKey, r.ID.String(), r.Attempt),
		ServiceURL:        settings.ServiceURL,
		MeetingURL:        r.MeetingURL,
		Platform:          r.Platform,
		DisplayName:       r.DisplayName,
		JoinAt:            r.JoinAt,
		AutoLeave:         r.AutoLeave,
		Mode:              r.Mode,
		Metadata:          r.Metadata,
		Options:           options,
		AllowedHosts:      settings.AllowedMeetingHosts,
		OwnHosts:          settings.OwnHosts,
		LoopbackPeers:     settings.LoopbackMeetings && onLoopback(r.MeetingURL),
		RequirePermission: settings.RequireRecordingConsent || options.Consent.Required != nil && *options.Consent.Required,
	}
}

// onLoopback reports whether a meeting is on this machine: a replica.
func onLoopback(meeting string) bool {
	u, err := url.Parse(meeting)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// launchDelay is the delay after a number of failed launches.
func launchDelay(failures int) time.Duration {
	delay := minLaunchDelay
	for range failures - 1 {
		delay = min(2*delay, maxLaunchDelay)
	}
	return delay
}
