package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
)

// A failed launch is tried again after firstDelay, doubled each time up to
// maxDelay.
const (
	firstDelay = time.Second
	maxDelay   = 30 * time.Second
)

// carryOut does a step.
func (d *Dispatcher) carryOut(ctx context.Context, held *leaseGuard, r job.Record, next decision) error {
	switch next.step {
	case wait:
		return d.release(ctx, r, next.until)
	case queue:
		return d.queue(ctx, r, next)
	case begin:
		return d.begin(ctx, held, r, next.detail)
	case start:
		return d.launch(ctx, held, r)
	case adoptBot:
		return d.launched(ctx, held, r)
	case salvage:
		return d.salvage(ctx, r, next.detail)
	case giveUp:
		return d.giveUp(ctx, r, next.code, next.detail)
	case cleanUp:
		return d.cleanUp(ctx, r)
	}
	return fmt.Errorf("unknown step %q", next.step)
}

// queue has a job wait for room on any node. Why is told when it begins to
// wait.
func (d *Dispatcher) queue(ctx context.Context, r job.Record, next decision) error {
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		if c.Status == job.Scheduled {
			_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.NoCapacity}, map[string]string{"why": next.detail, "node": d.Node.Name})
			if err != nil {
				return err
			}
		}
		c.Lease, c.WakeAt = "", next.until
		return nil
	})
	return err
}

// begin counts a new attempt and launches its bot. The bot of the attempt
// before is ended first: there are never two.
func (d *Dispatcher) begin(ctx context.Context, held *leaseGuard, r job.Record, why string) error {
	if r.Attempts > 0 {
		if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
			return err
		}
		if noRoom := d.placeAgain(ctx, r); noRoom != "" {
			return d.release(ctx, r, d.Now().Add(lookForRoom))
		}
	}
	begun, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		data := map[string]string{}
		if why != "" {
			data["why"] = why
		}
		if d.Node.Name != "" {
			data["node"] = d.Node.Name
		}
		result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.AttemptStarted}, data)
		if err != nil || !result.Applied {
			return errors.Join(err, errMoved)
		}
		c.AttemptStartedAt, c.LaunchedAt, c.HeartbeatAt = c.Now, time.Time{}, time.Time{}
		c.LaunchFailures, c.LaunchError, c.Node, c.Stats = 0, "", d.Node.ID, nil
		return nil
	})
	if err != nil {
		if r.Attempts == 0 {
			d.leave(r.ID)
		}
		return err
	}
	return d.launch(ctx, held, begun)
}

// placeAgain gives a further attempt's bot its place: that of the bot before,
// when that was this node's.
func (d *Dispatcher) placeAgain(ctx context.Context, r job.Record) (noRoom string) {
	if r.Mode == job.Test {
		return ""
	}
	return d.Capacity.reserve(ctx, r.ID, r.Attempts, d.Now())
}

// launch starts the bot of the current attempt. A launch that fails is tried
// again, with growing delays, until decide gives up (contract, Jobs).
func (d *Dispatcher) launch(ctx context.Context, held *leaseGuard, r job.Record) error {
	if !held.valid() {
		// This process stood still: another dispatcher may hold the job.
		return errLeaseLost
	}
	failure := d.Launcher.Launch(ctx, d.assignment(r))
	if failure == nil && d.Launcher.State(r.ID, r.Attempt) == launch.Starting {
		err := d.release(ctx, r, r.AttemptStartedAt.Add(d.timeouts(r).Launch)) // the engine tells when it runs
		if d.Launcher.State(r.ID, r.Attempt) != launch.Starting {
			d.BotExited(ctx, r.ID) // it told while the job was leased, when that could wake nobody
		}
		return err
	}
	if failure == nil {
		return d.launched(ctx, held, r)
	}
	if ctx.Err() != nil {
		return ctx.Err() // this dispatcher ends: the launch has not failed, the next one tries it
	}
	if d.Metrics != nil {
		d.Metrics.LaunchFailed()
	}
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		c.LaunchFailures++
		c.LaunchError = failure.Error()
		c.Lease, c.WakeAt = "", c.Now.Add(delay(c.LaunchFailures))
		return nil
	})
	return errors.Join(fmt.Errorf("launch: %w", failure), err)
}

