package transcript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// harness is a Worker on a real database and real storage, with a clock that the
// test advances.
type harness struct {
	*Worker
	store   *store.Store
	client  *Client
	storage *storage.Recordings
	jobs    *lifecycle.Service

	mu  sync.Mutex
	now time.Time
}

// newHarness returns a harness whose recognizer is a server with this handler.
func newHarness(t *testing.T, recognizer http.HandlerFunc) *harness {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.FreshSQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(t.TempDir(), "kept")}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(recordings.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(recognizer)
	t.Cleanup(server.Close)
	client, err := NewClient(Config{URL: server.URL, APIKey: "secret-key", Timeout: 2 * time.Minute}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{store: s, storage: recordings, client: client, now: time.Now().UTC().Truncate(time.Millisecond)}
	h.jobs = lifecycle.New(lifecycle.Settings{Store: s, Recordings: recordings, Now: h.clock})
	h.Worker = NewWorker(Settings{
		Queue: s, Jobs: h.jobs, Storage: recordings, Recognizer: client, BaseURL: "https://standin.test",
		TempDir: t.TempDir(), Now: h.clock, Log: slog.New(slog.DiscardHandler),
	})
	return h
}

func (h *harness) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *harness) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// finalized inserts a job whose recording was just finalized and is due for
// transcription. files are local media files by their entry in the manifest.
func (h *harness) finalized(t *testing.T, m recording.Manifest, files map[string]string) job.Record {
	t.Helper()
	ctx := t.Context()
	c, err := h.store.EnsureConsumer(ctx, account.Consumer{ID: uuid.New(), Name: uuid.NewString(), WebhookVersion: 2, CreatedAt: h.clock()})
	if err != nil {
		t.Fatal(err)
	}
	r := job.Record{Job: job.Job{
		ID: uuid.Must(uuid.NewV7()), ConsumerID: c.ID, Mode: job.Live, ExternalID: uuid.NewString(), MeetingURL: "https://meet.google.com/abc-defg-hij",
		Platform: job.Meet, DisplayName: "Bot", JoinAt: h.clock(), CreatedAt: h.clock(), Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(),
		State: job.State{Status: job.Completed, Attempts: 1, ManifestURI: "https://standin.test/manifest"},
	}, StatusSince: h.clock()}
	m.SchemaVersion, m.JobID, m.ExternalID, m.Platform = 1, r.ID.String(), r.ExternalID, "meet"
	m.Timeline.RecordingStartedAt = recording.Instant{Time: h.clock()}
	for i, media := range m.Media {
		content, err := os.ReadFile(files[media.Name])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		m.Media[i].SHA256, m.Media[i].Bytes = hex.EncodeToString(sum[:]), int64(len(content))
		if err := h.storage.PutMedia(ctx, r.ID, media.Name, bytes.NewReader(content), m.Media[i].SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.storage.PutManifest(ctx, r.ID, m); err != nil {
		t.Fatal(err)
	}
	err = h.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.InsertJob(ctx, r); err != nil {
			return err
		}
		return tx.InsertTranscription(ctx, r.ID, h.clock())
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// document returns the stored transcript; false without one.
func (h *harness) document(t *testing.T, id uuid.UUID) (Document, bool) {
	t.Helper()
	content, size, _, err := h.storage.OpenMedia(t.Context(), id, FileName)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return Document{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	text := make([]byte, size)
	if _, err := content.Read(text); err != nil {
		t.Fatal(err)
	}
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d, true
}

// entries returns the data of the job's timeline entries of a kind.
func (h *harness) entries(t *testing.T, id uuid.UUID, kind job.Trigger) (data []string) {
	t.Helper()
	all, err := h.store.Timeline(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Kind == kind {
			data = append(data, string(e.Data))
		}
	}
	return data
}

// run runs a tool and skips the test, or fails it in CI, when it is missing.
func run(t *testing.T, tool string, arguments ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing; run scripts/setup.sh test", tool)
		}
		t.Skipf("%s is missing; run scripts/setup.sh test", tool)
	}
	output, err := exec.CommandContext(t.Context(), path, arguments...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return output
}

// tone returns an audio file with a tone from 0 to a second, and silence until the
// end, and its entry in a manifest.
func tone(t *testing.T, name string, length time.Duration) (recording.Media, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	tones.Lock()
	defer tones.Unlock()
	if tones.byLength[length] == nil {
		tones.byLength[length] = run(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=300:duration=1,apad=whole_dur="+strconv.Itoa(int(length.Seconds())),
			"-c:a", "libopus", "-movflags", "+empty_moov", "-f", "mp4", "-")
	}
	if err := os.WriteFile(path, tones.byLength[length], 0o600); err != nil {
		t.Fatal(err)
	}
	return recording.Media{File: recording.File{
		Name: name, Kind: recording.Audio, ContentType: "audio/mp4", Codecs: "opus", DurationMs: length.Milliseconds(),
	}}, path
}

// tones are the files that tone has encoded.
var tones = struct {
	sync.Mutex
	byLength map[time.Duration][]byte
}{byLength: map[time.Duration][]byte{}}
