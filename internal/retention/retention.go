// Package retention deletes expired recordings, completes interrupted deletions,
// and removes unused objects from storage and unused files from this machine. It decides when a recording expires;
// package lifecycle deletes it and records that.
//
// Several nodes may do this at once: every step may be repeated.
package retention

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobfiles"
	"standin/internal/retry"
	"standin/internal/store"
)

const (
	batch = 100 // recordings read at a time

	// maxSleep is how soon a changed retention takes effect: a change does not
	// wake the Cleaner.
	maxSleep = 15 * time.Minute

	// retryDelay is the delay after a failure.
	retryDelay = 5 * time.Minute

	// sweepInterval is how often unused objects are removed from storage, and
	// localInterval how often unused files are removed from this machine.
	sweepInterval = 24 * time.Hour
	localInterval = time.Hour
)

// Recordings deletes recordings, as lifecycle.Service does.
type Recordings interface {
	ExpireRecording(ctx context.Context, id uuid.UUID) error
}

// Options are the periods of consumers that have none of their own.
type Options struct {
	Retention    Period `env:"STANDIN_RETENTION" default:"forever" help:"How long recordings are kept after the meeting, such as 30d, 720h or forever. standin teams set overrides it for one team."`
	JobRetention Period `env:"STANDIN_JOB_RETENTION" default:"90d" help:"How long jobs are kept after they end, with timelines, metadata and webhook deliveries, such as 90d or forever. A job is kept at least as long as its recording. standin teams set overrides it for one team."`
}

// Settings configure a Cleaner.
type Settings struct {
	Options
	Store      *store.Store
	Recordings Recordings
	Files      jobfiles.Files
	Now        func() time.Time
	Log        *slog.Logger
}

// Cleaner deletes recordings and jobs whose retention period has ended, and unused
// objects and files.
type Cleaner struct{ Settings }

// New returns a Cleaner. It does nothing before Run.
func New(settings Settings) *Cleaner { return &Cleaner{settings} }

// Run deletes until ctx ends.
func (c *Cleaner) Run(ctx context.Context) {
	var swept, sweptLocal time.Time
	for ctx.Err() == nil {
		wait := min(c.expire(ctx), c.eraseJobs(ctx))
		if now := c.Now(); now.Sub(swept) >= sweepInterval {
			swept = now
			c.sweep(ctx)
		}
		if now := c.Now(); now.Sub(sweptLocal) >= localInterval {
			sweptLocal = now
			c.sweepLocal(ctx)
		}
		_ = retry.Sleep(ctx, wait) // the loop checks ctx
	}
}

// expire deletes all expired recordings. It returns the time until the next one
// expires, at most maxSleep.
func (c *Cleaner) expire(ctx context.Context) time.Duration {
	wait := maxSleep
	failed := c.finishDeletions(ctx) != nil
	retentions, err := c.Store.ConsumerRetentions(ctx)
	failed = failed || err != nil
	if err != nil && ctx.Err() == nil {
		c.Log.Error("cannot read the retention of the consumers", "error", err)
	}
	for _, retention := range retentions {
		period := c.period(retention)
		if period == Forever {
			continue
		}
		// Recordings of jobs that end from now on expire no sooner than this.
		wait = min(wait, time.Duration(period))
		if retention.Oldest.IsZero() {
			continue
		}
		if until := c.Now().Add(-time.Duration(period)); !retention.Oldest.After(until) {
			err := c.expireConsumer(ctx, retention.ConsumerID, until)
			failed = failed || err != nil
			if err == nil {
				wait = 0 // to find the next one
			}
			continue
		}
		wait = min(wait, retention.Oldest.Add(time.Duration(period)).Sub(c.Now()))
	}
	if failed {
		wait = min(wait, retryDelay)
	}
	return wait
}

// period returns how long a consumer's recordings are kept.
func (c *Cleaner) period(retention store.ConsumerRetention) Period {
	if retention.Retention != nil {
		return Period(*retention.Retention)
	}
	return c.Retention
}

// expireConsumer deletes a consumer's recordings of jobs that ended by a time. It
// continues after a failure, and returns the last one.
func (c *Cleaner) expireConsumer(ctx context.Context, consumer uuid.UUID, until time.Time) (failure error) {
	var after store.EndedJob
	for {
		jobs, err := c.Store.ExpiredRecordings(ctx, consumer, until, after, batch)
		if err != nil {
			c.logError(ctx, uuid.Nil, "cannot find expired recordings", err)
			return err
		}
		for _, job := range jobs {
			after = job
			if err := c.delete(ctx, job.JobID, "retention"); err != nil {
				failure = err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if len(jobs) < batch {
			return failure
		}
	}
}

// finishDeletions completes deletions that were interrupted.
func (c *Cleaner) finishDeletions(ctx context.Context) error {
	jobs, err := c.Store.PendingErasures(ctx, c.Now().Add(-retryDelay), batch)
	if err != nil {
		c.logError(ctx, uuid.Nil, "cannot find interrupted deletions", err)
		return err
	}
	for _, id := range jobs {
		if err := c.delete(ctx, id, "interrupted deletion"); err != nil {
			return err // the storage is probably unreachable
		}
	}
	return nil
}

func (c *Cleaner) delete(ctx context.Context, id uuid.UUID, reason string) error {
	err := c.Recordings.ExpireRecording(ctx, id)
	if err != nil {
		c.logError(ctx, id, "cannot delete recording; retrying", err)
		return err
	}
	c.Log.Info("recording deleted", "job", id, "reason", reason)
	return nil
}

// logError logs an error, unless ctx has ended.
func (c *Cleaner) logError(ctx context.Context, id uuid.UUID, message string, err error) {
	switch {
	case ctx.Err() != nil:
	case id == uuid.Nil:
		c.Log.Error(message, "error", err)
	default:
		c.Log.Error(message, "job", id, "error", err)
	}
}

// Forever is the Period of recordings that are never deleted.
const Forever Period = 0

// minPeriod is the shortest period: a shorter one is probably a wrong unit.
const minPeriod = time.Minute

// Period is how long recordings are kept: 30d, 720h, 90m, or forever.
type Period time.Duration

// ParsePeriod parses a Period.
func ParsePeriod(text string) (Period, error) {
	if text == "forever" {
		return Forever, nil
	}
	wrong := fmt.Errorf("%q is not a retention period: use days (30d), hours (720h), or forever; at least %v", text, minPeriod)
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var number uint64
		number, err = strconv.ParseUint(days, 10, 16) // 179 years are enough
		length = time.Duration(number) * 24 * time.Hour
	}
	if err != nil || length < minPeriod {
		return 0, wrong
	}
	return Period(length), nil
}

// UnmarshalText implements encoding.TextUnmarshaler, for settings.
func (p *Period) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePeriod(string(text))
	return err
}

// String returns the Period in the form that ParsePeriod parses.
func (p Period) String() string {
	const day = 24 * time.Hour
	switch length := time.Duration(p); {
	case p == Forever:
		return "forever"
	case length%day == 0:
		return strconv.Itoa(int(length/day)) + "d"
	default:
		return length.String()
	}
}
