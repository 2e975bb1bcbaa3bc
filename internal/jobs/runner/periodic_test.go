package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/jobs/runner"
)

// TestPeriodic checks that tasks are repeated, while others fail, panic and hang, and the list of them fails for an hour.
func TestPeriodic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		runs := make(map[string][]time.Duration)
		task := func(name string, run func(ctx context.Context) error) runner.Task {
			return runner.Task{Name: name, Every: 10 * time.Minute, Run: func(ctx context.Context) error {
				mu.Lock()
				runs[name] = append(runs[name], time.Since(began))
				mu.Unlock()
				return run(ctx)
			}}
		}
		r := runner.Periodic(2, time.Now, slog.New(slog.DiscardHandler), func(context.Context) ([]runner.Task, error) {
			if passed := time.Since(began); passed > 2*time.Hour && passed < 3*time.Hour {
				return nil, errors.New("the database is away")
			}
			return []runner.Task{
				task("hangs", func(ctx context.Context) error { return wait(ctx, 1000*time.Hour) }),
				task("fails", func(context.Context) error { return errors.New("failed") }),
				task("panics", func(context.Context) error { panic("failed") }),
				task("works", func(ctx context.Context) error { return wait(ctx, time.Minute) }),
			}, nil
		})
		r.Limit = 20 * time.Hour
		ctx, stop := context.WithCancel(t.Context())
		var node sync.WaitGroup
		node.Go(func() { r.Work(ctx) })
		_ = wait(ctx, 40*time.Hour)
		stop()
		node.Wait()
		if want := []time.Duration{0, 11 * time.Minute, 22 * time.Minute}; !slices.Equal(runs["works"][:3], want) {
			t.Errorf("a task ran at %v, want %v", runs["works"][:3], want)
		}
		for name, want := range map[string][2]int{"works": {200, 215}, "fails": {200, 245}, "panics": {200, 245}, "hangs": {2, 2}} {
			if n := len(runs[name]); n < want[0] || n > want[1] {
				t.Errorf("%s ran %d times in 40 hours, want %d to %d", name, n, want[0], want[1])
			}
		}
	})
}
