package retention

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/recording"
)

// untouched is for how long nothing of a job may have been written before
// anything of it is taken for left over.
const untouched = 24 * time.Hour

// Why something in storage is left over.
type Reason string

// The reasons.
const (
	NoSuchJob  Reason = "there is no such job"
	Finished   Reason = "uploads left after the recording was finished"
	Deleted    Reason = "left after the recording was deleted"
	Unfinished Reason = "writes that were interrupted"
)

// Leftover is what storage holds of a job and nobody needs.
type Leftover struct {
	recording.JobUsage
	Reason Reason
}

// Leftovers tells, one after the other, of what storage holds and nobody
// needs: never of what was written within a day, and never of a job that has
// not ended or that somebody still works on.
func (k *Cleaner) Leftovers(ctx context.Context, each func(Leftover) error) error {
	return k.Storage.ListJobs(ctx, func(kept recording.JobUsage) error {
		if kept.Newest.After(k.Now().Add(-untouched)) {
			return nil
		}
		why, err := k.why(ctx, kept)
		if err != nil || why == "" {
			return err
		}
		return each(Leftover{JobUsage: kept, Reason: why})
	})
}

// why says why something is left over; empty when it is not.
func (k *Cleaner) why(ctx context.Context, kept recording.JobUsage) (Reason, error) {
	r, err := k.Store.Job(ctx, kept.JobID)
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
		return "", nil // finishDeletions does it
	case r.ManifestURI != "" && kept.Uploads > 0:
		return Finished, nil
	case kept.Unfinished > 0:
		return Unfinished, nil
	}
	return "", nil
}

// Remove deletes what is left over. It may be repeated.
func (k *Cleaner) Remove(ctx context.Context, leftover Leftover) error {
	switch leftover.Reason {
	case NoSuchJob, Deleted:
		return k.Storage.DeleteRecording(ctx, leftover.JobID)
	case Finished:
		return k.Storage.DeleteUploads(ctx, leftover.JobID)
	case Unfinished:
		return k.Storage.DeleteUnfinished(ctx, leftover.JobID, k.Now().Add(-untouched))
	}
	return fmt.Errorf("nothing says how to remove %q", leftover.Reason)
}

// sweep removes what is left over of jobs that this service knows. Recordings
// of jobs that it does not know are told of and left alone: that a database was
// lost or put back to an earlier state must not cost the recordings too. The
// operator removes them (standin recordings sweep).
func (k *Cleaner) sweep(ctx context.Context) {
	var removed, unknown int
	var bytes int64
	err := k.Leftovers(ctx, func(leftover Leftover) error {
		if leftover.Reason == NoSuchJob {
			unknown++
			bytes += leftover.Bytes
			return nil
		}
		if err := k.Remove(ctx, leftover); err != nil {
			k.tell(ctx, leftover.JobID, "cannot remove what is left over", err)
			return ctx.Err() // the next one may go
		}
		removed++
		k.Log.Info("left over in storage, and removed", "job", leftover.JobID, "why", leftover.Reason, "objects", leftover.Objects)
		return nil
	})
	if err != nil {
		k.tell(ctx, uuid.Nil, "cannot clear up storage; it is tried again in a day", err)
		return
	}
	if unknown > 0 {
		k.Log.Warn("storage holds recordings of jobs that this database does not know; standin recordings sweep lists them",
			"jobs", unknown, "bytes", bytes)
	}
	k.Log.Debug("storage is cleared up", "removed", removed)
}
