package retention

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// now is the current time of these tests. It must be close to the machine's clock,
// which determines the age of files.
var now = time.Now().UTC().Truncate(time.Millisecond)

const day = 24 * time.Hour

// harness is a Cleaner on a real database and real storage.
type harness struct {
	*Cleaner
	store   *store.Store
	storage *storage.Recordings
	folder  string
	jobs    *lifecycle.Service
	local   jobfiles.Files
}

func newHarness(t *testing.T, period Period) *harness {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "kept")
	return newHarnessOn(t, period, (&url.URL{Scheme: "file", Path: folder}).String(), folder)
}

// newHarnessOn is newHarness with storage at an address, which is in a folder.
func newHarnessOn(t *testing.T, period Period, address, folder string) *harness {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), address, s3.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(recordings.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	clock := func() time.Time { return now }
	dir := t.TempDir()
	local := jobfiles.Files{Recordings: recordings, DataDir: dir, Volumes: volumes(filepath.Join(dir, "volumes"))}
	if err := os.Mkdir(string(local.Volumes.(volumes)), 0o700); err != nil {
		t.Fatal(err)
	}
	jobs := lifecycle.New(lifecycle.Settings{Store: s, Recordings: local, Now: clock})
	t.Cleanup(jobs.Close)
	return &harness{store: s, storage: recordings, folder: folder, jobs: jobs, local: local, Cleaner: New(Settings{
		Store: s, Recordings: jobs, Files: local, Options: Options{Retention: period}, Now: clock, Log: slog.New(slog.DiscardHandler),
	})}
}

