package chaos

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// scale is the size of a measurement.
type scale struct {
	jobs    []int // numbers of scheduled jobs; the first is the baseline
	due     int
	within  time.Duration // period in which the due jobs start
	creates int
	strict  bool // apply the bounds for an idle machine
}

// scaleFromEnv returns the scale of STANDIN_TEST_JOBS, or a short one which only
// shows that nothing is lost.
func scaleFromEnv(t *testing.T) scale {
	t.Helper()
	most := int(envUint(t, "STANDIN_TEST_JOBS", 0))
	if most == 0 {
		return scale{jobs: []int{1000}, due: 60, within: 2 * time.Second, creates: 100}
	}
	sizes := []int{1000}
	if most > 100_000 {
		sizes = append(sizes, 100_000)
	}
	return scale{jobs: append(sizes, most), due: 2000, within: time.Minute, creates: 3000, strict: true}
}

// measured is the result of a run.
type measured struct {
	lateness, create time.Duration // 99th percentiles
	memory           int64         // peak memory of the node's process, in bytes
}

// TestScale checks with many scheduled jobs that due jobs get one bot each, on time,
// and that neither the time of creates nor the memory of the service grows.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	for name, open := range map[string]func(*testing.T, string) (dataDir, address string){
		"SQLite": func(t *testing.T, dir string) (string, string) {
			return dir, filepath.Join(dir, "standin.db")
		},
		"PostgreSQL": func(t *testing.T, dir string) (string, string) {
			private, err := storetest.Start(context.WithoutCancel(t.Context())) // other tests crash the shared server
			if err != nil {
				skipWithoutPostgres(t, err)
			}
			t.Cleanup(func() {
				if err := private.Stop(); err != nil {
					t.Error(err)
				}
			})
			address, err := private.NewDatabase(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return dir, address
		},
	} {
		t.Run(name, func(t *testing.T) {
			size := scaleFromEnv(t)
			if !size.strict {
				t.Parallel()
			}
			var first measured
			for i, jobs := range size.jobs {
				dir := filepath.Join(t.TempDir(), "only")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				_, address := open(t, dir)
				m := measure(t, filepath.Dir(dir), address, size, jobs)
				t.Logf("%d jobs scheduled, %d due within %s: lateness p99 %s; create p99 %s; memory %d MB",
					jobs, size.due, size.within, m.lateness, m.create, m.memory>>20)
				if i == 0 {
					first = m
				}
				m.check(t, size, first)
			}
		})
	}
}

