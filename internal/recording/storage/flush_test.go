package storage

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
)

// flushes records what a storage folder makes durable.
type flushes struct {
	mu    sync.Mutex
	root  string
	paths []string // relative to root, in order
}

func (f *flushes) add(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	relative, err := filepath.Rel(f.root, path)
	if err != nil {
		relative = path
	}
	f.paths = append(f.paths, filepath.ToSlash(relative))
}

// take returns what was made durable since the last call, with * for the names
// of temporary files.
func (f *flushes) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := slices.Clone(f.paths)
	f.paths = nil
	for i, path := range taken {
		if strings.HasSuffix(path, unfinishedSuffix) {
			taken[i] = filepath.ToSlash(filepath.Join(filepath.Dir(path), "*"))
		}
	}
	return taken
}

func (f *flushes) disk() disk {
	return disk{
		syncFile: func(file *os.File) error {
			f.add(file.Name())
			return file.Sync()
		},
		syncDir: func(path string) error {
			f.add(path)
			return fsutil.Sync(path)
		},
	}
}

// TestFlushes checks what a storage folder makes durable for each object: the
// file and its folder, and for a new folder its parent, which comes first.
func TestFlushes(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if err := os.WriteFile(filepath.Join(parent, "other"), nil, 0o600); err != nil { // an empty folder counts as new
		t.Fatal(err)
	}
	flushed := &flushes{root: parent}
	storage, err := openFolder(&url.URL{Scheme: "file", Path: filepath.Join(parent, "deep", "storage")}, flushed.disk())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = storage.Close() })
	if got, want := flushed.take(), []string{".", "deep"}; !slices.Equal(got, want) {
		t.Errorf("a new storage flushes %q, want %q", got, want)
	}
	put(t, storage, uuid.New(), 0, ingest.SegmentName(0, 0), "a") // the storage is no longer empty
	flushed.take()
	jobID := uuid.New()
	folder := "deep/storage/jobs/" + jobID.String()
	steps := []struct {
		name string
		put  func()
		want []string
	}{
		{
			"the first upload of a job", func() { put(t, storage, jobID, 0, ingest.SegmentName(0, 0), "a") },
			[]string{"deep/storage/jobs", folder, folder + "/uploads", folder + "/uploads/0/*", folder + "/uploads/0"},
		},
		{
			"another upload", func() { put(t, storage, jobID, 0, ingest.SegmentName(0, 1), "b") },
			[]string{folder + "/uploads/0/*", folder + "/uploads/0"},
		},
		{
			"the first upload of an attempt", func() { put(t, storage, jobID, 1, ingest.SegmentName(0, 0), "c") },
			[]string{folder + "/uploads", folder + "/uploads/1/*", folder + "/uploads/1"},
		},
		{"a repeated upload", func() { put(t, storage, jobID, 1, ingest.SegmentName(0, 0), "c") }, nil},
		{
			"a replaced report", func() {
				put(t, storage, jobID, 1, ingest.ReportName, "1")
				flushed.take()
				put(t, storage, jobID, 1, ingest.ReportName, "2")
			}, []string{folder + "/uploads/1/*", folder + "/uploads/1"},
		},
	}
	for _, step := range steps {
		step.put()
		if got := flushed.take(); !slices.Equal(got, step.want) {
			t.Errorf("%s flushes %q, want %q", step.name, got, step.want)
		}
	}
}