// consumer creates a consumer with its own retention, or with the default if own is
// nil.
func (h *harness) consumer(t *testing.T, own *time.Duration) uuid.UUID {
	t.Helper()
	c, err := h.store.EnsureConsumer(t.Context(), account.Consumer{ID: uuid.New(), Name: uuid.NewString(), WebhookVersion: 2, CreatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.ChangeConsumer(t.Context(), c.ID, func(c *account.Consumer) { c.Retention = own }); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// recorded creates a job that ended the given time ago, with a manifest, media and
// captures.
func (h *harness) recorded(t *testing.T, consumer uuid.UUID, ago time.Duration, change func(*job.Record)) uuid.UUID {
	t.Helper()
	r := job.Record{
		Job: job.Job{
			ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: job.Live, ExternalID: uuid.NewString(), Platform: job.Meet,
			CreatedAt: now, JoinAt: now, Metadata: []byte(`{}`), State: job.New(),
		},
		StatusSince: now, WakeAt: now,
	}
	save := func(fn func(ctx context.Context, tx *store.Tx) error) {
		if err := h.store.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	save(func(ctx context.Context, tx *store.Tx) error { _, err := tx.InsertJob(ctx, r); return err })
	r.Status, r.StatusSince, r.Attempts, r.WakeAt, r.ManifestURI = job.Completed, now.Add(-ago), 1, time.Time{}, "https://a.test/m"
	if change != nil {
		change(&r)
	}
	save(func(ctx context.Context, tx *store.Tx) error { return tx.SaveJob(ctx, store.JobChange{Record: r}) })
	h.write(t, r.ID, ago, "manifest.json", "media/recording.mp4", "uploads/0/capture-0.zip")
	return r.ID
}

// write writes files of the given age to a job's folder.
func (h *harness) write(t *testing.T, id uuid.UUID, ago time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(h.folder, "jobs", id.String(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
}

// files returns the names of a job's files.
func (h *harness) files(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	var names []string
	folder := filepath.Join(h.folder, "jobs", id.String())
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// runTasks runs all tasks once, and returns the names of those that fail.
func (h *harness) runTasks(t *testing.T) (failed []string) {
	t.Helper()
	tasks, err := h.tasks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if err := task.Run(t.Context()); err != nil {
			failed = append(failed, task.Name)
		}
	}
	return failed
}

// TestExpire checks that recordings are deleted after their consumer's retention.
func TestExpire(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Period(10*day))
	three, forever := 3*day, time.Duration(0)
	usual, short, long := h.consumer(t, nil), h.consumer(t, &three), h.consumer(t, &forever)
	gone := []uuid.UUID{h.recorded(t, usual, 10*day, nil), h.recorded(t, usual, 300*day, nil), h.recorded(t, short, 4*day, nil)}
	failed := h.recorded(t, usual, 11*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" })
	kept := []uuid.UUID{
		h.recorded(t, usual, 10*day-3*time.Minute, nil), h.recorded(t, short, 2*day, nil), h.recorded(t, long, 4000*day, nil),
		h.recorded(t, usual, 11*day, func(r *job.Record) { r.Status, r.WakeAt = job.RecordingStarted, now }),
		h.recorded(t, usual, 11*day, func(r *job.Record) { r.WakeAt = now }),
	}
	h.runTasks(t)
	for _, id := range append(gone, failed) {
		r, err := h.store.Job(t.Context(), id)
		if left := h.files(t, id); len(left) > 0 || err != nil || r.RecordingErasedAt.IsZero() || r.RecordingDeletedBy != "retention" {
			t.Errorf("files %v of an expired recording remain: %+v, %v", left, r, err)
		}
	}
	for i, id := range kept {
		if left := h.files(t, id); len(left) != 3 {
			t.Errorf("recording %d: only %v remain", i, left)
		}
	}
}

// TestExpireManyRecordings checks that more recordings than a batch are deleted.
func TestExpireManyRecordings(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Period(day))
	consumer := h.consumer(t, nil)
	for range 2*batch + 1 {
		h.recorded(t, consumer, 2*day, nil)
	}
	var group sync.WaitGroup
	for range 2 { // two nodes
		group.Go(func() { h.runTasks(t) })
	}
	group.Wait()
	left := 0
	if err := h.storage.ListJobs(t.Context(), func(recording.JobUsage) error { left++; return nil }); err != nil || left > 0 {
		t.Errorf("%d recordings remain, %v", left, err)
	}
}

// broken cannot delete what belongs to a job.
type broken struct {
	Recordings
	jobfiles.Volumes
	id    uuid.UUID
	fail  func(ctx context.Context) error
	tries atomic.Int32
}

func (b *broken) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	if id == b.id {
		b.tries.Add(1)
		return b.fail(ctx)
	}
	return b.Recordings.ExpireRecording(ctx, id)
}

func (b *broken) RemoveSpools(ctx context.Context, id uuid.UUID) error {
	if id == b.id {
		b.tries.Add(1)
		return b.fail(ctx)
	}
	return b.Volumes.RemoveSpools(ctx, id)
}

// TestFailedDeletion checks that the first of ten recordings or jobs, which cannot be deleted,
// does not stop the deletion of the others, and is tried again.
func TestFailedDeletion(t *testing.T) {
	t.Parallel()
	fails := func(context.Context) error { return errors.New("storage unavailable") }
	for name, test := range map[string]struct {
		fail   func(ctx context.Context) error
		change func(*job.Record)
	}{
		"expired":     {fail: fails},
		"interrupted": {fails, func(r *job.Record) { r.RecordingDeletedAt, r.RecordingDeletedBy = now.Add(-time.Hour), "consumer" }},
		"old":         {fails, func(r *job.Record) { r.Status, r.ManifestURI, r.Attempts = job.Failed, "", 0 }},
		"hanging":     {fail: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"panicking":   {fail: func(context.Context) error { panic("nil map") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, began := newHarness(t, Period(day)), time.Now()
				h.JobRetention = Period(day)
				h.Now = func() time.Time { return now.Add(time.Since(began)) }
				consumer := h.consumer(t, nil)
				var ids []uuid.UUID
				for i := range 10 {
					ids = append(ids, h.recorded(t, consumer, time.Duration(100-i)*day, test.change))
				}
				b := &broken{Recordings: h.Recordings, Volumes: h.Files.Volumes, id: ids[0], fail: test.fail}
				h.Recordings, h.Files.Volumes = b, b
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { h.Run(ctx) })
				time.Sleep(time.Hour)
				stop()
				running.Wait()
				for _, id := range ids[1:] {
					if left := h.files(t, id); len(left) > 0 {
						t.Errorf("files %v remain", left)
					}
				}
				if n := b.tries.Load(); n < 2 || n > 20 {
					t.Errorf("it was tried %d times in an hour", n)
				}
			})
		})
	}
}

// TestUnfinishedDeletion checks that an interrupted deletion by a consumer is
// completed, while nothing else is deleted that is kept forever.
func TestUnfinishedDeletion(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Forever)
	begun := func(ago time.Duration) uuid.UUID {
		return h.recorded(t, h.consumer(t, nil), day, func(r *job.Record) {
			r.RecordingDeletedAt, r.RecordingDeletedBy = now.Add(-ago), "consumer"
		})
	}
	old, running := begun(time.Hour), begun(time.Minute)
	kept := h.recorded(t, h.consumer(t, nil), 4000*day, nil) // forever
	if failed := h.runTasks(t); len(failed) > 0 || len(h.files(t, kept)) != 3 {
		t.Errorf("failed: %v; files %v", failed, h.files(t, kept))
	}
	if len(h.files(t, old)) > 0 || len(h.files(t, running)) == 0 {
		t.Errorf("files of the interrupted deletion: %v, of one in progress: %v", h.files(t, old), h.files(t, running))
	}
}

// TestLeftovers checks that only unused files are found and removed, and that files of
// jobs missing from the database are removed only on request.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Forever)
	consumer := h.consumer(t, nil)
	unknown, fresh := uuid.New(), uuid.New()
	h.write(t, unknown, 2*day, "manifest.json", "media/recording.mp4")
	h.write(t, fresh, 23*time.Hour, "manifest.json")
	finished := h.recorded(t, consumer, 2*day, nil)
	h.write(t, finished, 2*day, "uploads/0/recording-000-000000.mp4s", "uploads/1/report.json")
	erased := h.recorded(t, consumer, 2*day, func(r *job.Record) {
		r.RecordingDeletedAt, r.RecordingErasedAt = now, now
	})
	torn := h.recorded(t, consumer, 2*day, nil)
	h.write(t, torn, 2*day, "media/recording.mp4.18f.tmp")
	minAge := map[uuid.UUID]int{fresh: 1}
	keep := func(id uuid.UUID, more ...string) {
		h.write(t, id, 2*day, more...)
		minAge[id] = len(h.files(t, id))
	}
	keep(h.recorded(t, consumer, 2*day, nil))
	keep(h.recorded(t, consumer, 2*day, func(r *job.Record) {
		r.Status, r.WakeAt = job.Finalizing, now
	}), "uploads/0/recording-000-000000.mp4s")
	keep(h.recorded(t, consumer, 2*day, func(r *job.Record) { r.WakeAt = now }), "uploads/0/recording-000-000000.mp4s")
	keep(h.recorded(t, consumer, 6*day, func(r *job.Record) {
		r.Status, r.ManifestURI = job.Failed, ""
	}), "uploads/0/recording-000-000000.mp4s")
	failed := h.recorded(t, consumer, 8*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" })
	cancelled := h.recorded(t, consumer, 8*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Cancelled, "" })
	h.write(t, failed, 8*day, "uploads/0/recording-000-000000.mp4s")
	h.write(t, cancelled, 8*day, "uploads/0/recording-000-000000.mp4s")
	keep(h.recorded(t, consumer, 2*day, func(r *job.Record) {
		r.Status, r.ManifestURI, r.WakeAt = job.Failed, "", now
	}), "uploads/0/recording-000-000000.mp4s")

	want := map[uuid.UUID]Reason{unknown: NoSuchJob, finished: Finished, erased: Deleted, torn: Unfinished, failed: Ended, cancelled: Ended}
	found := h.leftovers(t)
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
	for _, one := range found {
		if want[one.JobID] != one.Reason {
			t.Errorf("%+v, want %q", one, want[one.JobID])
		}
	}
	if err := h.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := []string{"manifest.json", "media/recording.mp4", "uploads/0/capture-0.zip"}
	for id, want := range map[uuid.UUID][]string{
		unknown: whole[:2], finished: whole, erased: nil, torn: whole, failed: whole, cancelled: whole,
	} {
		if got := h.files(t, id); !slices.Equal(got, want) {
			t.Errorf("after the sweep: files %v, want %v", got, want)
		}
	}
	for id, files := range minAge {
		if got := h.files(t, id); len(got) != files {
			t.Errorf("of a job in use: files %v, want %d", got, files)
		}
	}
	left := h.leftovers(t)
	if len(left) != 1 || left[0].Reason != NoSuchJob {
		t.Fatalf("leftovers after the sweep: %v", left)
	}
	if err := h.Remove(t.Context(), left[0]); err != nil || len(h.files(t, unknown)) > 0 {
		t.Errorf("remove: %v", err)
	}
}

