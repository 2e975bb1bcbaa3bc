package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// The size of the measurement.
const (
	dueJobs = 2000 // start within a minute
	creates = 3000
)

// measured is the result of a run.
type measured struct {
	lateness, create time.Duration // 99th percentiles
	memory           int64         // peak memory of the node's process, in bytes
}

// TestScale checks, if STANDIN_TEST_JOBS is set (make scale), with that many scheduled jobs and fewer
// before that due jobs get one bot each, on time, and that neither the time of creates nor the memory
// of the service grows. It needs an idle machine.
func TestScale(t *testing.T) {
	most := int(envUint(t, "STANDIN_TEST_JOBS", 0))
	if most == 0 {
		t.Skip("STANDIN_TEST_JOBS is not set; make scale sets it")
	}
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		t.Run(database, func(t *testing.T) {
			var first measured
			for _, jobs := range []int{1000, min(100_000, most), most} {
				dir := t.TempDir()
				address := filepath.Join(dir, "only", "standin.db")
				if err := os.MkdirAll(filepath.Dir(address), 0o700); err != nil {
					t.Fatal(err)
				}
				if database == "PostgreSQL" {
					address = cluster.Fresh(t)
				}
				m := measure(t, dir, address, jobs)
				t.Logf("%d jobs scheduled: lateness p99 %s; create p99 %s; memory %d MB", jobs, m.lateness, m.create, m.memory>>20)
				if first.create == 0 {
					first = m
				}
				if m.lateness > 50*time.Millisecond || m.create > first.create*12/10 || m.memory > first.memory*12/10 {
					t.Errorf("%d jobs: want a lateness of at most 50ms, and at most 1.2 times the time of a create and the memory of the first run", jobs)
				}
			}
		})
	}
}

// measure fills a database, starts a node on it, and measures it.
func measure(t *testing.T, dir, address string, jobs int) (m measured) {
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
	n := newNode(t, dir, "only", address, folder(filepath.Join(dir, "recordings")))
	if strings.HasPrefix(address, "postgres") {
		execute(t, address, `VACUUM ANALYZE`, `CHECKPOINT`) // which PostgreSQL runs within minutes after many writes
	} else {
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
	m.create = createP99(t, n, secret)
	due := fill(t, s, key.ConsumerID, dueJobs, time.Now().Add(8*time.Second), time.Minute, job.Test)
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

// execute runs statements in a PostgreSQL database.
func execute(t *testing.T, address string, statements ...string) {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// createP99 creates jobs over HTTP, one at a time.
func createP99(t *testing.T, n *node, key string) time.Duration {
	t.Helper()
	api, err := client.New(n.url(), key)
	if err != nil {
		t.Fatal(err)
	}
	var took []time.Duration
	for range creates {
		start := time.Now()
		later := start.Add(48 * time.Hour)
		if _, _, err := api.CreateJob(t.Context(), client.NewJob{
			ExternalID: uuid.NewString(), MeetingURL: "https://meet.google.com/abc-defg-hij", JoinAt: &later,
		}); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
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
