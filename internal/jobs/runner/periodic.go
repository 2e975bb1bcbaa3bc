package runner

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Task is work that is repeated.
type Task struct {
	Name  string        // identifies it, also in logs
	Every time.Duration // from the end of a run that succeeds until the next one; 0: at once
	Run   func(ctx context.Context) error
}

// Periodic returns a runner of the tasks that list returns, which is called at least once a
// minute. It keeps in memory when a task is due: at first at once, and after a failure after a
// pause of at most an hour, and of at most Every. The tasks share the slots; the others wait, the longest due first.
func Periodic(slots int, now func() time.Time, log *slog.Logger, list func(ctx context.Context) ([]Task, error)) *Runner[Task] {
	const running = 100 * 365 * 24 * time.Hour
	var mu sync.Mutex
	due, next := make(map[string]time.Time), time.Time{}
	r := &Runner[Task]{Name: "task", Slots: slots, Poll: time.Minute, MaxPause: time.Hour, Now: now, Log: log}
	r.ID = func(t Task) string { return t.Name }
	r.Claim = func(ctx context.Context, n int) (found Batch[Task], err error) {
		tasks, err := list(ctx)
		if err != nil {
			return found, err
		}
		mu.Lock()
		defer mu.Unlock()
		maps.DeleteFunc(due, func(name string, at time.Time) bool { // no longer listed, and not running
			return at.Before(now().Add(running/2)) && !slices.ContainsFunc(tasks, func(t Task) bool { return t.Name == name })
		})
		next = now().Add(r.Poll)
		for _, task := range slices.SortedStableFunc(slices.Values(tasks), func(a, b Task) int { return due[a.Name].Compare(due[b.Name]) }) {
			if at := due[task.Name]; at.After(now()) {
				next = at
				break
			}
			if len(found.Items) == n {
				found.More = true
				break
			}
			found.Items = append(found.Items, task)
			due[task.Name] = now().Add(running)
		}
		return found, nil
	}
	r.Next = func(context.Context) (time.Time, bool, error) { return next, true, nil }
	r.Extend = func(_ context.Context, task Task, until time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		due[task.Name] = until
		if latest := now().Add(task.Every); task.Every > 0 && until.After(latest) {
			due[task.Name] = latest
		}
		r.Wake()
		return nil
	}
	r.Run = func(ctx context.Context, task Task, _ *Lease) error {
		if err := task.Run(ctx); err != nil {
			return err
		}
		return r.Extend(ctx, task, now().Add(task.Every))
	}
	return r
}

// Repeat runs tasks until ctx ends, each in its own slot.
func Repeat(ctx context.Context, now func() time.Time, log *slog.Logger, tasks ...Task) {
	Periodic(len(tasks), now, log, func(context.Context) ([]Task, error) { return tasks, nil }).Work(ctx)
}