func (h *harness) leftovers(t *testing.T) []Leftover {
	t.Helper()
	var found []Leftover
	err := h.Leftovers(t.Context(), func(one Leftover) error {
		found = append(found, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// signalRecordings closes done when a recording is deleted.
type signalRecordings struct {
	Recordings
	done chan struct{}
}

func (n signalRecordings) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	defer close(n.done)
	return n.Recordings.ExpireRecording(ctx, id)
}

// TestRun checks that Run deletes expired recordings immediately and returns when its
// context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Period(day))
	h.recorded(t, h.consumer(t, nil), 2*day, nil)
	deleted := signalRecordings{h.Recordings, make(chan struct{})}
	h.Recordings = deleted
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	<-deleted.done
	stop()
	running.Wait()
}

func TestParsePeriod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Period{
		"30d": Period(30 * day), "1d": Period(day), "720h": Period(30 * day), "90m": Period(90 * time.Minute), "forever": Forever,
	} {
		got, err := ParsePeriod(text)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if retryDelay, err := ParsePeriod(got.String()); err != nil || retryDelay != got {
			t.Errorf("%q is formatted as %q, which parses as %v, %v", text, got, retryDelay, err)
		}
	}
	for _, text := range []string{"", "30", "-1d", "1.5d", "0", "0d", "10s", "-5h", "d", "9999999999d", "for ever"} {
		if got, err := ParsePeriod(text); err == nil || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
