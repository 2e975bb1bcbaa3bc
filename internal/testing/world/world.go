// Package world builds what tests of jobs need: a database, a storage of recordings, the service of jobs, and a team.
package world

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording/build"
	"standin/internal/recording/storage"
	"standin/internal/store"
)

// The addresses of the service and of the webhooks of its jobs.
const (
	BaseURL     = "https://standin.test"
	StatusURL   = "https://hooks.test/status"
	FinalizeURL = "https://hooks.test/final"
)

// Clock is a clock that a test sets. It never goes back.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows the current time.
func NewClock() *Clock { return &Clock{now: time.Now().UTC().Truncate(time.Millisecond)} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock, unless it shows a later time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.now) {
		c.now = now
	}
}

// Advance sets the clock to a time after the one that it shows.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// World is a service of jobs on a real database and a real storage, with a team.
type World struct {
	*lifecycle.Service
	Store     *store.Store
	Folder    string // of Recordings
	Storage   *storage.Recordings
	Files     jobfiles.Files
	Finalizer *dispatch.Finalizer
	Events    *event.Publisher // of all services
	Caller    account.Caller   // a key of the team
}

// New returns a world on a new database with a clock.
func New(t *testing.T, database string, now func() time.Time) *World {
	t.Helper()
	return NewIn(t, database, filepath.Join(t.TempDir(), "kept"), now)
}

// NewIn is New with recordings in a folder.
func NewIn(t *testing.T, database, folder string, now func() time.Time) *World {
	t.Helper()
	s, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: folder}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(recordings.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	files := jobfiles.Files{Recordings: recordings, DataDir: t.TempDir()}
	w := &World{Store: s, Folder: folder, Storage: recordings, Files: files, Events: new(event.Publisher)}
	w.Finalizer = &dispatch.Finalizer{Store: s, Files: files, Finisher: &build.Finisher{
		Storage: recordings, BaseURL: BaseURL, TempDir: files.DataDir, Log: slog.New(slog.DiscardHandler),
	}}
	w.Service = w.NewService(t, now)
	w.Caller = w.NewCaller(t)
	return w
}

// NewService returns another service, such as that of another node, with a clock.
func (w *World) NewService(t *testing.T, now func() time.Time) *lifecycle.Service {
	t.Helper()
	key, err := calendarsync.NewKey([]byte("the key of all services"))
	if err != nil {
		t.Fatal(err)
	}
	s := lifecycle.New(lifecycle.Settings{
		Store: w.Store, Finalizer: w.Finalizer, Recordings: w.Files, BaseURL: BaseURL, Now: now, Events: w.Events, Sealer: key,
	})
	t.Cleanup(s.Close)
	return s
}

// NewCaller creates a team and returns a key of it.
func (w *World) NewCaller(t *testing.T) account.Caller {
	t.Helper()
	c, err := w.Store.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: uuid.NewString(), WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: w.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return account.Caller{KeyID: uuid.New(), ConsumerID: c.ID, Mode: job.Live}
}

// Request returns a valid request for a new job that is due at once.
func Request(externalID string) lifecycle.NewJob {
	return lifecycle.NewJob{
		ExternalID: externalID, MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
		Webhooks: job.Webhooks{OnStatusChange: StatusURL, OnFinalize: FinalizeURL},
		Metadata: json.RawMessage(`{"ticket":7}`), AutoLeave: job.DefaultAutoLeave(),
	}
}

// T has the methods that *testing.T and *rapid.T share.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// NewJob creates a job of the team, whose request is changed.
func (w *World) NewJob(t T, change ...func(*lifecycle.NewJob)) job.Job {
	t.Helper()
	request := Request(uuid.NewString())
	for _, fn := range change {
		fn(&request)
	}
	j, replayed, err := w.Create(context.Background(), w.Caller, request)
	if err != nil || replayed {
		t.Fatalf("create a job: %v (replayed %v)", err, replayed)
	}
	return j
}

// Update changes a job as the dispatcher does.
func (w *World) Update(t T, id uuid.UUID, change func(ctx context.Context, c *lifecycle.Change) error) job.Record {
	t.Helper()
	r, err := w.Change(context.Background(), id, change)
	if err != nil {
		t.Fatalf("change the job: %v", err)
	}
	return r
}

// Record returns the stored job.
func (w *World) Record(t T, id uuid.UUID) job.Record {
	t.Helper()
	r, err := w.Store.Job(context.Background(), id)
	if err != nil {
		t.Fatalf("read the job: %v", err)
	}
	return r
}

// Entries returns the entries of the timeline, or those of some kinds.
func (w *World) Entries(t T, id uuid.UUID, kinds ...job.Trigger) []job.TimelineEntry {
	t.Helper()
	entries, err := w.Store.Timeline(context.Background(), id)
	if err != nil {
		t.Fatalf("read the timeline: %v", err)
	}
	return slices.DeleteFunc(entries, func(e job.TimelineEntry) bool { return len(kinds) > 0 && !slices.Contains(kinds, e.Kind) })
}

// Data returns the data of the timeline's entries of a kind.
func (w *World) Data(t T, id uuid.UUID, kind job.Trigger) (data []string) {
	t.Helper()
	for _, e := range w.Entries(t, id, kind) {
		data = append(data, string(e.Data))
	}
	return data
}

// Upload stores what a bot uploads.
func (w *World) Upload(t T, id uuid.UUID, attempt int, name string, content []byte) {
	t.Helper()
	sum := sha256.Sum256(content)
	if _, err := w.Storage.PutUpload(context.Background(), id, attempt, name, bytes.NewReader(content), hex.EncodeToString(sum[:]),
		1<<24); err != nil {
		t.Fatalf("upload %s: %v", name, err)
	}
}
