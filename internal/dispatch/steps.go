package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

// A failed launch is tried again after firstDelay, doubled each time up to
// maxDelay.
const (
	firstDelay = time.Second
	maxDelay   = 30 * time.Second
)

// carryOut does a step.
func (d *Dispatcher) carryOut(ctx context.Context, r store.Record, next decision) error {
	switch next.step {
	case wait:
		return d.release(ctx, r, next.until)
	case begin:
		return d.begin(ctx, r, next.detail)
	case start:
		return d.launch(ctx, r)
	case adoptBot:
		return d.launched(ctx, r)
	case salvage:
		return d.salvage(ctx, r, next.detail)
	case giveUp:
		return d.giveUp(ctx, r, next.code, next.detail)
	case letGo:
		return d.letGo(ctx, r)
	}
	return fmt.Errorf("unknown step %q", next.step)
}

// begin counts a new attempt and launches its bot. The bot of the attempt
// before is ended first: there are never two.
func (d *Dispatcher) begin(ctx context.Context, r store.Record, why string) error {
	if r.Attempts > 0 {
		if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
			return err
		}
	}
	r, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		data := map[string]string{}
		if why != "" {
			data["why"] = why
		}
		result, err := c.Service(ctx, job.Event{Trigger: job.AttemptBegun}, data)
		if err != nil || !result.Applied {
			return errors.Join(err, errMoved)
		}
		c.AttemptBeganAt, c.LaunchedAt, c.HeartbeatAt = c.Now, time.Time{}, time.Time{}
		c.LaunchFailures, c.LaunchError = 0, ""
		return nil
	})
	if err != nil {
		return err
	}
	return d.launch(ctx, r)
}

// launch starts the bot of the current attempt. A launch that fails is tried
// again, with growing delays, until decide gives up (contract, Jobs).
func (d *Dispatcher) launch(ctx context.Context, r store.Record) error {
	meeting := r.MeetingURL
	failure := d.Launcher.Launch(ctx, launch.Assignment{
		JobID:         r.ID,
		Attempt:       r.Attempt,
		Token:         ingest.Token(d.SigningKey, r.ID.String(), r.Attempt),
		ServiceURL:    d.ServiceURL,
		MeetingURL:    meeting,
		Platform:      r.Platform,
		DisplayName:   r.DisplayName,
		AutoLeave:     r.AutoLeave,
		Mode:          r.Mode,
		Metadata:      r.Metadata,
		AllowedHosts:  d.AllowedHosts,
		LoopbackPeers: d.LoopbackPeers && onLoopback(meeting),
		AskFirst:      d.AskFirst || asksFirst(r.Metadata),
	})
	if failure == nil {
		return d.launched(ctx, r)
	}
	if ctx.Err() != nil {
		return ctx.Err() // this dispatcher ends: the launch has not failed, the next one tries it
	}
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		c.LaunchFailures++
		c.LaunchError = failure.Error()
		c.Lease, c.WakeAt = "", c.Now.Add(delay(c.LaunchFailures))
		return nil
	})
	return errors.Join(fmt.Errorf("launch: %w", failure), err)
}

// launched notes that the bot of the current attempt runs.
func (d *Dispatcher) launched(ctx context.Context, r store.Record) error {
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		c.LaunchedAt = c.Now
		c.Lease, c.WakeAt = "", silentAt(c.Record, d.timeouts(r))
		if d.Launcher.State(r.ID, r.Attempt) == launch.Gone {
			c.WakeAt = c.Now // it ended while the job was leased, when BotExited could wake nobody
		}
		return nil
	})
	return err
}

