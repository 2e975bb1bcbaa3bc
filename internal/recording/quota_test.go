package recording

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

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
