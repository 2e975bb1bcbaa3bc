package recording

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

// What a bot that is gone has on its disk is stored as if it had been uploaded;
// what it did upload stays as it is.
func TestTakeLeftover(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage *Storage) {
		jobID := uuid.New()
		left := LeftoverSpool{Attempt: 1, Folder: t.TempDir()}
		if err := storage.ImportLeftover(t.Context(), jobID, left); err != nil {
			t.Errorf("a bot that never kept anything: %v", err)
		}
		folder := filepath.Join(left.Folder, ingest.SpoolDir, ingest.SpoolMediaDir)
		if err := os.MkdirAll(filepath.Join(folder, "recording-000-000009.mp4s"), 0o700); err != nil { // no file
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			ingest.SegmentName(0, 0): "first",
			ingest.SegmentName(0, 1): "other",
			ingest.SegmentName(0, 2): "third one",
			ingest.ReportName:        `{"attempt":1}`,
			"no media name!":         "x",
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(t, storage, jobID, 0, ingest.SegmentName(0, 2), "of another attempt")
		put(t, storage, jobID, 1, ingest.SegmentName(0, 0), "first")
		put(t, storage, jobID, 1, ingest.SegmentName(0, 1), "uploaded with other content")
		put(t, storage, jobID, 1, ingest.ReportName, "{}")
		for range 2 { // it may be repeated
			if err := storage.ImportLeftover(t.Context(), jobID, left); err != nil {
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
