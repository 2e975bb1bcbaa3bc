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
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/store"
)

// now is when these tests take place. Files are as old as the machine's clock
// says, so it must not be far from that.
var now = time.Now().UTC().Truncate(time.Millisecond)

const day = 24 * time.Hour

// harness is a Keeper on a real database and real storage.
type harness struct {
	*Cleaner
	store   *store.Store
	storage *recording.Storage
	folder  string
}

func newHarness(t *testing.T, period Period) *harness {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "standin.db"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "kept")
	storage, err := recording.OpenStorage(t.Context(), (&url.URL{Scheme: "file", Path: folder}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(storage.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	clock := func() time.Time { return now }
	jobs := lifecycle.New(lifecycle.Settings{Store: s, Recordings: storage, Now: clock})
	return &harness{store: s, storage: storage, folder: folder, Cleaner: New(Settings{
		Store: s, Recordings: jobs, Storage: storage, Retention: period, Now: clock, Log: slog.New(slog.DiscardHandler),
	})}
}

// consumer keeps a consumer.
func (w *harness) consumer(t *testing.T, own *time.Duration) uuid.UUID {
	t.Helper()
	c, err := w.store.EnsureConsumer(t.Context(), account.Consumer{ID: uuid.New(), Name: uuid.NewString(), WebhookVersion: 2, CreatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.SetRetention(t.Context(), c.Name, own); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// recorded keeps a job that ended so long ago, with a manifest, media and
// diagnostics.
func (w *harness) recorded(t *testing.T, consumer uuid.UUID, ago time.Duration, change func(*job.Record)) uuid.UUID {
	t.Helper()
	r := job.Record{
		Job: job.Job{
			ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: job.Live, ExternalID: uuid.NewString(), Platform: job.Meet,
			CreatedAt: now, JoinAt: now, Metadata: []byte(`{}`), State: job.New(),
		},
		StatusSince: now, WakeAt: now,
	}
	save := func(fn func(q *store.Queries) error) {
		if err := w.store.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	save(func(q *store.Queries) error { _, err := q.InsertJob(t.Context(), r); return err })
	r.Status, r.StatusSince, r.Attempts, r.WakeAt, r.ManifestURI = job.Completed, now.Add(-ago), 1, time.Time{}, "https://a.test/m"
	if change != nil {
		change(&r)
	}
	save(func(q *store.Queries) error { return q.SaveJob(t.Context(), r) })
	w.write(t, r.ID, ago, "manifest.json", "media/recording.mp4", "uploads/0/diagnostics-page.png")
	return r.ID
}

// write puts files into a job's folder, as old as is said.
func (w *harness) write(t *testing.T, id uuid.UUID, ago time.Duration, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(w.folder, "jobs", id.String(), filepath.FromSlash(name))
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

// there lists the files of a job.
func (w *harness) there(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	var names []string
	folder := filepath.Join(w.folder, "jobs", id.String())
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

// TestExpire deletes what is older than its consumer wants it kept, and looks
// again when the next one's time is up.
func TestExpire(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Period(10*day))
	three, forever := 3*day, time.Duration(0)
	usual, short, long := w.consumer(t, nil), w.consumer(t, &three), w.consumer(t, &forever)
	gone := []uuid.UUID{w.recorded(t, usual, 10*day, nil), w.recorded(t, usual, 300*day, nil), w.recorded(t, short, 4*day, nil)}
	failed := w.recorded(t, usual, 11*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" })
	kept := []uuid.UUID{
		w.recorded(t, usual, 10*day-3*time.Minute, nil), w.recorded(t, short, 2*day, nil), w.recorded(t, long, 4000*day, nil),
		w.recorded(t, usual, 11*day, func(r *job.Record) { r.Status, r.WakeAt = job.RecordingStarted, now }),
		w.recorded(t, usual, 11*day, func(r *job.Record) { r.WakeAt = now }),
	}
	if next := w.expire(t.Context()); next.After(now) {
		t.Errorf("looks again at %v, want at once", next)
	}
	for _, id := range append(gone, failed) {
		r, err := w.store.Job(t.Context(), id)
		if left := w.there(t, id); len(left) > 0 || err != nil || r.RecordingErasedAt.IsZero() || r.RecordingDeletedBy != "retention" {
			t.Errorf("%v are left of a recording whose time is up: %+v, %v", left, r, err)
		}
	}
	for i, id := range kept {
		if left := w.there(t, id); len(left) != 3 {
			t.Errorf("kept %d: only %v are left", i, left)
		}
	}
	if next := w.expire(t.Context()); !next.Equal(now.Add(3 * time.Minute)) {
		t.Errorf("looks again in %v, want in 3 minutes", next.Sub(now))
	}
}

// TestForever: nothing is deleted, and hardly anything asked.
func TestForever(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Forever)
	id := w.recorded(t, w.consumer(t, nil), 4000*day, nil)
	if next := w.expire(t.Context()); !next.Equal(now.Add(maxSleep)) || len(w.there(t, id)) != 3 {
		t.Errorf("looks again at %v; %v are left", next, w.there(t, id))
	}
}

// TestManyExpire: more than are looked up at a time.
func TestManyExpire(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Period(day))
	consumer := w.consumer(t, nil)
	for range 2*batch + 1 {
		w.recorded(t, consumer, 2*day, nil)
	}
	var group sync.WaitGroup
	for range 2 { // as two nodes do
		group.Go(func() { w.expire(t.Context()) })
	}
	group.Wait()
	left := 0
	if err := w.storage.ListJobs(t.Context(), func(recording.JobUsage) error { left++; return nil }); err != nil || left > 0 {
		t.Errorf("%d are left, %v", left, err)
	}
}

// away deletes nothing of one job.
type away struct {
	Recordings
	id uuid.UUID
}

func (a away) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	if id == a.id {
		return errors.New("the storage is away")
	}
	return a.Recordings.ExpireRecording(ctx, id)
}

// TestDeletionThatFails keeps no other from being deleted, and is tried again
// in a while.
func TestDeletionThatFails(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Period(day))
	consumer := w.consumer(t, nil)
	stuck, free := w.recorded(t, consumer, 3*day, nil), w.recorded(t, consumer, 2*day, nil)
	working := w.Recordings
	w.Recordings = away{working, stuck}
	if next := w.expire(t.Context()); !next.Equal(now.Add(retryDelay)) {
		t.Errorf("looks again in %v", next.Sub(now))
	}
	if len(w.there(t, stuck)) == 0 || len(w.there(t, free)) > 0 {
		t.Errorf("left of the one that fails: %v, of the other: %v", w.there(t, stuck), w.there(t, free))
	}
	w.Recordings = working
	if w.expire(t.Context()); len(w.there(t, stuck)) > 0 {
		t.Error("it was not tried again")
	}
}

// TestUnfinishedDeletion is brought to its end, whoever began it.
func TestUnfinishedDeletion(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Forever)
	begun := func(ago time.Duration) uuid.UUID {
		return w.recorded(t, w.consumer(t, nil), day, func(r *job.Record) {
			r.RecordingDeletedAt, r.RecordingDeletedBy = now.Add(-ago), "consumer"
		})
	}
	old, running := begun(time.Hour), begun(time.Minute)
	w.expire(t.Context())
	if len(w.there(t, old)) > 0 || len(w.there(t, running)) == 0 {
		t.Errorf("left of the old one: %v, of one that may run: %v", w.there(t, old), w.there(t, running))
	}
}

// TestLeftovers finds and removes what nobody needs, and nothing else; of jobs
// that the database does not know only when it is asked to.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Forever)
	consumer := w.consumer(t, nil)
	unknown, fresh := uuid.New(), uuid.New()
	w.write(t, unknown, 2*day, "manifest.json", "media/recording.mp4")
	w.write(t, fresh, 23*time.Hour, "manifest.json")
	finished := w.recorded(t, consumer, 2*day, nil)
	w.write(t, finished, 2*day, "uploads/0/recording-000-000000.mp4s", "uploads/1/report.json")
	erased := w.recorded(t, consumer, 2*day, func(r *job.Record) {
		r.RecordingDeletedAt, r.RecordingErasedAt = now, now
	})
	torn := w.recorded(t, consumer, 2*day, nil)
	w.write(t, torn, 2*day, "media/recording.mp4.18f.tmp")
	minAge := map[uuid.UUID]int{fresh: 1}
	keep := func(id uuid.UUID, more ...string) {
		w.write(t, id, 2*day, more...)
		minAge[id] = len(w.there(t, id))
	}
	keep(w.recorded(t, consumer, 2*day, nil))
	keep(w.recorded(t, consumer, 2*day, func(r *job.Record) { r.Status, r.WakeAt = job.Finalizing, now }), "uploads/0/recording-000-000000.mp4s")
	keep(w.recorded(t, consumer, 2*day, func(r *job.Record) { r.WakeAt = now }), "uploads/0/recording-000-000000.mp4s")
	failed := w.recorded(t, consumer, 2*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Failed, "" })
	cancelled := w.recorded(t, consumer, 2*day, func(r *job.Record) { r.Status, r.ManifestURI = job.Cancelled, "" })
	w.write(t, failed, 2*day, "uploads/0/recording-000-000000.mp4s")
	w.write(t, cancelled, 2*day, "uploads/0/recording-000-000000.mp4s")
	keep(w.recorded(t, consumer, 2*day, func(r *job.Record) { r.Status, r.ManifestURI, r.WakeAt = job.Failed, "", now }), "uploads/0/recording-000-000000.mp4s")

	want := map[uuid.UUID]Reason{unknown: NoSuchJob, finished: Finished, erased: Deleted, torn: Unfinished, failed: Ended, cancelled: Ended}
	found := w.leftovers(t)
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
	for _, one := range found {
		if want[one.JobID] != one.Reason {
			t.Errorf("%+v, want %q", one, want[one.JobID])
		}
	}
	w.sweep(t.Context())
	whole := []string{"manifest.json", "media/recording.mp4", "uploads/0/diagnostics-page.png"}
	for id, want := range map[uuid.UUID][]string{unknown: whole[:2], finished: whole, erased: nil, torn: whole, failed: whole, cancelled: whole} {
		if got := w.there(t, id); !slices.Equal(got, want) {
			t.Errorf("after clearing up %v are there, want %v", got, want)
		}
	}
	for id, files := range minAge {
		if got := w.there(t, id); len(got) != files {
			t.Errorf("of what is needed %v are left, want %d files", got, files)
		}
	}
	left := w.leftovers(t)
	if len(left) != 1 || left[0].Reason != NoSuchJob {
		t.Fatalf("left over afterwards: %v", left)
	}
	if err := w.Remove(t.Context(), left[0]); err != nil || len(w.there(t, unknown)) > 0 {
		t.Errorf("removed by hand: %v", err)
	}
}

func (w *harness) leftovers(t *testing.T) []Leftover {
	t.Helper()
	var found []Leftover
	err := w.Leftovers(t.Context(), func(one Leftover) error {
		found = append(found, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// noticed closes done when a recording is deleted.
type noticed struct {
	Recordings
	done chan struct{}
}

func (n noticed) ExpireRecording(ctx context.Context, id uuid.UUID) error {
	defer close(n.done)
	return n.Recordings.ExpireRecording(ctx, id)
}

// TestRun works at once, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newHarness(t, Period(day))
	w.recorded(t, w.consumer(t, nil), 2*day, nil)
	deleted := noticed{w.Recordings, make(chan struct{})}
	w.Recordings = deleted
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
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
			t.Errorf("%q is written as %q, and read as %v, %v", text, got, retryDelay, err)
		}
	}
	for _, text := range []string{"", "30", "-1d", "1.5d", "0", "0d", "10s", "-5h", "d", "9999999999d", "for ever"} {
		if got, err := ParsePeriod(text); err == nil || !strings.Contains(err.Error(), "30d") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
