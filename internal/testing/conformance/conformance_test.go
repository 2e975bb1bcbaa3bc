package conformance_test

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"standin/client"
	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording/speech"
	"standin/internal/server/service"
)

const folder = "../../../clients"

// rows returns the names of clients/conformance.json.
func rows(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "conformance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Rows map[string]string `json:"rows"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(list.Rows))
}

// pagedJobs is more than a page of a list.
const pagedJobs = 101

// world is a running service, a client with a test key, whose jobs are simulated, and what
// the tests of a client need to know.
type world struct {
	*client.Client
	base, secret, key string
	keys              *account.Keys
	live              *client.Client
	faults            string // URL of a proxy that breaks requests

	uploadJob, uploadToken string                     // a job that a bot may upload files for
	recorded               func() (client.Job, error) // a job that has been recorded
}

const (
	signingKey = "key"
	meetURL    = "https://meet.google.com/abc-defg-hij"

	// quick is the metadata of a simulated job that takes a second or two.
	quick = `{"simulate": {"seconds": 12, "speed": 20}, "captions": true, "chat": true}`
)

// parallelTests is the number of rows that run at once. Most of their time, they wait for
// simulated bots.
const parallelTests = "16"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallelTests); err != nil { // before the flags are parsed
		panic(err)
	}
	os.Exit(m.Run())
}

// silence returns a tenth of a second of silence, as a WAV file.
func silence() []byte {
	const size = 3200
	file := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	binary.LittleEndian.PutUint32(file[4:], 36+size)
	binary.LittleEndian.PutUint32(file[40:], size)
	return append(file, make([]byte, size)...)
}

func newWorld(t *testing.T) world {
	t.Helper()
	speaker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(silence()) }))
	t.Cleanup(speaker.Close)
	w := world{secret: "whsec_c2VjcmV0IG9mIHRoaXMgdGVzdA=="}
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: t.TempDir()},
		LauncherSettings: service.LauncherSettings{Launcher: "manual"}, KeySettings: service.KeySettings{IngestSigningKey: signingKey},
		EventSettings: service.EventSettings{WebhookSecret: w.secret}, Speech: speech.Config{URL: speaker.URL},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections() // the service waits for new ones
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	w.base, w.keys, w.faults = s.BaseURL(), s.Keys, newFaults(t, s.BaseURL())
	w.Client, w.key = w.team(t, "ada", job.Test)
	w.live, _ = w.team(t, "ada", job.Live)
	var pages []client.NewJob
	for number := range pagedJobs {
		pages = append(pages, client.NewJob{
			ExternalID: fmt.Sprintf("page %d", number), MeetingURL: meetURL, JoinAt: later(), Metadata: json.RawMessage(`{"list":"pages"}`),
		})
	}
	for some := range slices.Chunk(pages, 50) {
		if _, err := w.CreateJobs(t.Context(), some); err != nil {
			t.Fatal(err)
		}
	}
	created, _, err := w.live.CreateJob(t.Context(), client.NewJob{ExternalID: "upload", MeetingURL: meetURL})
	if err != nil {
		t.Fatal(err)
	}
	w.uploadJob, w.uploadToken = created.ID, ingest.Token([]byte(signingKey), created.ID, 0)
	ctx := t.Context()
	w.recorded = sync.OnceValues(func() (client.Job, error) {
		created, _, err := w.CreateJob(ctx, client.NewJob{ExternalID: "recorded", MeetingURL: meetURL, Metadata: json.RawMessage(quick)})
		if err != nil {
			return created, err
		}
		return w.WaitUntilDone(ctx, created.ID, 0)
	})
	return w
}

// team returns a client with a new key of a team, and the key.
func (w world) team(t *testing.T, name string, mode job.Mode) (*client.Client, string) {
	t.Helper()
	_, key, err := w.keys.Issue(t.Context(), name, name+"@example.com", mode)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(w.base+"/", key)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

// later returns a time after the end of the test.
func later() *time.Time {
	at := time.Now().Add(time.Hour)
	return &at
}
