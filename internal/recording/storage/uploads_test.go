package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// TestImportLeftover checks that files in a bot's spool are stored as uploads and
// that existing uploads are not changed.
func TestImportLeftover(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Recordings) {
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
		want := []recording.AttemptUploads{
			{Attempt: 0, Files: []recording.Upload{{Name: ingest.SegmentName(0, 2), Bytes: 18}}},
			{Attempt: 1, Files: []recording.Upload{
				{Name: ingest.SegmentName(0, 0), Bytes: 5}, {
					Name: ingest.SegmentName(0, 1), Bytes: 27,
				}, {Name: ingest.SegmentName(0, 2), Bytes: 9}, {Name: ingest.ReportName, Bytes: 13},
			}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("uploads are %v, want %v", got, want)
		}
	})
}

// TestUploadQuota checks that uploads beyond a job's quota of files or bytes are
// rejected, including concurrent ones and those through another node, and that other jobs
// are not affected.
func TestUploadQuota(t *testing.T) {
	t.Parallel()
	dir := "file://" + t.TempDir()
	nodes := []*Recordings{openStorage(t, dir), openStorage(t, dir)}
	for name, quota := range map[string]recording.UploadQuota{"files": {Files: 21, Bytes: 1 << 30}, "bytes": {Files: 1000, Bytes: 21 * 100}} {
		jobID := uuid.New()
		content := strings.Repeat("x", 100)
		put(t, nodes[0], jobID, 0, "before.mp4", content) // before the uploads are counted
		admitted := 0
		for i := range 50 {
			done, err := nodes[i%2].ReserveUpload(t.Context(), jobID, 100, quota)
			if exceeded := new(recording.QuotaError); err != nil && !errors.As(err, &exceeded) {
				t.Fatal(err)
			}
			if err == nil {
				put(t, nodes[i%2], jobID, 0, fmt.Sprintf("%d.mp4", i), content)
				admitted++
				done(true)
			}
		}
		if admitted != 20 {
			t.Errorf("%s: %d more uploads through two nodes were admitted, want 20", name, admitted)
		}
		if _, err := nodes[0].ReserveUpload(t.Context(), uuid.New(), 100, quota); err != nil {
			t.Errorf("%s: another job: %v", name, err)
		}
	}
	jobID, quota := uuid.New(), recording.UploadQuota{Files: 4, Bytes: 1000}
	var admitted atomic.Int32
	var uploads sync.WaitGroup
	for range 50 {
		uploads.Go(func() {
			if _, err := nodes[0].ReserveUpload(t.Context(), jobID, 100, quota); err == nil {
				admitted.Add(1) // and not yet stored
			}
		})
	}
	uploads.Wait()
	if got := admitted.Load(); got != 4 {
		t.Errorf("%d concurrent uploads were admitted, want 4", got)
	}
	done, err := nodes[0].ReserveUpload(t.Context(), uuid.New(), 100, recording.UploadQuota{Files: 1, Bytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	done(false) // a failed upload releases its reservation
}

// TestSlowCount checks that the uploads of a job wait for their count until their request
// ends, and those of other jobs do not wait for it.
func TestSlowCount(t *testing.T) {
	t.Parallel()
	r, slow, quota := openStorage(t, "file://"+t.TempDir()), uuid.New(), recording.UploadQuota{Files: 4, Bytes: 1000}
	counted, err := r.counts.counting.Acquire(t.Context(), slow.String(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer counted()
	if _, err := r.ReserveUpload(t.Context(), uuid.New(), 100, quota); err != nil {
		t.Errorf("another job: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ReserveUpload(ctx, slow, 100, quota); !errors.Is(err, context.Canceled) {
		t.Errorf("the same job: %v, want %v", err, context.Canceled)
	}
}
