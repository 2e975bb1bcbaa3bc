package recording

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

// TestImportLeftover checks that files in a bot's spool are stored as uploads and
// that existing uploads are not changed.
func TestImportLeftover(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Storage) {
		jobID := uuid.New()
		spool := LeftoverSpool{Attempt: 1, Folder: t.TempDir()}
		if err := storage.ImportLeftover(t.Context(), jobID, spool); err != nil {
			t.Errorf("empty spool: %v", err)
		}
		folder := filepath.Join(spool.Folder, ingest.SpoolDir, ingest.SpoolMediaDir)
		if err := os.MkdirAll(filepath.Join(folder, "recording-000-000009.mp4s"), 0o700); err != nil { // a directory
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			ingest.SegmentName(0, 0): "first",
			ingest.SegmentName(0, 1): "other",
			ingest.SegmentName(0, 2): "third one",
			ingest.ReportName:        `{"attempt":1}`,
			"invalid name!":          "x",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(t, storage, jobID, 0, ingest.SegmentName(0, 2), "of another attempt")
		put(t, storage, jobID, 1, ingest.SegmentName(0, 0), "first")
		put(t, storage, jobID, 1, ingest.SegmentName(0, 1), "uploaded with other content")
		put(t, storage, jobID, 1, ingest.ReportName, "{}")
		for range 2 { // the import can be repeated
			if err := storage.ImportLeftover(t.Context(), jobID, spool); err != nil {
				t.Fatal(err)
			}
		}
		got, err := storage.Uploads(t.Context(), jobID)
		if err != nil {
			t.Fatal(err)
		}
		want := []AttemptUploads{
			{Attempt: 0, Files: []Upload{{ingest.SegmentName(0, 2), 18}}},
			{Attempt: 1, Files: []Upload{
				{ingest.SegmentName(0, 0), 5}, {ingest.SegmentName(0, 1), 27}, {ingest.SegmentName(0, 2), 9}, {ingest.ReportName, 13},
			}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("uploads are %v, want %v", got, want)
		}
	})
}

// TestUploadQuota checks that uploads beyond a job's quota of files or bytes are
// rejected, including concurrent ones, and that other jobs are not affected.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	storage := openStorage(t, "file://"+t.TempDir())
	for name, quota := range map[string]UploadQuota{"files": {Files: 5, Bytes: 1 << 30}, "bytes": {Files: 1000, Bytes: 5 * 100}} {
		jobID := uuid.New()
		put(t, storage, jobID, 0, "before.mp4", strings.Repeat("x", 100)) // before the uploads are counted
		var admitted atomic.Int32
		var uploads sync.WaitGroup
		for range 50 {
			uploads.Go(func() {
				done, err := storage.ReserveUpload(t.Context(), jobID, 100, quota)
				if exceeded := new(QuotaError); err != nil && !errors.As(err, &exceeded) {
					t.Error(err)
				}
				if err == nil {
					admitted.Add(1)
					done(true)
				}
			})
		}
		uploads.Wait()
		if got := admitted.Load(); got != 4 {
			t.Errorf("%s: %d more uploads were admitted, want 4", name, got)
		}
		if _, err := storage.ReserveUpload(t.Context(), uuid.New(), 100, quota); err != nil {
			t.Errorf("%s: another job: %v", name, err)
		}
	}
	done, err := storage.ReserveUpload(t.Context(), uuid.New(), 100, UploadQuota{Files: 1, Bytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	done(false) // a failed upload releases its reservation
}
