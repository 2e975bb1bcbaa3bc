package retention

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/testing/s3test"
)

// botFiles are the files in the folder of a bot that was killed while it packed its
// recording.
func botFiles() []string {
	return []string{
		"bot.log", "bot.lock", "config.json", "spool/events.log", "spool/media/recording-000-000000.mp4s",
		"spool/media/capture-0.zip", "browser-0/Default/Cookies", "packed/recording.mp4",
	}
}

// volumes are the spools that an engine keeps, in a folder for each bot.
type volumes string

func (v volumes) Spools(context.Context) (map[uuid.UUID]time.Time, error) {
	jobs := make(map[uuid.UUID]time.Time)
	return jobs, v.each(func(key launch.Key, path string) error {
		info, err := os.Stat(path)
		if err == nil && info.ModTime().After(jobs[key.JobID]) {
			jobs[key.JobID] = info.ModTime()
		}
		return err
	})
}

func (v volumes) RemoveSpools(_ context.Context, jobID uuid.UUID) error {
	return v.each(func(key launch.Key, path string) error {
		if key.JobID != jobID {
			return nil
		}
		return os.RemoveAll(path)
	})
}

func (v volumes) each(do func(key launch.Key, path string) error) error {
	entries, err := os.ReadDir(string(v))
	for _, entry := range entries {
		if key, ok := launch.ParseKey(entry.Name()); ok {
			err = errors.Join(err, do(key, filepath.Join(string(v), entry.Name())))
		}
	}
	return err
}