// assignment is what the current attempt's bot is told.
func (d *Dispatcher) assignment(r job.Record) launch.Assignment {
	return launch.Assignment{
		JobID:             r.ID,
		Attempt:           r.Attempt,
		Token:             ingest.Token(d.SigningKey, r.ID.String(), r.Attempt),
		ServiceURL:        d.ServiceURL,
		MeetingURL:        r.MeetingURL,
		Platform:          r.Platform,
		DisplayName:       r.DisplayName,
		JoinAt:            r.JoinAt,
		AutoLeave:         r.AutoLeave,
		Mode:              r.Mode,
		Metadata:          r.Metadata,
		AllowedHosts:      d.AllowedHosts,
		LoopbackPeers:     d.LoopbackPeers && onLoopback(r.MeetingURL),
		RequirePermission: d.AskFirst || asksFirst(r.Metadata),
	}
}

// launched notes that the bot of the current attempt runs. Nothing is done
// without a lease: a bot whose start cannot be noted is ended again.
func (d *Dispatcher) launched(ctx context.Context, held *leaseGuard, r job.Record) error {
	for {
		err := d.noteLaunched(ctx, r)
		switch {
		case err == nil, errors.Is(err, errMoved) && d.isNoted(ctx, r):
			return nil
		case errors.Is(err, errLeaseLost), errors.Is(err, errMoved), !held.valid():
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.Lease)
			defer cancel()
			return errors.Join(err, d.Launcher.Stop(stopping, r.ID, r.Attempt))
		case ctx.Err() != nil:
			return err // this dispatcher ends: the next one of this node adopts the bot
		}
		pause := time.NewTimer(noteAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// isNoted reports whether the start of the bot was noted though the database
// could not say so.
func (d *Dispatcher) isNoted(ctx context.Context, r job.Record) bool {
	kept, err := d.Store.Job(ctx, r.ID)
	return err == nil && kept.Attempt == r.Attempt && kept.Node == d.Node.ID && !kept.LaunchedAt.IsZero()
}

// noteAgain is how soon the start of a bot is noted again when the database
// did not take it.
const noteAgain = 200 * time.Millisecond

// noteLaunched keeps that the bot runs.
func (d *Dispatcher) noteLaunched(ctx context.Context, r job.Record) error {
	noted, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		c.LaunchedAt = c.Now
		c.Lease, c.WakeAt = "", silentAt(c.Record, d.policy(c.Record))
		if d.Launcher.State(r.ID, r.Attempt) == launch.Gone {
			c.WakeAt = c.Now // it ended while the job was leased, when BotExited could wake nobody
		}
		return c.Launched(ctx, d.Node.Name)
	})
	if err == nil && d.Metrics != nil && r.Attempt == 0 && !r.JoinAt.Before(r.CreatedAt) {
		d.Metrics.Launched(max(0, noted.LaunchedAt.Sub(r.JoinAt)))
	}
	return err
}

// salvage ends the bot, if it is still there, and finalizes what it uploaded.
func (d *Dispatcher) salvage(ctx context.Context, r job.Record, detail string) error {
	if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
		return err
	}
	d.leave(r.ID)
	r, err := d.trigger(ctx, r, job.Event{Trigger: job.SalvageStarted}, detail)
	if err != nil {
		return err
	}
	err = d.Recordings.Salvage(ctx, r, detail, func(progress Progress) error { return d.tell(ctx, r, progress) })
	switch {
	case errors.Is(err, ErrNoMedia):
		return d.giveUp(ctx, r, job.NetworkLoss, detail+", and nothing usable was recorded")
	case err != nil && ctx.Err() == nil && !d.Now().Before(r.StatusSince.Add(2*d.timeouts(r).Teardown)):
		// It was tried until long after the deadline. What is saved stays.
		return errors.Join(fmt.Errorf("salvage: %w", err), d.giveUp(ctx, r, job.InternalError,
			detail+", and the recording could not be put together; the service's log says why"))
	case err != nil:
		return fmt.Errorf("salvage: %w", err)
	}
	_, err = d.leased(ctx, r, func(c *lifecycle.Change) error {
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.ManifestFinalized, ManifestURI: d.Jobs.ManifestURI(r.ID)}, nil)
		c.Lease, c.WakeAt = "", c.Now // to be let go
		return err
	})
	return err
}

// tell moves a job along with the salvaging of its recording, and notes how
// much of it is stored.
func (d *Dispatcher) tell(ctx context.Context, r job.Record, progress Progress) error {
	if progress.Stage == Packing {
		_, err := d.trigger(ctx, r, job.Event{Trigger: job.SalvagePacking}, "")
		return err
	}
	if _, err := d.trigger(ctx, r, job.Event{Trigger: job.SalvageStoring}, ""); err != nil {
		return err
	}
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error { return c.MediaStored(ctx, progress.Done, progress.Total) })
	return err
}