// skipWithoutPostgres skips a test if PostgreSQL is missing, and fails it in CI.
func skipWithoutPostgres(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// check compares the result with the bounds: strict ones on an idle machine, and
// otherwise that nothing was a minute late.
func (m measured) check(t *testing.T, size scale, first measured) {
	t.Helper()
	maxLateness := time.Minute
	if size.strict {
		maxLateness = 50 * time.Millisecond
	}
	if m.lateness > maxLateness {
		t.Errorf("the p99 of lateness is %s, more than %s", m.lateness, maxLateness)
	}
	if !size.strict {
		return
	}
	if m.create > first.create*12/10 {
		t.Errorf("the p99 of create grew from %s to %s", first.create, m.create)
	}
	if m.memory > first.memory*12/10 {
		t.Errorf("the memory grew from %d to %d MB", first.memory>>20, m.memory>>20)
	}
}

// measure fills a database, starts a node on it, and measures it.
func measure(t *testing.T, dir, address string, size scale, jobs int) (m measured) {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	keys := &account.Keys{Store: s, Now: time.Now}
	key, secret, err := keys.Issue(t.Context(), "ada", "ada@example.com", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, key.ConsumerID, jobs, time.Now().Add(24*time.Hour), 30*24*time.Hour, job.Live)
	vacuum(t, address)

	n := newNode(t, dir, "only", address, folder(filepath.Join(dir, "recordings")))
	if !strings.HasPrefix(address, "postgres") {
		n.settings.DatabaseURL = ""
	}
	n.settings.DefaultTimeouts = true
	if err := n.start(); err != nil {
		t.Fatal(err)
	}
	starting, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := n.awaitHealthy(starting); err != nil {
		t.Fatal(err)
	}
	m.create = createP99(t, n, secret, size.creates)
	due := fill(t, s, key.ConsumerID, size.due, time.Now().Add(8*time.Second), size.within, job.Test)
	m.lateness = latenessP99(t, s, due)
	m.memory = peakMemory(t, n.process.Process.Pid)
	return m
}

// lobbyMetadata makes the bots of due jobs wait in a lobby with regular heartbeats.
const lobbyMetadata = `{"simulate": {"outcome": "lobby_timeout", "seconds": 20}}`

// fill inserts jobs whose joinAt is spread over a period, and returns their IDs.
func fill(t *testing.T, s *store.Store, consumer uuid.UUID, count int, from time.Time, over time.Duration, mode job.Mode) []uuid.UUID {
	t.Helper()
	const batch = 500
	ids := make([]uuid.UUID, 0, count)
	for begin := 0; begin < count; begin += batch {
		var added []uuid.UUID
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			added = added[:0]
			for i := begin; i < min(count, begin+batch); i++ {
				joinAt := from.Add(over / time.Duration(count) * time.Duration(i)).UTC().Truncate(time.Millisecond)
				r := job.Record{
					Job: job.Job{
						ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer, Mode: mode, ExternalID: uuid.NewString(),
						MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
						JoinAt: joinAt, CreatedAt: time.Now().UTC().Truncate(time.Millisecond), Metadata: json.RawMessage(lobbyMetadata),
						AutoLeave: job.DefaultAutoLeave(), State: job.New(),
					},
					StatusSince: time.Now(), WakeAt: joinAt,
				}
				if _, err := tx.InsertJob(ctx, r); err != nil {
					return err
				}
				added = append(added, r.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, added...)
	}
	return ids
}

// vacuum runs the maintenance that PostgreSQL runs within minutes after many writes.
func vacuum(t *testing.T, address string) {
	t.Helper()
	if !strings.HasPrefix(address, "postgres") {
		return
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// createP99 creates jobs over HTTP, one at a time.
func createP99(t *testing.T, n *node, key string, count int) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range count + 20 {
		body := fmt.Sprintf(`{"externalId": "%s", "meetingUrl": "https://meet.google.com/abc-defg-hij", "joinAt": "%s"}`,
			uuid.NewString(), time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url()+"/api/v1/jobs", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		start := time.Now()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("create job: %s", response.Status)
		}
		if i >= 20 { // the first ones warm up
			took = append(took, time.Since(start))
		}
	}
	return p99(took)
}

// latenessP99 waits until all due jobs have ended and returns the lateness of their
// launches. Each job must have had one attempt.
func latenessP99(t *testing.T, s *store.Store, due []uuid.UUID) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var latenesses []time.Duration
	for i := 0; i < len(due); {
		r, err := s.Job(ctx, due[i])
		if err != nil {
			t.Fatal(err)
		}
		if r.FailureCode == job.LobbyTimeout {
			if r.Attempts != 1 {
				t.Errorf("job %s took %d attempts", r.ID, r.Attempts)
			}
			latenesses = append(latenesses, r.LaunchedAt.Sub(r.JoinAt))
			i++
			continue
		}
		if r.Status.Terminal() {
			t.Fatalf("job %s is %s: %s", r.ID, r.Status, r.FailureDetail)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("job %s is %s since %s, joinAt %s", r.ID, r.Status, r.StatusSince, r.JoinAt)
		}
	}
	return p99(latenesses)
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// peakMemory returns the peak memory of a process in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(row, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("/proc has no VmHWM")
	return 0
}