// killed creates the files that the bot of an attempt leaves on this machine and in its
// engine when it is killed, last changed some time ago. It returns the temporary folder of its browser.
func (h *harness) killed(t testing.TB, id uuid.UUID, attempt int, ago time.Duration, names ...string) (temporary string) {
	t.Helper()
	folder := filepath.Join(h.local.DataDir, "bots", launch.Key{JobID: id, Attempt: attempt}.String())
	for _, name := range names {
		writeFile(t, filepath.Join(folder, name))
		if filepath.Dir(filepath.Dir(name)) == "browser-0" {
			temporary = filepath.Join(h.local.DataDir, "standin-browser-"+uuid.NewString())
			writeFile(t, filepath.Join(temporary, "download"))
			if err := os.Symlink(temporary, filepath.Join(folder, "browser-0", "tmp")); err != nil {
				t.Fatal(err)
			}
		}
	}
	volume := filepath.Join(string(h.local.Volumes.(volumes)), filepath.Base(folder))
	writeFile(t, filepath.Join(volume, "spool", "events.log"))
	for _, path := range []string{folder, volume} {
		if err := os.Chtimes(path, time.Time{}, now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	return temporary
}

func writeFile(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("what somebody said"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// everything returns all files of the storage and of this machine.
func (h *harness) everything(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, folder := range []string{h.folder, h.local.DataDir} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestSweepLocal checks which files of jobs on this machine are removed while the
// service runs.
func TestSweepLocal(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Forever)
	consumer := h.consumer(t, nil)
	logs := []string{"bot.lock", "bot.log"}
	for name, test := range map[string]struct {
		change  func(*job.Record)
		unknown bool
		age     time.Duration
		left    []string
	}{
		"the job runs": {func(r *job.Record) {
			r.Status, r.ManifestURI, r.WakeAt = job.RecordingStarted, "", now
		}, false, 8 * day, botFiles()},
		"it is not cleaned up":         {func(r *job.Record) { r.WakeAt = now }, false, 8 * day, botFiles()},
		"its recording is finished":    {nil, false, time.Minute, logs},
		"its recording was deleted":    {func(r *job.Record) { r.RecordingDeletedAt, r.RecordingErasedAt = now, now }, false, time.Minute, nil},
		"it failed":                    {func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" }, false, time.Hour, botFiles()},
		"it failed days ago":           {func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" }, false, 6 * day, botFiles()},
		"it ended a week ago":          {nil, false, 7 * day, nil},
		"nobody knows it":              {nil, true, 23 * time.Hour, botFiles()},
		"nobody has known it for long": {nil, true, day, nil},
	} {
		id := uuid.New()
		if !test.unknown {
			id = h.recorded(t, consumer, time.Hour, test.change)
		}
		h.killed(t, id, 0, test.age, botFiles()...)
		if err := h.sweepLocal(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left []string
		folder := filepath.Join(h.local.DataDir, "bots", id.String()+"-0")
		for _, path := range h.everything(t) {
			if relative, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(relative) && filepath.Base(relative) != "tmp" {
				left = append(left, relative)
			}
		}
		spools, err := h.local.Volumes.Spools(t.Context())
		if _, kept := spools[id]; err != nil || kept != (len(test.left) > 0) {
			t.Errorf("%s: the spool in the engine is kept: %v (%v)", name, kept, err)
		}
		want := slices.Sorted(slices.Values(test.left))
		if slices.Sort(left); !slices.Equal(left, want) {
			t.Errorf("%s: %v is left, want %v", name, left, want)
		}
	}
}

// TestNothingIsLeft checks that after each way of deleting, nothing of a job is left
// anywhere, whatever its bots left on this machine and in storage.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	checkNothingIsLeft(t, newHarness(t, Period(10*day)))
}

// TestNothingIsLeftOnS3 is TestNothingIsLeft with recordings in a bucket. It sets
// environment variables, so it does not run in parallel.
func TestNothingIsLeftOnS3(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	for name, value := range s3test.Environment() {
		t.Setenv(name, value)
	}
	bucket := s3test.Start(t)
	checkNothingIsLeft(t, newHarnessOn(t, Period(10*day), bucket.Address(), bucket.Folder()))
}

func checkNothingIsLeft(t *testing.T, base *harness) {
	rapid.Check(t, func(rt *rapid.T) {
		h := *base
		caller := account.Caller{ConsumerID: h.consumer(t, nil), Mode: job.Live}
		ended := rapid.SampledFrom([]job.Status{job.Completed, job.Failed, job.Cancelled}).Draw(rt, "status")
		id := h.recorded(t, caller.ConsumerID, 11*day, func(r *job.Record) {
			if r.Status = ended; ended != job.Completed {
				r.ManifestURI = ""
			}
		})
		other := h.recorded(t, h.consumer(t, nil), time.Hour, nil)
		h.killed(t, other, 0, time.Minute, botFiles()...)
		stored := rapid.SliceOfDistinct(rapid.SampledFrom([]string{
			"uploads/0/recording-000-000000.mp4s", "uploads/1/report.json", "uploads/1/capture-1.zip", "media/chat.json", "media/transcript.json",
			"media/recording.mp4.18f.tmp",
		}), rapid.ID[string]).Draw(rt, "stored")
		h.write(t, id, day, stored...)
		var temporary []string
		for attempt := range rapid.IntRange(0, 3).Draw(rt, "attempts") {
			left := rapid.SliceOfNDistinct(rapid.SampledFrom(botFiles()), 1, -1, rapid.ID[string]).Draw(rt, "files of a bot")
			temporary = append(temporary, h.killed(t, id, attempt, time.Minute, left...))
		}
		if rapid.Bool().Draw(rt, "working") {
			writeFile(t, filepath.Join(h.local.DataDir, recording.WorkPrefix(id)+"finish-1", "part-000.mp4"))
			writeFile(t, filepath.Join(h.local.DataDir, recording.WorkPrefix(id)+"transcript", "piece.wav"))
		}
		before := len(h.everything(t))

		var err error
		switch way := rapid.SampledFrom([]string{"request", "retention", "job retention", "consumer"}).Draw(rt, "way"); way {
		case "request":
			err = h.jobs.DeleteRecording(t.Context(), caller, id)
		case "retention":
			err = h.jobs.ExpireRecording(t.Context(), id)
		case "job retention":
			if err = h.jobs.ExpireRecording(t.Context(), id); err == nil {
				err = h.eraseJobs(t.Context(), caller.ConsumerID, Period(time.Millisecond))
			}
		case "consumer":
			_, err = h.DeleteConsumer(t.Context(), caller.ConsumerID)
		}
		if err != nil {
			rt.Fatal(err)
		}
		after := h.everything(t)
		for _, path := range after {
			if strings.Contains(path, id.String()) || slices.ContainsFunc(temporary, func(folder string) bool {
				return folder != "" && strings.HasPrefix(path, folder)
			}) {
				rt.Errorf("%s is left", path)
			}
		}
		if len(after) == before {
			rt.Error("nothing was deleted")
		}
		if others := h.files(t, other); len(others) != 3 {
			rt.Errorf("of another job only %v is left", others)
		}
		if _, err := os.Stat(filepath.Join(h.local.DataDir, "bots", other.String()+"-0", "spool/media/capture-0.zip")); err != nil {
			rt.Errorf("the spool of another job: %v", err)
		}
	})
}
