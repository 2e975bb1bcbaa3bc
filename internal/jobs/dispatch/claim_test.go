package dispatch_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/await"
)

// exec runs a statement outside of the store, whose methods would not.
func (h *harness) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	driver := "sqlite"
	if store.IsPostgres(h.address) {
		driver = "pgx"
	}
	db, err := sql.Open(driver, h.address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// errorLog keeps when errors were logged.
type errorLog struct {
	mu     sync.Mutex
	text   string // of the lines that count
	logged []time.Time
	lines  []string
}

func (l *errorLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(string(line), l.text) {
		l.logged, l.lines = append(l.logged, time.Now()), append(l.lines, string(line))
	}
	return len(line), nil
}

// until waits for a number of lines.
func (l *errorLog) until(t *testing.T, count int) (logged []time.Time) {
	t.Helper()
	await.Until(t, "it was logged: "+l.text, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		logged = l.logged
		return len(logged) >= count
	})
	return logged
}

// TestUnreadableJob checks that a job that cannot be read costs no other job, and keeps
// no slot.
func TestUnreadableJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		joinAt := h.clock.Now().Add(time.Hour)
		broken, good := h.create(t, joinAt), h.create(t, joinAt)
		h.exec(t, `UPDATE jobs SET auto_leave = '{' WHERE id = $1`, broken.String())
		h.clock.Set(joinAt)
		capacity := dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 2})
		log := &errorLog{text: "load due job"}
		h.run(t, func(s *dispatch.Settings) { s.Capacity, s.Log = capacity, slog.New(slog.NewTextHandler(log, nil)) })
		h.untilLaunched(t, good, 0)
		log.until(t, 1)
		await.Until(t, "one slot is reserved", func() bool { return capacity.Used() == 1 })
		h.launched(t)
		if len(log.logged) != 1 || !strings.Contains(log.lines[0], broken.String()) {
			t.Errorf("logged %q, want one line until the lease ends", log.lines)
		}
	})
}

// TestFailingClaims checks that claims that fail are retried with growing pauses, and
// that jobs are launched once they work again.
func TestFailingClaims(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.exec(t, `ALTER TABLE consumer_rotation RENAME TO kept`)
		h.exec(t, `CREATE VIEW consumer_rotation AS SELECT DISTINCT * FROM kept`) // which can be read and not written
		id := h.create(t, time.Time{})
		log := &errorLog{text: "cannot find due work"}
		h.run(t, func(s *dispatch.Settings) { s.Log = slog.New(slog.NewTextHandler(log, nil)) })
		const claims = 7
		logged := log.until(t, claims)
		if took := logged[claims-1].Sub(logged[0]); took < 300*time.Millisecond {
			t.Errorf("%d claims failed within %s", claims, took)
		}
		h.exec(t, `DROP VIEW consumer_rotation`)
		h.exec(t, `ALTER TABLE kept RENAME TO consumer_rotation`)
		h.untilLaunched(t, id, 0)
	})
}

// TestUnstartableJob checks that a job whose attempt cannot be started does not affect
// a job that is claimed with it, uses no capacity, and is not tried again before its
// lease ends.
func TestUnstartableJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		joinAt := h.clock.Now().Add(time.Hour)
		broken, good := h.create(t, joinAt), h.create(t, joinAt)
		err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.LockJob(ctx, broken)
			if err != nil {
				return err
			}
			r.Metadata = json.RawMessage(`{`) // its webhook cannot be encoded
			return tx.SaveJobRequest(ctx, r)
		})
		if err != nil {
			t.Fatal(err)
		}
		h.clock.Set(joinAt)
		capacity := dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 2})
		log := &errorLog{text: broken.String()}
		h.run(t, func(s *dispatch.Settings) { s.Capacity, s.Log = capacity, slog.New(slog.NewTextHandler(log, nil)) })
		if r := h.untilLaunched(t, good, 0); r.Attempts != 1 {
			t.Errorf("the other job: %+v", r)
		}
		log.until(t, 1)
		await.Until(t, "one slot is reserved", func() bool { return capacity.Used() == 1 })
		r := h.Record(t, broken)
		if r.Status != job.Scheduled || r.Attempts != 0 || len(h.bots.launches(broken)) != 0 {
			t.Errorf("the job that cannot be started: %+v", r)
		}
		if r.Lease == "" || !r.WakeAt.After(joinAt) {
			t.Errorf("the job is due again at %s, before its lease ends: %q", r.WakeAt, log.lines)
		}
	})
}

// TestEventWhileDeciding checks that an attempt is not started for a job whose bot, which
// the operator runs, reports an event after the job was loaded.
func TestEventWhileDeciding(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.create(t, time.Time{})
		var sent sync.Once
		var decided atomic.Bool
		h.run(t, func(s *dispatch.Settings) {
			s.Now = func() time.Time {
				// The decision takes the time after it has loaded the job.
				if isCalledBy("dispatch.(*task).load") {
					sent.Do(func() { h.sendEvent(t, id, 0, job.BotJoined, `{}`); decided.Store(true) })
				}
				return h.clock.Now()
			}
		})
		r := h.until(t, id, "joining", func(r job.Record) bool { return decided.Load() && r.Status != job.Scheduled })
		if r.Status != job.Joining || len(h.bots.launches(id)) != 0 {
			t.Errorf("the job is %s, with %d bots launched", r.Status, len(h.bots.launches(id)))
		}
	})
}

// isCalledBy reports whether a function whose name ends so is among the callers.
func isCalledBy(function string) bool {
	callers := make([]uintptr, 20)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, function) {
			return true
		}
		if !more {
			return false
		}
	}
}

// TestCapacityIsUsed checks that jobs that are due when they are created get their bots
// without waiting for capacity that is free.
func TestCapacityIsUsed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const jobs = 30
		h.run(t, func(s *dispatch.Settings) {
			s.Capacity = dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: jobs})
		})
		var creating sync.WaitGroup
		for range jobs {
			creating.Go(func() {
				id := h.launched(t)
				if names := h.eventNames(t, id); names[0] != string(job.Dispatching) {
					t.Errorf("the job became %v", names)
				}
			})
		}
		creating.Wait()
	})
}
