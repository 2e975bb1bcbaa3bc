package jobfiles_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/jobfiles"
	"standin/internal/launch/process"
	"standin/internal/recording"
	"standin/internal/recording/storage"
)

// spools are the volumes of an engine.
type spools struct {
	jobs    map[uuid.UUID]time.Time
	removed []uuid.UUID
	err     error
}

func (s *spools) Spools(context.Context) (map[uuid.UUID]time.Time, error) { return s.jobs, s.err }

func (s *spools) RemoveSpools(_ context.Context, id uuid.UUID) error {
	s.removed = append(s.removed, id)
	return s.err
}

// newFiles returns the files of a job and of others: names relative to the data folder, of which
// jobs/ is the storage.
func newFiles(t *testing.T, id, other uuid.UUID) (jobfiles.Files, *spools) {
	t.Helper()
	dir := t.TempDir()
	recordings, err := storage.Open(t.Context(), "file://"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recordings.Close() })
	for _, name := range []string{
		"bots/" + id.String() + "-0/" + process.LogFile, "bots/" + id.String() + "-0/spool/part", "bots/" + id.String() + "-1/spool/part",
		"bots/" + other.String() + "-0/spool/part", "bots/no-job/file", "work-" + id.String() + "-finish-1/part", "work-" + other.String() +
			"-finish-1/part", "sounds/x/file",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	temporary := filepath.Join(t.TempDir(), "standin-browser-1") // of a bot's browser
	profile := filepath.Join(dir, "bots", id.String()+"-1", "browser-0")
	if err := errors.Join(os.Mkdir(temporary, 0o700), os.Mkdir(profile, 0o700),
		os.Symlink(temporary, filepath.Join(profile, "tmp"))); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	for _, job := range []uuid.UUID{id, other} {
		for _, name := range []string{"report.json", "capture-0.zip"} {
			if _, err := recordings.PutUpload(t.Context(), job, 0, name, strings.NewReader("x"), hex.EncodeToString(sum[:]), 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := recordings.PutManifest(t.Context(), job, recording.Manifest{JobID: job.String()}); err != nil {
			t.Fatal(err)
		}
	}
	volumes := &spools{jobs: map[uuid.UUID]time.Time{id: time.Now().Add(time.Hour)}}
	return jobfiles.Files{Recordings: recordings, DataDir: dir, Volumes: volumes}, volumes
}

// filesOf returns the files below the data folder whose paths contain a text.
func filesOf(t *testing.T, f jobfiles.Files, text string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(f.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if name := strings.TrimPrefix(path, f.DataDir+"/"); err == nil && !entry.IsDir() && strings.Contains(name, text) &&
			!strings.HasSuffix(name, ".attrs") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDelete(t *testing.T) {
	t.Parallel()
	id, other := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		remove  func(context.Context, jobfiles.Files) error
		left    []string
		volumes bool // are removed too
	}{
		"recording": {func(ctx context.Context, f jobfiles.Files) error { return f.DeleteRecording(ctx, id) }, nil, true},
		"uploads": {func(ctx context.Context, f jobfiles.Files) error { return f.DeleteUploads(ctx, id) }, []string{
			"bots/" + id.String() + "-0/" + process.LogFile, "jobs/" + id.String() + "/manifest.json", "jobs/" + id.String() +
				"/uploads/0/capture-0.zip",
			"work-" + id.String() + "-finish-1/part",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, volumes := newFiles(t, id, other)
			link, err := os.Readlink(filepath.Join(f.DataDir, "bots", id.String()+"-1", "browser-0", "tmp"))
			if err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, f, other.String())
			for range 2 { // it may be repeated
				if err := c.remove(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
			if left := filesOf(t, f, id.String()); !slices.Equal(left, c.left) {
				t.Errorf("left are %q, want %q", left, c.left)
			}
			if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the temporary files of a browser are left: %v", err)
			}
			if after := filesOf(t, f, other.String()); !slices.Equal(after, before) ||
				len(filesOf(t, f, "no-job"))+len(filesOf(t, f, "sounds")) != 2 {
				t.Errorf("of others are left %q, want %q", after, before)
			}
			if removed := slices.Contains(volumes.removed, id); removed != c.volumes {
				t.Errorf("removed the spools of %v", volumes.removed)
			}
		})
	}
	f, volumes := newFiles(t, id, other)
	volumes.err = errors.New("the engine is away")
	if err := f.DeleteRecording(t.Context(), id); !errors.Is(err, volumes.err) || len(filesOf(t, f, id.String())) > 0 {
		t.Errorf("without the engine: %v, left are %q", err, filesOf(t, f, id.String()))
	}
}

func TestLocalJobs(t *testing.T) {
	t.Parallel()
	id, other := uuid.New(), uuid.New()
	f, volumes := newFiles(t, id, other)
	found, err := f.LocalJobs(t.Context())
	if err != nil || len(found) != 2 || !found[id].Equal(volumes.jobs[id]) || found[other].IsZero() || found[other].After(time.Now()) {
		t.Errorf("jobs %v (%v)", found, err)
	}
	leftovers, err := f.Spools(id)
	if err != nil || len(leftovers) != 2 || leftovers[1].Attempt != 1 || filepath.Dir(leftovers[1].Folder) != jobfiles.BotsDir(f.DataDir) {
		t.Errorf("spools %+v (%v)", leftovers, err)
	}
	volumes.jobs, volumes.err = nil, errors.New("the engine is away")
	if found, err := f.LocalJobs(t.Context()); !errors.Is(err, volumes.err) || len(found) != 2 {
		t.Errorf("without the engine: %v (%v)", slices.Collect(maps.Keys(found)), err)
	}
	empty := jobfiles.Files{DataDir: filepath.Join(f.DataDir, "missing")}
	if found, err := empty.LocalJobs(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("a folder that is missing: %v (%v)", found, err)
	}
}
