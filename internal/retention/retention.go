// Package retention deletes recordings whose time is up, brings deletions to
// their end that were interrupted, and clears storage of what nobody needs.
// How a recording is deleted, and that this is noted, is lifecycle's business;
// how long one is kept is decided here.
//
// Several nodes may do this at once: all of it can be repeated.
package retention

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"standin/internal/recording"
	"standin/internal/store"
)

const (
	batch = 100 // recordings looked up at a time

	// longestSleep is how soon a retention counts that was set in the
	// meantime: nobody is woken by it.
	longestSleep = 15 * time.Minute

	// again is when what failed is tried once more.
	again = 5 * time.Minute

	// sweepEvery is how often storage is cleared up.
	sweepEvery = 24 * time.Hour
)

// Recordings deletes recordings, as lifecycle.Service does.
type Recordings interface {
	ExpireRecording(ctx context.Context, id uuid.UUID) error
}

// Storage is where recordings are, as recording.Storage keeps them.
type Storage interface {
	ListJobs(ctx context.Context, each func(recording.JobUsage) error) error
	DeleteUploads(ctx context.Context, jobID uuid.UUID) error
	DeleteUnfinished(ctx context.Context, jobID uuid.UUID, before time.Time) error
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
}

// Settings are what a Keeper is made of.
type Settings struct {
	Store      *store.Store
	Recordings Recordings
	Storage    Storage
	Retention  Period // of consumers that have none of their own
	Now        func() time.Time
	Log        *slog.Logger
}

// Keeper deletes what need not be kept any more.
type Cleaner struct{ Settings }

// New returns a Keeper. It does nothing before Run.
func New(settings Settings) *Cleaner { return &Cleaner{settings} }

// Run works until ctx ends.
func (k *Cleaner) Run(ctx context.Context) {
	var swept time.Time
	for ctx.Err() == nil {
		next := k.expire(ctx)
		if now := k.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			k.sweep(ctx)
		}
		k.sleep(ctx, min(next.Sub(k.Now()), longestSleep))
	}
}

func (k *Cleaner) sleep(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// expire deletes all recordings whose time is up, and returns when to look
// again.
func (k *Cleaner) expire(ctx context.Context) time.Time {
	next := k.Now().Add(longestSleep)
	failed := k.finishDeletions(ctx) != nil
	keepings, err := k.Store.ConsumerRetentions(ctx)
	failed = failed || err != nil
	if err != nil && ctx.Err() == nil {
		k.Log.Error("cannot see how long recordings are kept", "error", err)
	}
	for _, keeping := range keepings {
		period := k.period(keeping)
		if period == Forever {
			continue
		}
		// Jobs that end from now on have their time up no sooner than this.
		next = earlier(next, k.Now().Add(time.Duration(period)))
		if keeping.Oldest.IsZero() {
			continue
		}
		if until := k.Now().Add(-time.Duration(period)); !keeping.Oldest.After(until) {
			err := k.expireOf(ctx, keeping.ConsumerID, until)
			failed = failed || err != nil
			if err == nil {
				next = k.Now() // to see which is the next
			}
			continue
		}
		next = earlier(next, keeping.Oldest.Add(time.Duration(period)))
	}
	if failed {
		next = earlier(next, k.Now().Add(again))
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// period is how long a consumer's recordings are kept.
func (k *Cleaner) period(keeping store.ConsumerRetention) Period {
	if keeping.Retention != nil {
		return Period(*keeping.Retention)
	}
	return k.Retention
}

// expireOf deletes a consumer's recordings of jobs that ended until a moment.
// One that cannot be deleted does not keep the others.
func (k *Cleaner) expireOf(ctx context.Context, consumer uuid.UUID, until time.Time) (failure error) {
	var after store.EndedJob
	for {
		jobs, err := k.Store.ExpiredRecordings(ctx, consumer, until, after, batch)
		if err != nil {
			k.tell(ctx, uuid.Nil, "cannot find the recordings whose time is up", err)
			return err
		}
		for _, job := range jobs {
			after = job
			if err := k.delete(ctx, job.JobID, "retention"); err != nil {
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

// finishDeletions brings deletions to their end that were begun a while ago.
func (k *Cleaner) finishDeletions(ctx context.Context) error {
	jobs, err := k.Store.PendingErasures(ctx, k.Now().Add(-again), batch)
	if err != nil {
		k.tell(ctx, uuid.Nil, "cannot find the deletions that are not finished", err)
		return err
	}
	for _, id := range jobs {
		if err := k.delete(ctx, id, "a deletion that was not finished"); err != nil {
			return err // storage is away, as likely as not
		}
	}
	return nil
}

func (k *Cleaner) delete(ctx context.Context, id uuid.UUID, why string) error {
	err := k.Recordings.ExpireRecording(ctx, id)
	if err != nil {
		k.tell(ctx, id, "cannot delete a recording; it is tried again", err)
		return err
	}
	k.Log.Info("recording deleted", "job", id, "why", why)
	return nil
}

func (k *Cleaner) tell(ctx context.Context, id uuid.UUID, what string, err error) {
	if ctx.Err() == nil {
		k.Log.Error(what, "job", id, "error", err)
	}
}
