package lifecycle

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// Recordings stores recordings.
type Recordings interface {
	// DeleteRecording deletes everything that is stored of a job's recording,
	// including the manifest. It may be repeated.
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
}

// DeleteRecording deletes everything that is stored of the recording of a job of
// the caller: each file, the manifest, the chat and the captions. When it returns nil, nothing of it can
// be fetched and nothing is added to it. It may be repeated, and does nothing for
// a job without a recording.
//
// The job keeps its manifestUri, which consumers know from webhooks and which is
// null only for jobs that were never finalized. A manifest that a bot stores
// elsewhere is not deleted.
//
// A job that has not ended is a *job.Error with InvalidState, and so is a
// cancelled one while its bot still uploads what it recorded.
func (s *Service) DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	return s.deleteRecording(ctx, id, byConsumer, func(r job.Record) error { return checkOwner(r.Job, caller) })
}

// ExpireRecording deletes a recording whose retention is over, or completes a
// deletion that was interrupted.
func (s *Service) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	return s.deleteRecording(ctx, id, byRetention, func(job.Record) error { return nil })
}

// deleteRecording marks the recording for deletion, so that nothing is added to
// it, deletes it, and records that. An interrupted deletion is found by the mark
// (store.PendingErasures).
func (s *Service) deleteRecording(ctx context.Context, id uuid.UUID, by string, permitted func(job.Record) error) error {
	check := func(r job.Record) error {
		err := permitted(r)
		switch { // of a recording that may still grow
		case err != nil:
		case !r.Status.Terminal():
			err = job.NewInvalidState("the job has not ended: it is %s", r.Status)
		case r.Status == job.Cancelled && r.Attempts > 0 && r.ManifestURI == "" && !r.WakeAt.IsZero():
			err = job.NewInvalidState(
				"the bot of this cancelled job is still uploading what it recorded; try again when the job has a manifestUri, or in some minutes")
		}
		return err
	}
	err := s.markDeleted(ctx, id, by, check)
	if store.IsDiskFull(err) {
		// Deleting the files first frees the space that the database needs.
		var r job.Record
		if r, err = s.Store.Job(ctx, id); err == nil {
			err = check(r)
		}
		if err == nil {
			err = s.Recordings.DeleteRecording(ctx, id)
		}
		if err != nil {
			return err
		}
		err = s.markDeleted(ctx, id, by, check)
	}
	if err != nil {
		return err
	}
	if err := s.Recordings.DeleteRecording(ctx, id); err != nil {
		return err
	}
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		c.RecordingErasedAt = c.Now
		if err := c.tx.DeleteTexts(ctx, c.ID); err != nil {
			return err
		}
		if err := c.tx.DeleteSearchTexts(ctx, c.ID); err != nil {
			return err
		}
		var deleted int64
		err := c.tx.ChangeSummary(ctx, c.ID, func(s *job.Summary) {
			deleted = s.Bytes
			*s = job.Summary{FailedIn: s.FailedIn, EndReason: s.EndReason, Deleted: true}
		})
		if err != nil {
			return err
		}
		if c.ManifestURI != "" {
			c.Usage.DeletedBytes += deleted
		}
		entries, err := c.tx.Timeline(ctx, c.ID)
		if err != nil || slices.ContainsFunc(entries, func(e job.TimelineEntry) bool { return e.Kind == RecordingDeleted }) {
			return err
		}
		return c.addEntry(RecordingDeleted, map[string]string{"by": c.RecordingDeletedBy})
	})
	return err
}

// markDeleted marks a recording as deleted, if check permits it. From then on, uploads
// are refused.
func (s *Service) markDeleted(ctx context.Context, id uuid.UUID, by string, check func(job.Record) error) error {
	_, err := s.Change(ctx, id, func(_ context.Context, c *Change) error {
		if c.RecordingDeletedAt.IsZero() {
			c.RecordingDeletedAt, c.RecordingDeletedBy = c.Now, by
		}
		return check(c.Record)
	})
	return err
}

// AttachRecording gives a job that ended without a recording the manifest that was
// stored since.
func (s *Service) AttachRecording(ctx context.Context, id uuid.UUID) (job.Record, error) {
	return s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if !c.RecordingDeletedAt.IsZero() {
			return job.NewInvalidState("the recording was deleted meanwhile")
		}
		result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.RecordingFinished, ManifestURI: s.ManifestURI(id)}, nil)
		if err == nil && !result.Applied {
			err = job.NewInvalidState("the job cannot get a recording")
		}
		return err
	})
}
