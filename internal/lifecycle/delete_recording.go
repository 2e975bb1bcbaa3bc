package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
)

// Recordings is where recordings are kept.
type Recordings interface {
	// DeleteRecording deletes all that is stored of a job's recording, the
	// manifest included. Doing it again is harmless.
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
}

// DeleteRecording deletes all that is stored of the recording of a job of the
// caller's: every file and the manifest. Once it has returned nil, none of it
// can be fetched and nothing is added to it. Doing it again is harmless, and so
// is doing it to a job that recorded nothing.
//
// The job itself stays, with its manifestUri: the specification keeps null for
// jobs that were never finalized, and consumers know the address from
// webhooks. What it leads to is gone. A manifest that a bot keeps elsewhere is
// not ours to delete.
//
// A job that has not ended gives a *job.Error with InvalidState, and so does a
// cancelled one while its bot still hands in what it recorded.
func (s *Service) DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	return s.deleteRecording(ctx, id, byConsumer, func(r job.Record) error { return owned(r, caller) })
}

// ExpireRecording is DeleteRecording of a recording whose time is up. For one
// whose deletion was begun, by whomever, and is not known to be done, it brings
// that to its end.
func (s *Service) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	return s.deleteRecording(ctx, id, byRetention, func(job.Record) error { return nil })
}

// deleteRecording notes that the recording is to be deleted, so that nothing is
// added to it any more, deletes it, and notes that. A deletion that was
// interrupted between is found by what was noted (store.PendingErasures).
func (s *Service) deleteRecording(ctx context.Context, id uuid.UUID, by string, permitted func(job.Record) error) error {
	check := func(r job.Record) error {
		if err := permitted(r); err != nil {
			return err
		}
		return erasable(r)
	}
	mark := func() error {
		_, err := s.Change(ctx, id, func(c *Change) error {
			if c.RecordingDeletedAt.IsZero() {
				c.RecordingDeletedAt, c.RecordingDeletedBy = c.Now, by // from here on no upload is admitted
			}
			return check(c.Record)
		})
		return err
	}
	err := mark()
	if store.IsDiskFull(err) {
		// Deleting the files first frees the space that the database needs.
		r, readErr := s.store.Job(ctx, id)
		if readErr != nil {
			return readErr
		}
		if err := check(r); err != nil {
			return err
		}
		if err := s.recordings.DeleteRecording(ctx, id); err != nil {
			return fmt.Errorf("delete the recording of job %s: %w", id, err)
		}
		err = mark()
	}
	if err != nil {
		return err
	}
	if err := s.recordings.DeleteRecording(ctx, id); err != nil {
		return fmt.Errorf("delete the recording of job %s: %w", id, err)
	}
	_, err = s.Change(ctx, id, func(c *Change) error {
		c.RecordingErasedAt = c.Now
		entries, err := c.q.Timeline(ctx, id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e job.TimelineEntry) bool { return e.Kind == RecordingDeleted }) {
			return nil
		}
		return c.addEntry(ctx, RecordingDeleted, map[string]string{"by": cmp.Or(c.RecordingDeletedBy, byConsumer)}) // which was not kept at first
	})
	return err
}

// erasable is the error for a job whose recording may still grow.
func erasable(r job.Record) error {
	if !r.Status.Terminal() {
		return &job.Error{Code: job.InvalidState, Message: "the job has not ended: it is " + string(r.Status)}
	}
	if r.Status == job.Cancelled && r.Attempts > 0 && r.ManifestURI == "" && !r.WakeAt.IsZero() {
		return &job.Error{Code: job.InvalidState, Message: "the bot of this cancelled job still hands in what it recorded; try again when the job has a manifestUri, or in some minutes"}
	}
	return nil
}
