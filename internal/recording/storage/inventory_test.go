package storage

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// TestListJobs checks that each job with stored objects is listed once.
func TestListJobs(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		if err := storage.ListJobs(t.Context(), func(usage recording.JobUsage) error {
			t.Errorf("empty store: %+v", usage)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := map[uuid.UUID]recording.JobUsage{}
		for i := range 3 {
			id := uuid.New()
			put(t, storage, id, 0, ingest.SegmentName(0, 0), "12345")
			put(t, storage, id, 1, ingest.ReportName, "{}")
			put(t, storage, id, 0, "capture-0.zip", "png")
			want[id] = recording.JobUsage{JobID: id, Objects: 3, Bytes: 10, Uploads: 2}
			if i == 0 {
				if err := storage.PutManifest(t.Context(), id, recording.Manifest{}); err != nil {
					t.Fatal(err)
				}
				text, err := storage.Manifest(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				want[id] = recording.JobUsage{JobID: id, Objects: 4, Bytes: 10 + int64(len(text)), Uploads: 2}
			}
		}
		err := storage.ListJobs(t.Context(), func(usage recording.JobUsage) error {
			if since := time.Since(usage.Newest); since < -time.Minute || since > time.Hour {
				t.Errorf("newest object of %s is %v old", usage.JobID, since)
			}
			usage.Newest = time.Time{}
			if usage != want[usage.JobID] {
				t.Errorf("got %+v, want %+v", usage, want[usage.JobID])
			}
			delete(want, usage.JobID)
			return nil
		})
		if err != nil || len(want) > 0 {
			t.Errorf("missing jobs: %v, %v", want, err)
		}
	})
}

// TestCaptures checks that captures are not listed as uploads and are deleted
// with the recording, but not with the uploads, even while they are being written.
func TestCaptures(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		id := uuid.New()
		put(t, storage, id, 0, ingest.SegmentName(0, 0), "12345")
		put(t, storage, id, 0, "capture-0.zip", "png")
		deleting := readerFunc(func([]byte) (int, error) { return 0, cmp.Or(storage.DeleteUploads(t.Context(), id), io.EOF) })
		body := io.MultiReader(strings.NewReader("html"), deleting)
		if _, err := storage.PutUpload(t.Context(), id, 1, "capture-1.zip", body, sumText("html"), 100); err != nil {
			t.Errorf("a capture was not stored while the uploads were deleted: %v", err)
		}
		if err := storage.DeleteUploads(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if uploads, err := storage.Uploads(t.Context(), id); err != nil || len(uploads) > 0 {
			t.Errorf("uploads = %v, %v", uploads, err)
		}
		if usage, err := storage.JobUsage(t.Context(), id); err != nil || usage.Objects != 2 || usage.Bytes != 7 {
			t.Errorf("usage = %+v, %v", usage, err)
		}
		for range 2 {
			if err := storage.DeleteRecording(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if usage, err := storage.JobUsage(t.Context(), id); err != nil || usage.Objects > 0 {
			t.Errorf("after the deletion: usage = %+v, %v", usage, err)
		}
	})
}

// TestDeleteManyUploads checks the deletion of more objects than a page of a list
// contains.
func TestDeleteManyUploads(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
		id, other := uuid.New(), uuid.New()
		put(t, storage, other, 0, ingest.SegmentName(0, 0), "x")
		var group errgroup.Group
		group.SetLimit(8)
		for i := range 1010 { // S3 lists and deletes up to 1000 at a time
			group.Go(func() error {
				key, err := uploadKey(id, 0, ingest.SegmentName(0, i))
				return errors.Join(err, storage.bucket.WriteAll(t.Context(), key, []byte("x"), nil))
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := storage.DeleteUploads(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if usage, err := storage.JobUsage(t.Context(), id); err != nil || usage.Objects > 0 {
			t.Errorf("usage = %+v, %v", usage, err)
		}
		if usage, err := storage.JobUsage(t.Context(), other); err != nil || usage.Objects != 1 {
			t.Errorf("other job: usage = %+v, %v", usage, err)
		}
	})
}

// TestDeleteUnfinished checks that only old files of interrupted writes are deleted.
func TestDeleteUnfinished(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	storage := openStorage(t, folderAddress(folder))
	id := uuid.New()
	put(t, storage, id, 0, "x", "x")
	uploads := filepath.Join(folder, "jobs", id.String(), "uploads", "0")
	for name, ago := range map[string]time.Duration{"old.mp4.18f.tmp": 2 * time.Hour, "new.mp4.18f.tmp": 0} {
		path := filepath.Join(uploads, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	if usage, err := storage.JobUsage(t.Context(), id); err != nil || usage.Unfinished != 2 || usage.Uploads != 1 {
		t.Errorf("usage = %+v, %v", usage, err)
	}
	if err := storage.DeleteUnfinished(t.Context(), id, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(uploads)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "new.mp4.18f.tmp x" {
		t.Errorf("folder contains %s, %v", got, err)
	}
}
