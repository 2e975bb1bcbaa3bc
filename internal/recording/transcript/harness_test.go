package transcript

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/store"
	"standin/internal/testing/storetest"
	"standin/internal/testing/testprocess"
	"standin/internal/testing/world"
)

// harness is a Worker in a world with a clock that the test advances.
type harness struct {
	*Worker
	*world.World
	clock  *world.Clock
	client *Client
}

// newHarness returns a harness whose recognizer is a server with this handler.
func newHarness(t *testing.T, recognizer http.HandlerFunc) *harness {
	t.Helper()
	server := httptest.NewServer(recognizer)
	t.Cleanup(server.Close)
	client, err := NewClient(Config{URL: server.URL, APIKey: "secret-key", Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	clock := world.NewClock()
	w := world.New(t, storetest.FreshSQLite(t), clock.Now)
	return &harness{World: w, clock: clock, client: client, Worker: NewWorker(Settings{
		Queue: w.Store, Jobs: w.Service, Storage: w.Storage, Recognizer: client, BaseURL: world.BaseURL,
		TempDir: t.TempDir(), Now: clock.Now, Log: slog.New(slog.DiscardHandler),
	})}
}

// finalized inserts a job whose recording was just finalized and is due for
// transcription. files are local media files by their entry in the manifest.
func (h *harness) finalized(t *testing.T, m recording.Manifest, files map[string]string) job.Record {
	t.Helper()
	ctx := t.Context()
	j := h.NewJob(t)
	r := h.Update(t, j.ID, func(_ context.Context, c *lifecycle.Change) error {
		c.Status, c.Attempts, c.ManifestURI = job.Completed, 1, "https://standin.test/manifest"
		return nil
	})
	m.SchemaVersion, m.JobID, m.ExternalID, m.Platform = 1, r.ID.String(), r.ExternalID, "meet"
	m.Timeline.RecordingStartedAt = recording.Instant{Time: h.clock.Now()}
	for i, media := range m.Media {
		content, err := os.ReadFile(files[media.Name])
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		m.Media[i].SHA256, m.Media[i].Bytes = hex.EncodeToString(sum[:]), int64(len(content))
		if err := h.Storage.PutMedia(ctx, r.ID, media.Name, bytes.NewReader(content), m.Media[i].SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Storage.PutManifest(ctx, r.ID, m); err != nil {
		t.Fatal(err)
	}
	if err := h.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertRecordingTask(ctx, r.ID, job.TranscriptTask, h.clock.Now())
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// document returns the stored transcript; false without one.
func (h *harness) document(t *testing.T, id uuid.UUID) (Document, bool) {
	t.Helper()
	content, _, err := h.Storage.OpenMedia(t.Context(), id, FileName)
	if recording.IsNotFound(err) {
		return Document{}, false
	}
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	d, err := Read(content)
	if err != nil {
		t.Fatal(err)
	}
	return d, true
}

// tone returns an audio file with a tone from 0 to a second, and silence until the
// end, and its entry in a manifest.
func tone(t *testing.T, name string, length time.Duration) (recording.Media, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	tones.Lock()
	defer tones.Unlock()
	if tones.byLength[length] == nil {
		tones.byLength[length] = testprocess.Run(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=300:duration=1,apad=whole_dur="+
			strconv.Itoa(int(length.Seconds())),
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
