package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/fsutil"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/operation/backup"
	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/store/dump"
	"standin/internal/testing/storetest"
)

var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// timeout bounds every wait of these tests.
const timeout = 2 * time.Minute

// node is a service in this process with a key of the simulator.
type node struct {
	*service.Service
	t   *testing.T
	key string
}

// start starts a service on a data directory and a database, which is empty for
// SQLite.
func start(t *testing.T, dir, database, key string) *node {
	t.Helper()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{
			DataDir: dir, DatabaseURL: database,
		}, LauncherSettings: service.LauncherSettings{Launcher: "manual"},
		KeySettings: service.KeySettings{IngestSigningKey: "the ingest signing key"}, Dispatch: dispatch.Options{Lease: time.Second},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Service: s, t: t, key: key}
	if key == "" {
		if _, n.key, err = s.Keys.Issue(t.Context(), "ada", "", job.Test); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func (n *node) stop() {
	n.t.Helper()
	if err := n.Close(); err != nil {
		n.t.Errorf("close the service: %v", err)
	}
}

// call calls the API and decodes the response into out.
func (n *node) call(ctx context.Context, method, path string, body, out any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, n.BaseURL()+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+n.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s (%w)", method, path, response.Status, text, err)
	}
	return json.Unmarshal(text, out)
}

// create creates a job and returns its ID.
func (n *node) create(ctx context.Context, externalID, hook string, joinAt time.Time) (string, error) {
	var created struct{ ID string }
	err := n.call(ctx, http.MethodPost, "/api/v1/jobs", map[string]any{
		"externalId": externalID, "meetingUrl": "https://meet.google.com/abc-defg-hij", "joinAt": joinAt.Format(time.RFC3339),
		"metadata": map[string]any{"simulate": map[string]any{"outcome": "success", "speed": 100}},
		"webhooks": map[string]string{"onFinalize": hook},
	}, &created)
	return created.ID, err
}

// finalized returns a receiver that sends the job IDs of job.finalized events.
func finalized(t *testing.T) (url string, jobs <-chan string) {
	t.Helper()
	received := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct {
			Event string
			Data  struct{ ID, JobID string }
		}
		text, _ := io.ReadAll(r.Body)
		if json.Unmarshal(text, &event) == nil && event.Event == "job.finalized" {
			received <- string(text)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, received
}

// waitFor waits for the event of a job.
func waitFor(t *testing.T, events <-chan string, id string) {
	t.Helper()
	deadline := time.After(timeout)
	for {
		select {
		case text := <-events:
			if strings.Contains(text, id) {
				return
			}
		case <-deadline:
			t.Fatalf("no job.finalized of job %s", id)
		}
	}
}

// load creates jobs until it is stopped.
type load struct {
	mu           sync.Mutex
	acknowledged []string
	enough       chan struct{} // closed when the load runs
	workers      sync.WaitGroup
}

// startLoad starts two clients that create jobs.
func startLoad(t *testing.T, n *node, hook string) (l *load, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l = &load{enough: make(chan struct{})}
	for worker := range 2 {
		l.workers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				joinAt := time.Now().Add(24 * time.Hour)
				if i%10 == 0 { // it runs during the backup
					joinAt = time.Now()
				}
				id, err := n.create(ctx, fmt.Sprintf("load-%d-%d", worker, i), hook, joinAt)
				if err != nil && ctx.Err() == nil {
					t.Errorf("create a job: %v", err)
					return
				}
				if err == nil {
					l.acknowledge(id)
				}
			}
		})
	}
	return l, func() { cancel(); l.workers.Wait() }
}

func (l *load) acknowledge(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged = append(l.acknowledged, id)
	if len(l.acknowledged) == 20 {
		close(l.enough)
	}
}

func (l *load) jobs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.acknowledged...)
}

