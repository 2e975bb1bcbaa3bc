package recording

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/ingest"
)

// TestListJobs checks that each job with stored objects is listed once.
func TestListJobs(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Storage) {
		if err := storage.ListJobs(t.Context(), func(kept JobUsage) error { t.Errorf("in an empty store: %+v", kept); return nil }); err != nil {
			t.Fatal(err)
		}
		want := map[uuid.UUID]JobUsage{}
		for i := range 3 {
			id := uuid.New()
			put(t, storage, id, 0, ingest.SegmentName(0, 0), "12345")
			put(t, storage, id, 1, ingest.ReportName, "{}")
			put(t, storage, id, 0, "diagnostics-page.png", "png")
			want[id] = JobUsage{JobID: id, Objects: 3, Bytes: 10, Uploads: 2}
			if i == 0 {
				if err := storage.PutManifest(t.Context(), id, Manifest{}); err != nil {
					t.Fatal(err)
				}
				text, err := storage.Manifest(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				want[id] = JobUsage{JobID: id, Objects: 4, Bytes: 10 + int64(len(text)), Uploads: 2}
			}
		}
		err := storage.ListJobs(t.Context(), func(kept JobUsage) error {
			if since := time.Since(kept.Newest); since < -time.Minute || since > time.Hour {
				t.Errorf("the newest of %s is %v old", kept.JobID, since)
			}
			kept.Newest = time.Time{}
			if kept != want[kept.JobID] {
				t.Errorf("got %+v, want %+v", kept, want[kept.JobID])
			}
			delete(want, kept.JobID)
			return nil
		})
		if err != nil || len(want) > 0 {
			t.Errorf("not reported of: %v, %v", want, err)
		}
	})
}

// TestDiagnostics are no part of a recording, outlive its uploads, and go with
// it.
func TestDiagnostics(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Storage) {
		id := uuid.New()
		put(t, storage, id, 0, ingest.SegmentName(0, 0), "12345")
		put(t, storage, id, 0, "diagnostics-page.png", "png")
		put(t, storage, id, 1, "diagnostics-page.html", "html")
		for range 2 {
			if err := storage.DeleteUploads(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if uploads, err := storage.Uploads(t.Context(), id); err != nil || len(uploads) > 0 {
			t.Errorf("uploads are %v, %v", uploads, err)
		}
		if kept, err := storage.JobUsage(t.Context(), id); err != nil || kept.Objects != 2 || kept.Bytes != 7 {
			t.Errorf("kept is %+v, %v", kept, err)
		}
		for range 2 {
			if err := storage.DeleteRecording(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := storage.JobUsage(t.Context(), id); err != nil || kept.Objects > 0 {
			t.Errorf("after the deletion %+v is kept, %v", kept, err)
		}
	})
}

// TestDiagnosticsDoNotChangeFinishedJob: a job that was finished once stays as it is,
// whatever is kept for the operator.
func TestDiagnosticsDoNotChangeFinishedJob(t *testing.T) {
	t.Parallel()
	finisher := newFinisherHarness(t)
	segments := splitSegments(t, encodeRecording(t, source{Seconds: 2}))
	finisher.upload(t, 0, 0, segments)
	finisher.report(t, leftReport(0, completePart(0, 0, 2)))
	put(t, finisher.Storage, finisher.id, 0, "diagnostics-page.png", "png")
	manifest, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil {
		t.Fatal(err)
	}
	if err := finisher.Storage.DeleteUploads(t.Context(), finisher.id); err != nil {
		t.Fatal(err)
	}
	again, err := finisher.Finish(t.Context(), finisher.facts)
	if err != nil || asJSON(t, again) != asJSON(t, manifest) {
		t.Errorf("again: %s, %v", asJSON(t, again), err)
	}
}

// TestDeleteManyUploads: more than a page of a list, deleted side by side.
func TestDeleteManyUploads(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Storage) {
		id, other := uuid.New(), uuid.New()
		put(t, storage, other, 0, ingest.SegmentName(0, 0), "x")
		var group errgroup.Group
		group.SetLimit(8)
		for i := range 1100 {
			group.Go(func() error {
				_, err := storage.PutUpload(t.Context(), id, 0, ingest.SegmentName(0, i), strings.NewReader("x"), sumText("x"), 9)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if err := storage.DeleteUploads(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if kept, err := storage.JobUsage(t.Context(), id); err != nil || kept.Objects > 0 {
			t.Errorf("kept is %+v, %v", kept, err)
		}
		if kept, err := storage.JobUsage(t.Context(), other); err != nil || kept.Objects != 1 {
			t.Errorf("of another job %+v is kept, %v", kept, err)
		}
	})
}

// TestDeleteUnfinished removes old rests of writes, and nothing else.
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
	if kept, err := storage.JobUsage(t.Context(), id); err != nil || kept.Unfinished != 2 || kept.Uploads != 1 {
		t.Errorf("kept is %+v, %v", kept, err)
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
		t.Errorf("the folder holds %s, %v", got, err)
	}
}
