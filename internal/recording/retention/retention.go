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

	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/runner"
	"standin/internal/store"
)

const (
	batch = 100 // recordings read at a time

	// interval is how soon a changed retention takes effect, and retryDelay after what
	// time a deletion counts as interrupted.
	interval, retryDelay = 15 * time.Minute, 5 * time.Minute

	// slots is how much is done at a time. deletionTime bounds a deletion, and taskTime
	// all that is done at once for a consumer, and a sweep.
	slots        = 4
	deletionTime = 10 * time.Minute
	taskTime     = 6 * time.Hour

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
	r := runner.Periodic(slots, c.Now, c.Log, c.tasks)
	r.Limit = taskTime
	r.Work(ctx)
}

// tasks returns what is to be done for each consumer, each interrupted deletion, and the
// sweeps.
func (c *Cleaner) tasks(ctx context.Context) ([]runner.Task, error) {
	consumers, err := c.Store.Consumers(ctx)
	if err != nil {
		return nil, err
	}
	interrupted, err := c.Store.PendingErasures(ctx, c.Now().Add(-retryDelay))
	if err != nil {
		return nil, err
	}
	var tasks []runner.Task
	for _, consumer := range consumers {
		recordings, jobs := periodOr(consumer.Retention, c.Retention), periodOr(consumer.JobRetention, c.JobRetention)
		if recordings != Forever {
			tasks = append(tasks, runner.Task{
				Name: "delete expired recordings of team " + consumer.ID.String(), Every: min(interval, time.Duration(recordings)),
				Run: func(ctx context.Context) error {
					return c.deleteEnded(ctx, consumer.ID, recordings, c.Store.ExpiredRecordings, c.Recordings.ExpireRecording)
				},
			})
		}
		if jobs != Forever {
			tasks = append(tasks, runner.Task{
				Name: "erase old jobs of team " + consumer.ID.String(), Every: interval,
				Run: func(ctx context.Context) error { return c.eraseJobs(ctx, consumer.ID, jobs) },
			})
		}
	}
	for _, id := range interrupted {
		tasks = append(tasks, runner.Task{
			Name: "finish the deletion of recording " + id.String(), Every: time.Hour,
			Run: func(ctx context.Context) error { return c.Recordings.ExpireRecording(ctx, id) },
		})
	}
	return append(tasks, runner.Task{Name: "sweep the storage", Every: sweepInterval, Run: c.sweep},
		runner.Task{Name: "sweep this machine", Every: localInterval, Run: c.sweepLocal}), nil
}

// periodOr returns the own period of a consumer, or else that of the service.
func periodOr(own *time.Duration, usual Period) Period {
	if own != nil {
		return Period(*own)
	}
	return usual
}

// deleteEnded calls remove for each job that find returns, of those that ended before the
// period. It continues after a failure, and returns the last one.
func (c *Cleaner) deleteEnded(ctx context.Context, consumer uuid.UUID, period Period,
	find func(ctx context.Context, consumer uuid.UUID, until time.Time, after store.EndedJob, limit int) ([]store.EndedJob, error),
	remove func(ctx context.Context, id uuid.UUID) error) (failure error) {
	until, after, deleted := c.Now().Add(-time.Duration(period)), store.EndedJob{}, 0
	for {
		jobs, err := find(ctx, consumer, until, after, batch)
		if err != nil {
			return err
		}
		for _, after = range jobs {
			removing, cancel := context.WithTimeout(ctx, deletionTime)
			err := runner.Safely(func() error { return remove(removing, after.JobID) })
			cancel()
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				c.Log.Error("cannot delete a recording or job; retrying", "job", after.JobID, "error", err)
				failure = err
			default:
				deleted++
			}
		}
		if len(jobs) < batch {
			break
		}
	}
	if deleted > 0 {
		c.Log.Info("deleted after the retention", "consumer", consumer, "jobs", deleted)
	}
	return failure
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
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var number uint64
		number, err = strconv.ParseUint(days, 10, 16) // 179 years are enough
		length = time.Duration(number) * 24 * time.Hour
	}
	if err != nil || length < minPeriod {
		return 0, fmt.Errorf("%q is not a retention period: use days (30d), hours (720h), or forever; at least %v", text, minPeriod)
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
