package mail

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/calendar"
)

// poisonedService panics when it is asked for the meeting with the UID first.
type poisonedService struct{ Scheduler }

func (s poisonedService) Schedule(ctx context.Context, invite calendar.Invite) (calendar.Result, error) {
	if invite.ICalUID == "first" {
		panic("poison")
	}
	return s.Scheduler.Schedule(ctx, invite)
}

// TestFaults checks that the worker runs on, and processes all other messages, when a
// message cannot be read or causes a panic, and when the database is locked for a while.
func TestFaults(t *testing.T) {
	t.Parallel()
	exec := func(t *testing.T, db *sql.DB, statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, fault := range map[string]func(t *testing.T, h *harness, db *sql.DB){
		"a message that cannot be read": func(t *testing.T, _ *harness, db *sql.DB) {
			exec(t, db, `UPDATE messages SET raw = X'00', auth = 'network' WHERE id = 1`)
		},
		"a message that causes a panic": func(_ *testing.T, h *harness, _ *sql.DB) { h.settings.Service = poisonedService{h.service} },
		"a meeting that cannot be read": func(t *testing.T, h *harness, db *sql.DB) {
			h.run(t)
			exec(t, db, `UPDATE messages SET raw = X'00' WHERE id = 1`)
			exec(t, db, `UPDATE meetings SET next_at = 1`)
		},
		"a locked database": func(t *testing.T, h *harness, db *sql.DB) {
			exec(t, h.store.db, `PRAGMA busy_timeout = 1`)
			tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(16*time.Second, func() { _ = tx.Rollback() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, func(s *Settings) { s.Now = time.Now })
				receive := func(uid string) {
					m := received{source: "smtp", remote: "192.0.2.1", raw: at(uid, time.Now().Add(time.Hour))}
					if err := h.receive(t.Context(), m); err != nil {
						t.Error(err)
					}
				}
				receive("first")
				receive("second")
				db, err := sql.Open("sqlite", "file:"+filepath.Join(h.settings.Dir, fileName)+"?_txlock=immediate")
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				fault(t, h, db)
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { h.Run(ctx) })
				time.Sleep(time.Minute)
				receive("third")
				time.Sleep(time.Minute)
				stop()
				running.Wait()
				jobs := map[string]bool{}
				for _, j := range h.service.jobs {
					jobs[j.ICalUID] = true
				}
				if !jobs["second"] || !jobs["third"] {
					t.Errorf("the meetings with jobs are %v", jobs)
				}
			})
		})
	}
}
