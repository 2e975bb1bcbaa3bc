package lifecycle_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/store"
)

// storeRecording stores a recording of the job: a manifest, a file and an upload.
func (h *harness) storeRecording(t *testing.T, id uuid.UUID) {
	t.Helper()
	h.Upload(t, id, 0, ingest.SegmentName(0, 0), []byte("media"))
	const media = "media"
	sum := sha256.Sum256([]byte(media))
	if err := h.Storage.PutMedia(t.Context(), id, "recording.mp4", strings.NewReader(media), hex.EncodeToString(sum[:])); err != nil {
		t.Fatal(err)
	}
	if err := h.Storage.PutManifest(t.Context(), id, recording.Manifest{SchemaVersion: 1}); err != nil {
		t.Fatal(err)
	}
}

// stored reports whether any file of a job's recording is stored.
func (h *harness) stored(t *testing.T, id uuid.UUID) bool {
	t.Helper()
	gone := func(err error) bool {
		missing := (*recording.NotFoundError)(nil)
		if err != nil && !errors.As(err, &missing) {
			t.Fatal(err)
		}
		return err != nil
	}
	_, manifestErr := h.Storage.Manifest(t.Context(), id)
	content, _, mediaErr := h.Storage.OpenMedia(t.Context(), id, "recording-000-000000.mp4s")
	if mediaErr == nil {
		if err := content.Close(); err != nil {
			t.Error(err)
		}
	}
	uploads, err := h.Storage.Uploads(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return !gone(manifestErr) || !gone(mediaErr) || len(uploads) > 0
}

// TestDeleteRecording checks that only the job's consumer can delete a recording,
// only after the job ended, and that deleting it again succeeds.
func TestDeleteRecording(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		h.storeRecording(t, id)
		err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AppendTexts(ctx, id, []job.MeetingText{{
				Kind: job.ChatText, ID: "1", Author: "Ada", Text: "a secret", StartedAt: time.Now(),
			}})
			return err
		})
		if has, readErr := h.Store.HasTexts(t.Context(), id); err != nil || readErr != nil || !has {
			t.Fatalf("store a text: %v, %v", err, readErr)
		}
		for _, status := range job.Statuses() {
			if status.Terminal() {
				continue
			}
			h.setStatus(t, id, status)
			if err := h.DeleteRecording(t.Context(), h.Caller, id); !job.ErrorIs(err, job.InvalidState) {
				t.Errorf("job with status %s: %v", status, err)
			}
		}
		if !h.stored(t, id) {
			t.Fatal("a rejected request deleted the recording")
		}
		h.setStatus(t, id, job.MediaUploading)
		if _, err := h.Change(t.Context(), id, func(ctx context.Context, c *lifecycle.Change) error {
			_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.ManifestFinalized, ManifestURI: h.ManifestURI(id)}, nil)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for who, stranger := range h.otherCallers(t) {
			if err := h.DeleteRecording(t.Context(), stranger, id); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("%s: %v", who, err)
			}
		}
		before := h.Record(t, id)
		for range 3 {
			if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil {
				t.Fatal(err)
			}
			if h.stored(t, id) {
				t.Fatal("files remain")
			}
			if has, err := h.Store.HasTexts(t.Context(), id); has || err != nil {
				t.Fatalf("texts remain: %v, %v", has, err)
			}
		}
		after := h.Record(t, id)
		if after.Status != job.Completed || after.ManifestURI != before.ManifestURI || after.ManifestURI == "" ||
			after.RecordingDeletedAt.IsZero() {
			t.Errorf("after the deletion: %+v", after)
		}
		h.checkDeletion(t, id, "consumer")
		if after.RecordingErasedAt.IsZero() {
			t.Error("the recording is not erased")
		}
	})
}

// checkDeletion checks that one entry of the timeline says who deleted the recording.
func (h *harness) checkDeletion(t *testing.T, id uuid.UUID, by string) {
	t.Helper()
	if data := h.Data(t, id, lifecycle.RecordingDeleted); len(data) != 1 || !strings.Contains(data[0], `"by":"`+by+`"`) {
		t.Errorf("the deletions on the timeline are %s, want one by %s", data, by)
	}
}