// TestRestoreUnderLoad backs up a service while clients create jobs, and restores
// it: every job acknowledged before the backup is there with its timeline, the
// restored service starts, lists, runs a job and delivers its webhook, and the
// recordings are complete.
func TestRestoreUnderLoad(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		source, target, folder := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "backup")
		database, restored := "", ""
		if store.IsPostgres(address) {
			database, restored = address, cluster.Empty(t)
		}
		hook, events := finalized(t)
		first := start(t, source, database, "")
		recorded, err := first.create(t.Context(), "recorded", hook, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, events, recorded)
		later, err := first.create(t.Context(), "later", hook, time.Now().Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		clients, stop := startLoad(t, first, hook)
		select {
		case <-clients.enough:
		case <-time.After(timeout):
			t.Fatal("the load creates no jobs")
		}
		before := append(clients.jobs(), recorded, later)
		made, err := backup.Create(t.Context(), settingsOf(source, database, folder, backup.AutoRecordings))
		stop()
		first.stop()
		if err != nil {
			t.Fatal(err)
		}
		if made.Recorded == 0 || len(made.Problems) > 0 {
			t.Errorf("recordings: %d, %v", made.Recorded, made.Problems)
		}
		result, err := backup.Restore(t.Context(), settingsOf(target, restored, folder, backup.CheckRecordings))
		if err != nil {
			t.Fatal(err)
		}
		if result.Recorded == 0 || result.Recorded > made.Recorded || len(result.Problems) > 0 { // jobs ended between the two parts of the backup
			t.Errorf("restored recordings: %d, %v", result.Recorded, result.Problems)
		}
		checkMedia(t, settingsOf(source, database, folder, backup.AutoRecordings), target, recorded)
		checkWhole(t, service.DatabaseAddress(restored, target), before)
		second := start(t, target, restored, first.key)
		defer second.stop()
		checkRestored(t, second, before, made.Rows("jobs"))
		if err := second.call(t.Context(), http.MethodPatch, "/api/v1/jobs/"+later, map[string]any{"joinAt": time.Now().Format(time.RFC3339)},
			new(any)); err != nil {
			t.Fatal(err)
		}
		waitFor(t, events, later)
	})
}

