package lifecycle_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/hostile"
	"standin/internal/testing/world"
)

// TestFullDisk checks that signed-in users stay signed in, jobs can be read and a
// recording can be deleted while the disk of the database and the recordings is
// full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := hostile.SmallDisk(t, "4")
	h := &harness{World: world.NewIn(t, filepath.Join(dir, "standin.db"), filepath.Join(dir, "kept"), time.Now)}
	s := h.Store
	keys := &account.Keys{Store: s, Now: time.Now}
	_, secret, err := keys.Issue(t.Context(), "full", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	users := account.NewUsers(account.UserSettings{Store: s, Now: time.Now})
	token, _, err := users.FirstUserToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	user, err := users.Accept(t.Context(), token, account.NewUser{
		Name: "Ada", Password: "correct horse battery", Email: "ada@lovelace.test", Consumer: "full",
	})
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, err := users.Open(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	if h.Caller, err = keys.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	id := h.begun(t)
	h.storeRecording(t, id)
	h.Upload(t, id, 0, ingest.SegmentName(0, 1), make([]byte, 1<<20))
	h.setStatus(t, id, job.Completed)

	hostile.FillDisk(t, dir)
	later := func() time.Time { return time.Now().Add(time.Hour) } // the last use of the key and the session is due to be updated
	keys.Now = later
	users = account.NewUsers(account.UserSettings{Store: s, Now: later})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for err = nil; err == nil; { // until the -wal file has no room that a checkpoint has freed
		err = s.TouchKey(ctx, h.Caller.KeyID, later())
	}
	if !store.IsDiskFull(err) {
		t.Fatalf("a write on the full disk: %v", err)
	}
	if caller, err := keys.Authenticate(t.Context(), secret); err != nil || caller != h.Caller {
		t.Errorf("authenticate on a full disk: %+v, %v", caller, err)
	}
	if session, err := users.Session(t.Context(), cookie); err != nil || session.User.ID != user.ID {
		t.Errorf("session on a full disk: %+v, %v", session, err)
	}
	if _, err := h.Job(t.Context(), h.Caller, id); err != nil {
		t.Errorf("read a job on a full disk: %v", err)
	}
	other := account.Caller{KeyID: uuid.New(), ConsumerID: uuid.New(), Mode: job.Live}
	if err := h.DeleteRecording(t.Context(), other, id); !job.ErrorIs(err, job.NotFound) || !h.stored(t, id) {
		t.Errorf("another consumer deletes the recording on a full disk: %v", err)
	}
	if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil {
		t.Errorf("delete a recording on a full disk: %v", err)
	}
	if h.stored(t, id) {
		t.Error("the recording is still stored")
	}
	if r, err := s.Job(t.Context(), id); err != nil || r.RecordingErasedAt.IsZero() {
		t.Errorf("the deletion is not recorded: %+v, %v", r, err)
	}
}
