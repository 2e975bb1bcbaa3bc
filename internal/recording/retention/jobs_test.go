package retention

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// TestEraseJobs checks that jobs and their files are erased after the retention of the
// service or of their consumer, but not while the recording is kept.
func TestEraseJobs(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Forever)
	h.JobRetention = Period(90 * day)
	failed := func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" }
	ada, bob, eve := h.consumer(t, nil), h.consumer(t, nil), h.consumer(t, nil)
	for consumer, own := range map[uuid.UUID]time.Duration{bob: 10 * day, eve: time.Duration(Forever)} {
		if err := h.store.ChangeConsumer(t.Context(), consumer, func(c *account.Consumer) { c.JobRetention = &own }); err != nil {
			t.Fatal(err)
		}
	}
	erased := []uuid.UUID{
		h.recorded(t, ada, 91*day, failed),
		h.recorded(t, ada, 400*day, func(r *job.Record) { r.RecordingDeletedAt, r.RecordingErasedAt = now, now }),
		h.recorded(t, bob, 11*day, failed),
	}
	kept := []uuid.UUID{
		h.recorded(t, ada, 89*day, failed), h.recorded(t, ada, 400*day, nil),
		h.recorded(t, bob, 9*day, failed), h.recorded(t, eve, 400*day, failed),
	}
	h.runTasks(t)
	for _, id := range erased {
		if _, err := h.store.Job(t.Context(), id); !job.ErrorIs(err, job.NotFound) || len(h.files(t, id)) > 0 {
			t.Errorf("job %s: %v, stored %v", id, err, h.files(t, id))
		}
	}
	for _, id := range kept {
		if _, err := h.store.Job(t.Context(), id); err != nil || len(h.files(t, id)) != 3 {
			t.Errorf("job %s: %v, stored %v", id, err, h.files(t, id))
		}
	}
}

// TestDeleteConsumer checks that the recordings and jobs of a consumer are deleted and
// those of others are kept.
func TestDeleteConsumer(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Forever)
	ada, bob := h.consumer(t, nil), h.consumer(t, nil)
	var ids []uuid.UUID
	for range batch + 1 {
		ids = append(ids, h.recorded(t, ada, day, nil))
	}
	kept := h.recorded(t, bob, day, nil)
	running := h.recorded(t, ada, day, func(r *job.Record) { r.Status, r.WakeAt = job.InMeeting, now })
	if _, err := h.DeleteConsumer(t.Context(), ada); !job.ErrorIs(err, job.InvalidState) || len(h.files(t, ids[0])) != 3 {
		t.Fatalf("delete a consumer with a running job: %v", err)
	}
	r, err := h.store.Job(t.Context(), running)
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.WakeAt = job.Cancelled, time.Time{}
	if err := h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	}); err != nil {
		t.Fatal(err)
	}
	b := &broken{Recordings: h.Recordings, Volumes: h.Files.Volumes, id: ids[0], fail: func(context.Context) error { return os.ErrPermission }}
	h.Files.Volumes = b
	if n, err := h.DeleteConsumer(t.Context(), ada); !errors.Is(err, os.ErrPermission) || n != batch+1 {
		t.Fatalf("with a job that cannot be deleted: deleted %d jobs, %v", n, err)
	}
	b.id = uuid.Nil
	if n, err := h.DeleteConsumer(t.Context(), ada); err != nil || n != 1 {
		t.Fatalf("deleted %d jobs, %v", n, err)
	}
	for _, id := range append(ids, running) {
		if len(h.files(t, id)) > 0 {
			t.Fatalf("job %s: stored %v", id, h.files(t, id))
		}
	}
	if _, err := h.store.Consumer(t.Context(), ada); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("the deleted consumer: %v", err)
	}
	if _, err := h.store.Job(t.Context(), kept); err != nil || len(h.files(t, kept)) != 3 {
		t.Errorf("the other consumer's job: %v, stored %v", err, h.files(t, kept))
	}
}