// checkMedia damages a job's media in the storage, without changing their size, and checks that those that were
// restored to target, and those of the next backup, are as they were in the first one. Others are copied again.
func checkMedia(t *testing.T, next backup.Settings, target, id string) {
	t.Helper()
	first := next.Dir
	media, err := filepath.Glob(filepath.Join(next.DataDir, "recordings", "jobs", id, "media", "*"))
	if err != nil || len(media) == 0 {
		t.Fatalf("media: %v, %v", media, err)
	}
	for _, path := range media {
		content, err := os.ReadFile(path)
		if err := errors.Join(err, os.Remove(path), os.WriteFile(path, make([]byte, len(content)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"next": 0, filepath.Join("elsewhere", "next"): len(media)} {
		next.Dir = filepath.Join(filepath.Dir(first), name)
		if made, err := backup.Create(t.Context(), next); err != nil || len(made.Problems) != want {
			t.Errorf("%s: problems %v, want %d (%v)", name, made.Problems, want, err)
		}
	}
	for _, path := range media {
		file := filepath.Join("recordings", "jobs", id, "media", filepath.Base(path))
		_, want, err := fsutil.HashFile(filepath.Join(first, file))
		for _, dir := range []string{target, filepath.Join(filepath.Dir(first), "next")} {
			if _, sum, other := fsutil.HashFile(filepath.Join(dir, file)); sum != want || errors.Join(err, other) != nil {
				t.Errorf("%s has the SHA-256 %s, want %s (%v, %v)", file, sum, want, err, other)
			}
		}
	}
}

// settingsOf locates a service. An empty database is the SQLite file.
func settingsOf(dir, database, folder string, mode backup.RecordingsMode) backup.Settings {
	return backup.Settings{
		Dir: folder, DataDir: dir, Database: service.DatabaseAddress(database, dir), Storage: service.StorageAddress("", dir),
		Recordings: mode, Version: "test",
	}
}

// checkWhole checks that nothing is half-written: each job that has changed has the
// status that its timeline ends with.
func checkWhole(t *testing.T, database string, jobs []string) {
	t.Helper()
	s, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range jobs {
		r, err := s.Job(t.Context(), uuid.MustParse(id))
		if err != nil {
			t.Errorf("job %s: %v", id, err)
			continue
		}
		entries, err := s.Timeline(t.Context(), r.ID)
		entries = slices.DeleteFunc(entries, func(e job.TimelineEntry) bool { return !e.Applied })
		want := job.Scheduled
		if len(entries) > 0 {
			want = entries[len(entries)-1].To
		}
		if err != nil || r.Status != want {
			t.Errorf("job %s is %s, and its timeline ends with %s (%v)", id, r.Status, want, err)
		}
	}
}

// checkRestored checks that a service lists the jobs that the backup has, among
// them those acknowledged before.
func checkRestored(t *testing.T, n *node, want []string, rows int64) {
	t.Helper()
	found := map[string]bool{}
	for cursor := ""; ; {
		path := "/api/v1/jobs?limit=100"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		var page struct {
			Jobs       []struct{ ID string }
			NextCursor *string
		}
		if err := n.call(t.Context(), http.MethodGet, path, nil, &page); err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Jobs {
			found[j.ID] = true
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	if int64(len(found)) != rows {
		t.Errorf("the service lists %d jobs, and the backup has %d", len(found), rows)
	}
	for _, id := range want {
		if !found[id] {
			t.Errorf("job %s, acknowledged before the backup, is missing", id)
		}
	}
}

// TestRestoreRefuses checks what a restore does not accept, and that --force keeps
// the replaced SQLite file.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "backup")
		database := ""
		if store.IsPostgres(address) {
			database = address
		}
		n := start(t, dir, database, "")
		n.stop()
		if _, err := backup.Create(t.Context(), settingsOf(dir, database, folder, backup.CheckRecordings)); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Create(t.Context(), settingsOf(dir, database, folder, backup.CheckRecordings)); err == nil ||
			!strings.Contains(err.Error(), "not empty") {
			t.Errorf("a second backup in the folder: %v", err)
		}
		restore := settingsOf(dir, database, folder, backup.CheckRecordings)
		if _, err := backup.Restore(t.Context(), restore); !errors.Is(err, dump.ErrNotEmpty) {
			t.Errorf("restore over data: %v", err)
		}
		restore.Force = true
		if _, err := backup.Restore(t.Context(), restore); err != nil {
			t.Errorf("forced restore: %v", err)
		}
		if aside, err := filepath.Glob(filepath.Join(dir, "standin.db.replaced-*")); err != nil || database == "" && len(aside) != 1 {
			t.Errorf("replaced files: %v, %v", aside, err)
		}
		for name, change := range map[string]func(text string) string{
			"newer schema": func(text string) string {
				return strings.Replace(text, `"schemaVersion": `, `"schemaVersion": 9`, 1)
			},
			"other format":        func(text string) string { return strings.Replace(text, `"format": 1`, `"format": 2`, 1) },
			"other checksum":      func(text string) string { return strings.Replace(text, `"bytes": `, `"bytes": 1`, 1) },
			"outside the folder":  func(text string) string { return strings.Replace(text, `"path": "`, `"path": "../`, 1) },
			"other rows":          func(text string) string { return strings.Replace(text, `"rows": `, `"rows": 7`, 1) },
			"no JSON":             func(string) string { return "{" },
			"the other engine":    func(text string) string { return swapEngine(text) },
			"a table is missing":  func(text string) string { return strings.Replace(text, `"name": "api_keys"`, `"name": "keys"`, 1) },
			"unfinished (no end)": nil,
		} {
			changed := restore
			changed.Dir = changeDescription(t, folder, change)
			if _, err := backup.Restore(t.Context(), changed); err == nil {
				t.Errorf("%s: the backup is restored", name)
			}
		}
		if _, err := backup.Restore(t.Context(), restore); err != nil {
			t.Errorf("restore after the errors: %v", err)
		}
	})
}

func swapEngine(text string) string {
	if strings.Contains(text, `"engine": "sqlite"`) {
		return strings.Replace(text, `"engine": "sqlite"`, `"engine": "postgres"`, 1)
	}
	return strings.Replace(text, `"engine": "postgres"`, `"engine": "sqlite"`, 1)
}

// changeDescription copies a backup with a changed description, or without one.
func changeDescription(t *testing.T, folder string, change func(string) string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backup")
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "backup.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if change == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMissingRecordings checks that a backup reports recordings whose files are
// missing or have another size, and not those that were deleted, and that only the owner can
// read it.
func TestMissingRecordings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ingest.key"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	hook, events := finalized(t)
	n := start(t, dir, "", "")
	defer n.stop()
	var ids []string
	for i := range 3 {
		id, err := n.create(t.Context(), fmt.Sprint(i), hook, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		waitFor(t, events, id)
		ids = append(ids, id)
	}
	for i, change := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 1) },
	} {
		media, err := filepath.Glob(filepath.Join(dir, "recordings", "jobs", ids[i], "media", "*"))
		if err != nil || len(media) == 0 {
			t.Fatalf("media of job %s: %v, %v", ids[i], media, err)
		}
		if err := change(media[0]); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []backup.RecordingsMode{backup.CheckRecordings, backup.CopyRecordings} {
		folder := filepath.Join(t.TempDir(), "backup")
		made, err := backup.Create(t.Context(), settingsOf(dir, "", folder, mode))
		if err != nil {
			t.Fatal(err)
		}
		if mode == backup.CheckRecordings { // copies of recordings have the permissions of the storage
			checkPrivate(t, folder)
		}
		if made.Recorded != 3 || len(made.Problems) != 2 || made.Problems[0].JobID == made.Problems[1].JobID {
			t.Errorf("%s: %d recordings, problems %v", mode, made.Recorded, made.Problems)
		}
	}
}

// checkPrivate checks that only the owner can read a backup.
func checkPrivate(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "ingest.key")); err != nil {
		t.Error(err)
	}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v)", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
