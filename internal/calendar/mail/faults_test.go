package mail

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestFaults checks that the worker runs on, and processes all other messages, when a
// message cannot be read or causes a panic.
func TestFaults(t *testing.T) {
	t.Parallel()
	exec := func(t *testing.T, h *harness, statement string) {
		t.Helper()
		if err := h.store.exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const first = ` WHERE id = (SELECT MIN(id) FROM mail_messages)`
	for name, fault := range map[string]func(t *testing.T, h *harness){
		"a message that cannot be read": func(t *testing.T, h *harness) {
			exec(t, h, `UPDATE mail_messages SET raw = '!', auth = 'network'`+first)
		},
		"a message that causes a panic": func(_ *testing.T, h *harness) {
			calls := 0
			h.SetStep(func(name string) {
				if name == "before jobs" {
					if calls++; calls == 1 {
						panic("poison")
					}
				}
			})
		},
		"a meeting that cannot be read": func(t *testing.T, h *harness) {
			h.run(t)
			exec(t, h, `UPDATE mail_messages SET raw = '!'`+first)
			exec(t, h, `UPDATE mail_meetings SET next_at = 1`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, func(s *Settings) { s.Now = time.Now })
				rooms := 0
				receive := func(uid string) {
					rooms++
					m := received{source: "smtp", remote: "192.0.2.1", raw: at(uid, time.Now().Add(time.Duration(rooms)*3*time.Hour))}
					if err := h.receive(t.Context(), m); err != nil {
						t.Error(err)
					}
				}
				receive("first")
				receive("second")
				fault(t, h)
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { h.Run(ctx) })
				time.Sleep(time.Minute)
				receive("third")
				time.Sleep(time.Minute)
				stop()
				running.Wait()
				if jobs := h.jobs(t); len(jobs) < 2 {
					t.Errorf("jobs: %+v", jobs)
				}
			})
		})
	}
}
