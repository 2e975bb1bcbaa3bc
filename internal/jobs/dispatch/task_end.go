package dispatch

import (
	"context"
	"errors"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording/build"
)

// salvage stops the bot, if it still runs, and finalizes what it uploaded. Only
// a few salvages run at once; the others wait without a slot of the runner.
func (t *task) salvage(ctx context.Context, detail string) error {
	t.lease.FreeSlot()
	select {
	case t.d.salvages <- struct{}{}:
		defer func() { <-t.d.salvages }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.stopBot(ctx); err != nil {
		return err
	}
	t.d.releaseSlot(t.job.ID)
	reach := func(trigger job.Trigger, detail string) error { // unless the job is past it
		return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			event := job.Event{Trigger: trigger}
			if state, result := c.State.Apply(event); !result.Applied || state.Status == c.Status {
				return nil
			}
			_, err := c.ApplyFromService(ctx, event, map[string]string{"detail": detail})
			return err
		})
	}
	if err := reach(job.SalvageStarted, detail); err != nil {
		return err
	}
	limit := 2 * t.d.timeoutsOf(t.job).Teardown
	salvaging, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(limit, cancel) // a store that answers slowly does not hold the job and others
	defer watchdog.Stop()
	err := t.d.Recordings.Salvage(salvaging, t.job, detail, func(progress Progress) error {
		watchdog.Reset(limit)
		if progress.Stage != build.Storing {
			return reach(job.SalvagePacking, "")
		}
		if err := reach(job.SalvageStoring, ""); err != nil {
			return err
		}
		return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
			return c.MediaStored(ctx, progress.Done, progress.Total)
		})
	})
	switch {
	case errors.Is(err, ErrNoMedia):
		return t.giveUp(ctx, job.NetworkLoss, detail+", and nothing usable was recorded")
	case err != nil && ctx.Err() == nil && (salvaging.Err() != nil || !t.d.Now().Before(t.job.StatusSince.Add(limit))):
		// It made no progress, or was retried until long after the deadline. The
		// uploads are kept; "standin recordings finish" finishes the recording later.
		return errors.Join(err, t.giveUp(ctx, job.InternalError,
			detail+", and the recording could not be finalized; the service's log has the reason. "+
				"The uploads are kept: the operator can run standin recordings finish"))
	case err != nil:
		return err
	}
	return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.ManifestFinalized, ManifestURI: t.d.Jobs.ManifestURI(c.ID)}, nil)
		c.Lease, c.WakeAt = "", c.Now // to be cleaned up
		return err
	})
}

// stopBot stops the bot of the current attempt.
func (t *task) stopBot(ctx context.Context) error {
	return t.d.Launcher.Stop(ctx, t.job.ID, t.job.Attempt)
}

// giveUp stops the bot and fails the job.
func (t *task) giveUp(ctx context.Context, code job.FailureCode, detail string) error {
	if err := t.stopBot(ctx); err != nil {
		if t.job.Status == job.Cancelled || ctx.Err() != nil {
			return err
		}
		// A job's end does not wait for an unreachable engine. No other bot is
		// launched, the heartbeats of this one are answered with leave_call, and
		// cleanUp retries the stop.
		t.d.Log.Error("cannot stop the bot of a failed job; retrying", "job", t.job.ID, "attempt", t.job.Attempt, "error", err)
	}
	t.d.releaseSlot(t.job.ID)
	if t.job.Status == job.Cancelled {
		return t.release(ctx, time.Time{}) // it has ended already
	}
	return t.change(ctx, func(ctx context.Context, c *lifecycle.Change) error {
		result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.GivenUp, FailureCode: code, FailureDetail: detail}, nil)
		if err == nil && !result.Applied {
			err = errJobChanged
		}
		c.Lease, c.WakeAt = "", c.Now // to be cleaned up
		return err
	})
}

// cleanUp finishes the work on a job that has ended. Its uploads, and what its bots
// left on this machine, are deleted once the manifest is stored or the recording was deleted, or when nothing usable is among them.
func (t *task) cleanUp(ctx context.Context) error {
	if t.job.Attempts > 0 {
		if err := t.stopBot(ctx); err != nil {
			return err
		}
	}
	t.d.releaseSlot(t.job.ID)
	keep := false
	if t.job.ManifestURI == "" && t.job.RecordingDeletedAt.IsZero() {
		var err error
		if keep, err = t.d.Recordings.HasMedia(ctx, t.job.ID); err != nil {
			return err
		}
	}
	if !keep {
		if err := t.d.Recordings.CleanUp(ctx, t.job); err != nil {
			return err
		}
	}
	return t.release(ctx, time.Time{})
}