// trigger gives a leased job an event of the service's; one that does not
// apply, because the job is past it, is passed over.
func (d *Dispatcher) trigger(ctx context.Context, r job.Record, event job.Event, detail string) (job.Record, error) {
	return d.leased(ctx, r, func(c *lifecycle.Change) error {
		if state, result := c.State.Apply(event); !result.Applied || state.Status == c.Status {
			return nil
		}
		_, err := c.ApplyFromService(ctx, event, map[string]string{"detail": detail})
		return err
	})
}

// giveUp ends the bot and fails the job.
func (d *Dispatcher) giveUp(ctx context.Context, r job.Record, code job.FailureCode, detail string) error {
	if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
		if r.Status == job.Cancelled || ctx.Err() != nil {
			return err
		}
		// A job's end does not wait for an engine that is away. No further bot is
		// sent, one that is heard is told to leave, and letGo tries again.
		d.Log.Error("cannot end the bot of a job that is given up; it is tried again", "job", r.ID, "attempt", r.Attempt, "error", err)
	}
	d.leave(r.ID)
	if r.Status == job.Cancelled {
		return d.release(ctx, r, time.Time{}) // it has its end already
	}
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.GivenUp, FailureCode: code, FailureDetail: detail}, nil)
		if err != nil || !result.Applied {
			return errors.Join(err, errMoved)
		}
		c.Lease, c.WakeAt = "", c.Now // to be let go
		return nil
	})
	return err
}

// letGo tidies up after a job that has ended. Uploads go once the manifest is
// kept or when nothing usable is among them.
func (d *Dispatcher) cleanUp(ctx context.Context, r job.Record) error {
	if r.Attempts > 0 {
		if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
			return err
		}
	}
	d.leave(r.ID)
	if r.ManifestURI == "" {
		saved, err := d.Recordings.HasMedia(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("see what a bot saved: %w", err)
		}
		if saved {
			return d.release(ctx, r, time.Time{})
		}
	}
	if err := d.Recordings.DeleteUploads(ctx, r.ID); err != nil {
		return fmt.Errorf("remove uploads: %w", err)
	}
	return d.release(ctx, r, time.Time{})
}

// release gives the lease up; the job is looked at again at wakeAt, and at
// once when it has moved since it was claimed.
func (d *Dispatcher) release(ctx context.Context, r job.Record, wakeAt time.Time) error {
	_, err := d.held(ctx, r, func(c *lifecycle.Change) error {
		if c.Status != r.Status || c.Attempt != r.Attempt {
			wakeAt = c.Now
		}
		c.Lease, c.WakeAt = "", wakeAt
		return nil
	})
	return err
}

// leased changes a job that this dispatcher holds, while the attempt that was
// decided on is still the current one.
func (d *Dispatcher) leased(ctx context.Context, r job.Record, fn func(*lifecycle.Change) error) (job.Record, error) {
	return d.held(ctx, r, func(c *lifecycle.Change) error {
		if c.Attempt != r.Attempt {
			return errMoved
		}
		return fn(c)
	})
}

// held changes a job that this dispatcher holds: nothing is done without the
// lease.
func (d *Dispatcher) held(ctx context.Context, r job.Record, fn func(*lifecycle.Change) error) (job.Record, error) {
	return d.Jobs.Change(ctx, r.ID, func(c *lifecycle.Change) error {
		switch {
		case c.Lease == "":
			return errMoved // nobody holds it: its end, or a new time, took the lease away
		case c.Lease != r.Lease:
			return errLeaseLost
		}
		return fn(c)
	})
}

// delay is how long to wait after so many failed launches.
func delay(failures int) time.Duration {
	d := firstDelay
	for range failures - 1 {
		d = min(2*d, maxDelay)
	}
	return d
}

// asksFirst reports whether a consumer wants nothing recorded without the
// host's permission: the job's metadata say recordingPermission "required".
func asksFirst(metadata json.RawMessage) bool {
	var wishes struct {
		RecordingPermission any `json:"recordingPermission"`
	}
	// What is no such object holds no such wish.
	_ = json.Unmarshal(metadata, &wishes)
	return wishes.RecordingPermission == "required"
}

// onLoopback reports whether a meeting is on this machine: a replica.
func onLoopback(meeting string) bool {
	u, err := url.Parse(meeting)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