// salvage ends the bot, if it is still there, and finalizes what it uploaded.
func (d *Dispatcher) salvage(ctx context.Context, r store.Record, detail string) error {
	if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
		return err
	}
	r, err := d.trigger(ctx, r, job.Event{Trigger: job.SalvageBegun}, detail)
	if err != nil {
		return err
	}
	err = d.Recordings.Salvage(ctx, r, detail, func(progress Progress) error { return d.tell(ctx, r, progress) })
	switch {
	case errors.Is(err, ErrNothingSaved):
		return d.giveUp(ctx, r, job.NetworkLoss, detail+", and nothing usable was recorded")
	case err != nil && ctx.Err() == nil && !d.Now().Before(r.StatusSince.Add(2*d.timeouts(r).Teardown)):
		// It was tried until long after the deadline. What is saved stays.
		return errors.Join(fmt.Errorf("salvage: %w", err), d.giveUp(ctx, r, job.InternalError,
			detail+", and the recording could not be put together; the service's log says why"))
	case err != nil:
		return fmt.Errorf("salvage: %w", err)
	}
	_, err = d.leased(ctx, r, func(c *lifecycle.Change) error {
		_, err := c.Service(ctx, job.Event{Trigger: job.ManifestFinalized, ManifestURI: d.Jobs.ManifestURI(r.ID)}, nil)
		c.Lease, c.WakeAt = "", c.Now // to be let go
		return err
	})
	return err
}

// tell moves a job along with the salvaging of its recording, and notes how
// much of it is stored.
func (d *Dispatcher) tell(ctx context.Context, r store.Record, progress Progress) error {
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
func (d *Dispatcher) trigger(ctx context.Context, r store.Record, event job.Event, detail string) (store.Record, error) {
	return d.leased(ctx, r, func(c *lifecycle.Change) error {
		if state, result := c.State.Apply(event); !result.Applied || state.Status == c.Status {
			return nil
		}
		_, err := c.Service(ctx, event, map[string]string{"detail": detail})
		return err
	})
}

// giveUp ends the bot and fails the job.
func (d *Dispatcher) giveUp(ctx context.Context, r store.Record, code job.FailureCode, detail string) error {
	if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
		return err
	}
	if r.Status == job.Cancelled {
		return d.release(ctx, r, time.Time{}) // it has its end already
	}
	_, err := d.leased(ctx, r, func(c *lifecycle.Change) error {
		result, err := c.Service(ctx, job.Event{Trigger: job.GivenUp, FailureCode: code, FailureDetail: detail}, nil)
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
func (d *Dispatcher) letGo(ctx context.Context, r store.Record) error {
	if r.Attempts > 0 {
		if err := d.Launcher.Stop(ctx, r.ID, r.Attempt); err != nil {
			return err
		}
	}
	if r.ManifestURI == "" {
		saved, err := d.Recordings.Saved(ctx, r.ID)
		if err != nil {
			return fmt.Errorf("see what a bot saved: %w", err)
		}
		if saved {
			return d.release(ctx, r, time.Time{})
		}
	}
	if err := d.Recordings.Clean(ctx, r.ID); err != nil {
		return fmt.Errorf("remove uploads: %w", err)
	}
	return d.release(ctx, r, time.Time{})
}

// release gives the lease up; the job is looked at again at wakeAt, and at
// once when it has moved since it was claimed.
func (d *Dispatcher) release(ctx context.Context, r store.Record, wakeAt time.Time) error {
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
func (d *Dispatcher) leased(ctx context.Context, r store.Record, fn func(*lifecycle.Change) error) (store.Record, error) {
	return d.held(ctx, r, func(c *lifecycle.Change) error {
		if c.Attempt != r.Attempt {
			return errMoved
		}
		return fn(c)
	})
}

// held changes a job that this dispatcher holds: nothing is done without the
// lease.
func (d *Dispatcher) held(ctx context.Context, r store.Record, fn func(*lifecycle.Change) error) (store.Record, error) {
	return d.Jobs.Change(ctx, r.ID, func(c *lifecycle.Change) error {
		if c.Lease != r.Lease || r.Lease == "" {
			return errLeaseLost
		}
		return fn(c)
	})
}

// keepLease extends a lease until the function it returns is called.
func (d *Dispatcher) keepLease(ctx context.Context, r store.Record) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var kept sync.WaitGroup
	kept.Go(func() {
		ticker := time.NewTicker(lease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			err := d.Store.Write(ctx, func(q *store.Queries) error {
				_, err := q.ExtendLease(ctx, r.ID, r.Lease, d.Now().Add(lease))
				return err
			})
			if err != nil && ctx.Err() == nil {
				d.Log.Error("cannot extend a lease", "job", r.ID, "error", err)
			}
		}
	})
	return func() { cancel(); kept.Wait() }
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