// TestExpireRecording checks that an expired recording is deleted and the timeline
// names the actor, and that an interrupted deletion by the consumer is completed as
// the consumer's.
func TestExpireRecording(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	ended := func() uuid.UUID {
		id := h.begun(t)
		h.storeRecording(t, id)
		h.setStatus(t, id, job.Failed)
		return id
	}
	running := h.begun(t)
	h.storeRecording(t, running)
	if err := h.ExpireRecording(t.Context(), running); !job.ErrorIs(err, job.InvalidState) || !h.stored(t, running) {
		t.Errorf("a job that has not ended: %v", err)
	}
	old := ended()
	for range 2 {
		if err := h.ExpireRecording(t.Context(), old); err != nil || h.stored(t, old) {
			t.Errorf("a job that has ended: %v", err)
		}
	}
	h.checkDeletion(t, old, "retention")
	interrupted := ended()
	if _, err := h.Change(t.Context(), interrupted, func(ctx context.Context, c *lifecycle.Change) error {
		c.RecordingDeletedAt, c.RecordingDeletedBy = c.Now, "consumer"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.ExpireRecording(t.Context(), interrupted); err != nil || h.stored(t, interrupted) {
		t.Errorf("an interrupted deletion: %v", err)
	}
	h.checkDeletion(t, interrupted, "consumer")
}

// TestRevokedRecording checks that what was recorded of a meeting is deleted when its platform demands it, also what
// earlier attempts have recorded.
func TestRevokedRecording(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.storeRecording(t, id)
	h.setStatus(t, id, job.RecordingStarted)
	data := `{"endReason":"revoked","failureCode":"recording_disabled","failureDetail":"the stream was revoked"}`
	if got := h.ingest(t, ingest.Event{Kind: job.BotExited, JobID: id.String(), EmittedAt: time.Now(), Data: json.RawMessage(data)}); !got.Applied {
		t.Fatalf("%+v", got)
	}
	if r := h.Record(t, id); r.Status != job.Failed || r.FailureCode != job.RecordingDisabled || r.RecordingDeletedAt.IsZero() {
		t.Errorf("the job %+v", r)
	}
	if err := h.ExpireRecording(t.Context(), id); err != nil || h.stored(t, id) { // as the next sweep does
		t.Errorf("the deletion: %v", err)
	}
	h.checkDeletion(t, id, "platform")
}

// count returns the number of timeline entries of a kind.
func (h *harness) count(t *testing.T, id uuid.UUID, kind job.Trigger) int {
	t.Helper()
	return len(h.Entries(t, id, kind))
}

// TestUploadAfterDeletion checks that uploads to a deleted or complete recording are
// rejected.
func TestUploadAfterDeletion(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.ingest(t, botEvent(id, 0, 0, job.BotExited, `{"failureCode":"network_loss"}`))
	if _, err := h.AdmitUpload(t.Context(), ingest.Simulated(id, 0)); err != nil {
		t.Fatalf("upload before the deletion: %v", err)
	}
	if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AdmitUpload(t.Context(), ingest.Simulated(id, 0)); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("an upload after the deletion: %v", err)
	}
	completed := h.begun(t)
	h.ingest(t, botEvent(completed, 0, 9, job.ManifestFinalized, ""))
	if _, err := h.AdmitUpload(t.Context(), ingest.Simulated(completed, 0)); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("an upload after completion: %v", err)
	}
}

// TestDeleteRecordingOfCancelledJob checks that a recording cannot be deleted while
// the bot of a cancelled job may still upload it.
func TestDeleteRecordingOfCancelledJob(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.walk(t, id, job.BotJoined, job.BotInMeeting, job.BotRecordingStarted)
	h.cancel(t, id)
	h.storeRecording(t, id)
	if err := h.DeleteRecording(t.Context(), h.Caller, id); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("while the bot is running: %v", err)
	}
	// as the dispatcher does when the bot is gone
	if _, err := h.Change(t.Context(), id, func(ctx context.Context, c *lifecycle.Change) error {
		c.WakeAt = time.Time{}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil || h.stored(t, id) {
		t.Errorf("after the bot has exited: %v", err)
	}
	answer, err := h.Ingest(t.Context(), ingest.Simulated(id, 0), botEvent(id, 0, 9, job.ManifestFinalized, ""))
	if err != nil || !answer.OK {
		t.Errorf("a late event: %+v, %v", answer, err)
	}

	never := h.newJob(t)
	h.cancel(t, never)
	if err := h.DeleteRecording(t.Context(), h.Caller, never); err != nil {
		t.Errorf("a job that was cancelled before its start: %v", err)
	}
}

// brokenStorage fails every deletion.
type brokenStorage struct{ err error }

func (b brokenStorage) DeleteRecording(context.Context, uuid.UUID) error { return b.err }

// TestFailedDeletionCanBeRepeated checks that a failed deletion returns an error, is
// not on the timeline, and succeeds when repeated.
func TestFailedDeletionCanBeRepeated(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	h.storeRecording(t, id)
	h.cancel(t, id)
	unavailable := errors.New("storage unavailable")
	broken := h.NewService(t, time.Now)
	broken.Recordings = brokenStorage{unavailable}
	if err := broken.DeleteRecording(t.Context(), h.Caller, id); !errors.Is(err, unavailable) {
		t.Errorf("with unavailable storage: %v", err)
	}
	if n := h.count(t, id, lifecycle.RecordingDeleted); n != 0 {
		t.Error("the timeline contains the failed deletion")
	}
	if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil || h.stored(t, id) {
		t.Errorf("second deletion: %v", err)
	}
	if n := h.count(t, id, lifecycle.RecordingDeleted); n != 1 {
		t.Errorf("%d timeline entries for the deletion", n)
	}
}
