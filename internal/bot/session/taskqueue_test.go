package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/bot/ingest"
)

// TestTaskQueueRunsTasksInOrder also drops tasks that should no longer run.
func TestTaskQueueRunsTasksInOrder(t *testing.T) {
	t.Parallel()
	var q taskQueue
	var calls []string
	add := func(name string, shouldRun bool) {
		q.add(t.Context(), task{
			timeout:   time.Minute,
			shouldRun: func() bool { calls = append(calls, "shouldRun "+name); return shouldRun },
			do:        func(context.Context) error { return errors.New(name) },
			onDone: func(_ context.Context, err error) *exitResult {
				calls = append(calls, err.Error())
				return nil
			},
		})
	}
	add("a", true)
	add("b", false)
	add("c", true)
	for !q.idle() {
		if end := q.finish(t.Context(), <-q.done); end != nil {
			t.Fatal("a task ended the session")
		}
	}
	if want := []string{"shouldRun a", "a", "shouldRun b", "shouldRun c", "c"}; !slices.Equal(calls, want) {
		t.Errorf("calls = %q, want %q", calls, want)
	}
}

// TestTaskQueueClose cancels the current task, or awaits it if it is
// uncancellable, settles the commands that were not started, and starts nothing.
func TestTaskQueueClose(t *testing.T) {
	t.Parallel()
	for name, uncancellable := range map[string]bool{"canceled": false, "awaited": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				settled := map[string]error{}
				q := taskQueue{settle: func(c ingest.Command, err error) { settled[c.ID] = err }}
				var result error
				command := ingest.Command{ID: "command-1"}
				start := time.Now()
				unexpected := func(context.Context) error { t.Error("a waiting task was started"); return nil }
				q.add(t.Context(), task{
					timeout: time.Minute, uncancellable: uncancellable,
					do: func(ctx context.Context) error {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(30 * time.Second):
							return nil
						}
					},
					onDone: func(ctx context.Context, err error) *exitResult {
						result = err
						q.add(ctx, task{timeout: time.Minute, do: unexpected})
						return nil
					},
				})
				q.add(t.Context(), task{timeout: time.Minute, do: unexpected})
				q.add(t.Context(), task{timeout: time.Minute, command: &command, do: unexpected})
				q.close(t.Context())
				if len(settled) != 1 || !errors.Is(settled[command.ID], errNotStarted) {
					t.Errorf("settled %v", settled)
				}
				duration := time.Since(start)
				if uncancellable && (result != nil || duration != 30*time.Second) ||
					!uncancellable && (!errors.Is(result, context.Canceled) || duration != 0) {
					t.Errorf("after %s: %v", duration, result)
				}
				if !q.idle() {
					t.Error("the queue is not idle")
				}
			})
		})
	}
}

func TestTaskTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var q taskQueue
		q.add(t.Context(), task{timeout: 3 * time.Second, do: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		if err := <-q.done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("task ended with %v", err)
		}
	})
}
