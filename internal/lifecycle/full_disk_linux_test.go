package lifecycle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/testing/hostile"
)

// TestFullDisk checks that signed-in users stay signed in, jobs can be read and a
// recording can be deleted while the disk of the database and the recordings is
// full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := hostile.SmallDisk(t, "4")
	s, err := store.Open(t.Context(), filepath.Join(dir, "standin.db"))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(dir, "kept")}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(recordings.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	h := &harness{store: s, storage: recordings}
	h.Service = h.serviceOn(t, s)
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
	user, err := users.Accept(t.Context(), token, account.NewUser{Name: "Ada", Password: "correct horse battery", Email: "ada@lovelace.test", Consumer: "full"})
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, err := users.Open(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	if h.caller, err = keys.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	h.Service = h.serviceAt(t, time.Now)
	id := h.newJob(t)
	h.begin(t, id)
	h.storeRecording(t, id)
	media := make([]byte, 1<<20)
	sum := sha256.Sum256(media)
	if _, err := recordings.PutUpload(t.Context(), id, 0, ingest.SegmentName(0, 1), bytes.NewReader(media), hex.EncodeToString(sum[:]), 1<<20); err != nil {
		t.Fatal(err)
	}
	h.setStatus(t, id, job.Completed)

	hostile.FillDisk(t, dir)
	later := func() time.Time { return time.Now().Add(time.Hour) } // the last use of the key and the session is due to be updated
	keys.Now = later
	users = account.NewUsers(account.UserSettings{Store: s, Now: later})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for err = nil; err == nil; { // until the -wal file has no room that a checkpoint has freed
		err = s.TouchKey(ctx, h.caller.KeyID, later())
	}
	if !store.IsDiskFull(err) {
		t.Fatalf("a write on the full disk: %v", err)
	}
	if caller, err := keys.Authenticate(t.Context(), secret); err != nil || caller != h.caller {
		t.Errorf("authenticate on a full disk: %+v, %v", caller, err)
	}
	if session, err := users.Session(t.Context(), cookie); err != nil || session.User.ID != user.ID {
		t.Errorf("session on a full disk: %+v, %v", session, err)
	}
	if _, err := h.Job(t.Context(), h.caller, id); err != nil {
		t.Errorf("read a job on a full disk: %v", err)
	}
	other := account.Caller{KeyID: uuid.New(), ConsumerID: uuid.New(), Mode: job.Live}
	if err := h.DeleteRecording(t.Context(), other, id); !job.ErrorIs(err, job.NotFound) || !h.stored(t, id) {
		t.Errorf("another consumer deletes the recording on a full disk: %v", err)
	}
	if err := h.DeleteRecording(t.Context(), h.caller, id); err != nil {
		t.Errorf("delete a recording on a full disk: %v", err)
	}
	if h.stored(t, id) {
		t.Error("the recording is still stored")
	}
	if r, err := s.Job(t.Context(), id); err != nil || r.RecordingErasedAt.IsZero() {
		t.Errorf("the deletion is not recorded: %+v, %v", r, err)
	}
}
