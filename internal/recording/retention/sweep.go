package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// minAge is for how long nothing of a job may have been written before its objects
// count as left over.
const minAge = 24 * time.Hour

// keepUploads is for how long uploads are kept that did not become a recording, for
// standin recordings finish, and the logs of bots.
const keepUploads = 7 * 24 * time.Hour

// Reason is why objects in storage are left over.
type Reason string

// The reasons.
const (
	NoSuchJob  Reason = "there is no such job"
	Finished   Reason = "uploads left after the recording was finished"
	Ended      Reason = "uploads of a job that failed or was cancelled"
	Deleted    Reason = "left after the recording was deleted"
	Unfinished Reason = "writes that were interrupted"
)

// Leftover is a job's objects in storage that nobody needs.
type Leftover struct {
	recording.JobUsage
	Reason Reason
}

// Leftovers calls each for every job with objects in storage that nobody needs. It
// leaves out jobs of which anything was written within a day, that have not
// ended, or that are still being processed.
func (c *Cleaner) Leftovers(ctx context.Context, each func(Leftover) error) error {
	return c.Files.ListJobs(ctx, func(usage recording.JobUsage) error {
		if usage.Newest.After(c.Now().Add(-minAge)) {
			return nil
		}
		reason, err := c.reason(ctx, usage)
		if err != nil || reason == "" {
			return err
		}
		return each(Leftover{JobUsage: usage, Reason: reason})
	})
}

// reason returns why a job's objects are left over; empty when they are not.
func (c *Cleaner) reason(ctx context.Context, usage recording.JobUsage) (Reason, error) {
	r, err := c.Store.Job(ctx, usage.JobID)
	switch {
	case job.ErrorIs(err, job.NotFound):
		return NoSuchJob, nil
	case err != nil:
		return "", err
	case !r.Status.Terminal() || !r.WakeAt.IsZero():
		return "", nil
	case !r.RecordingErasedAt.IsZero():
		return Deleted, nil
	case !r.RecordingDeletedAt.IsZero():
		return "", nil // a task completes the deletion
	case r.ManifestURI != "" && usage.Uploads > 0:
		return Finished, nil
	case (r.Status == job.Failed || r.Status == job.Cancelled) && usage.Uploads > 0:
		if usage.Newest.After(c.Now().Add(-keepUploads)) {
			return "", nil
		}
		return Ended, nil
	case usage.Unfinished > 0:
		return Unfinished, nil
	}
	return "", nil
}

// Remove deletes the objects. It may be repeated.
func (c *Cleaner) Remove(ctx context.Context, leftover Leftover) error {
	switch leftover.Reason {
	case NoSuchJob, Deleted:
		return c.Files.DeleteRecording(ctx, leftover.JobID)
	case Finished, Ended:
		return c.Files.DeleteUploads(ctx, leftover.JobID)
	case Unfinished:
		return c.Files.DeleteUnfinished(ctx, leftover.JobID, c.Now().Add(-minAge))
	}
	return fmt.Errorf("unknown reason %q", leftover.Reason)
}

// sweep removes the leftovers of jobs that are in the database. It only logs the
// others: a database that was lost or restored from a backup must not cost the
// recordings too. The operator removes them with standin recordings sweep.
func (c *Cleaner) sweep(ctx context.Context) error {
	var removed, unknown int
	var bytes int64
	err := c.Leftovers(ctx, func(leftover Leftover) error {
		if leftover.Reason == NoSuchJob {
			unknown++
			bytes += leftover.Bytes
			return nil
		}
		if err := c.Remove(ctx, leftover); err != nil {
			c.Log.Error("cannot remove leftover objects", "job", leftover.JobID, "error", err)
			return ctx.Err() // the next one may succeed
		}
		removed++
		c.Log.Info("removed leftover objects", "job", leftover.JobID, "reason", leftover.Reason, "objects", leftover.Objects)
		return nil
	})
	if err != nil {
		return err
	}
	if unknown > 0 {
		c.Log.Warn("storage holds recordings of jobs that are not in the database; standin recordings sweep lists them",
			"jobs", unknown, "bytes", bytes)
	}
	c.Log.Debug("storage swept", "removed", removed)
	return nil
}

// sweepLocal removes the files on this machine that no job needs: each node of a
// service does this for its own disk.
func (c *Cleaner) sweepLocal(ctx context.Context) error {
	jobs, err := c.Files.LocalJobs(ctx)
	for id, changed := range jobs { // those that could be listed
		err = errors.Join(err, c.sweepJob(ctx, id, c.Now().Sub(changed)))
	}
	return err
}

// sweepJob removes the files of a job on this machine that nobody needs. They were
// last changed age ago.
func (c *Cleaner) sweepJob(ctx context.Context, id uuid.UUID, age time.Duration) error {
	r, err := c.Store.Job(ctx, id)
	switch {
	case job.ErrorIs(err, job.NotFound):
		if age < minAge {
			return nil
		}
		return c.Files.DeleteLocal(ctx, id)
	case err != nil:
		return err
	case !r.Status.Terminal() || !r.WakeAt.IsZero():
		return nil
	case !r.RecordingDeletedAt.IsZero() || age >= keepUploads:
		return c.Files.DeleteLocal(ctx, id)
	case r.ManifestURI != "":
		return c.Files.DeleteLocalUploads(id)
	}
	return nil
}
