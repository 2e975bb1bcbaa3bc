package lifecycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestStalledDatabase checks that no operation on a job waits for a database that
// does not respond for longer than its caller does.
func TestStalledDatabase(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		h := newHarness(t, address)
		id := h.begun(t)
		operations := map[string]func(ctx context.Context) error{
			"heartbeat": func(ctx context.Context) error {
				_, err := h.Heartbeat(ctx, ingest.Simulated(id, 0), ingest.Heartbeat{}, 0)
				return err
			},
			"heartbeat that acknowledges a command": func(ctx context.Context) error {
				_, err := h.Heartbeat(ctx, ingest.Simulated(id, 0), ingest.Heartbeat{Acked: []string{"1"}}, 0)
				return err
			},
			"change": func(ctx context.Context) error {
				_, err := h.Change(ctx, id, unchanged)
				return err
			},
			"event": func(ctx context.Context) error {
				_, err := h.Ingest(ctx, ingest.Simulated(id, 0), botEvent(id, 0, 0, job.BotJoined, ""))
				return err
			},
			"command": func(ctx context.Context) error {
				_, err := h.QueueCommand(ctx, h.Caller, id, ingest.PauseRecording, nil)
				return err
			},
		}
		// It has locked the job, and on SQLite the whole database.
		locked, release := make(chan struct{}), make(chan struct{})
		lock := sync.OnceFunc(func() { close(locked) })
		var stalled sync.WaitGroup
		stalled.Go(func() {
			err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.LockJob(ctx, id)
				lock()
				<-release
				return err
			})
			if err != nil {
				t.Errorf("the stalled transaction: %v", err)
			}
		})
		<-locked
		var callers sync.WaitGroup
		for name, operation := range operations {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if err := operation(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		callers.Wait()
		close(release)
		stalled.Wait()
		for name, operation := range operations {
			if err := operation(t.Context()); err != nil {
				t.Errorf("%s after the stall: %v", name, err)
			}
		}
	})
}
