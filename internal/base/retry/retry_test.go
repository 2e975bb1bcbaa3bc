package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/base/retry"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := retry.Sleep(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("slept %v, error %v; want 1m0s", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := retry.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("slept %v, error %v; want 1s until the deadline", time.Since(start), err)
		}
	})
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	b := retry.Backoff{Min: 100 * time.Millisecond, Max: 10 * time.Second}
	bound := b.Min
	for failure := range 100 {
		if pause := b.Next(); pause < bound/2 || pause > bound {
			t.Fatalf("after failure %d the pause is %v, want %v to %v", failure+1, pause, bound/2, bound)
		}
		bound = min(2*bound, b.Max)
	}
	if failures := b.Reset(); failures != 100 {
		t.Errorf("Reset returned %d failures, want 100", failures)
	}
	if pause := b.Next(); pause > b.Min {
		t.Errorf("after Reset the first pause is %v, want at most %v", pause, b.Min)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signal := retry.NewSignal()
		waited := func(ctx context.Context) time.Duration {
			start := time.Now()
			signal.Wait(ctx, time.Minute)
			return time.Since(start)
		}
		signal.Send()
		signal.Send()
		if first, second := waited(t.Context()), waited(t.Context()); first != 0 || second != time.Minute {
			t.Errorf("after two signals the waits took %v and %v; want 0s and 1m0s", first, second)
		}
		time.AfterFunc(time.Second, signal.Send)
		if took := waited(t.Context()); took != time.Second {
			t.Errorf("the wait took %v; want 1s, until the signal", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if took := waited(ctx); took != 2*time.Second {
			t.Errorf("the wait took %v; want 2s, until the deadline", took)
		}
	})
}

func TestAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":                              0,
		"soon":                          0,
		"-5":                            0,
		"7":                             7 * time.Second,
		" 7 ":                           7 * time.Second,
		"86400":                         time.Minute,
		"99999999999999999999":          time.Minute,
		"Sun, 01 Mar 2026 12:00:20 GMT": 20 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Mon, 02 Mar 2026 12:00:00 GMT": time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT": time.Minute,
	} {
		if got := retry.After(header, now, time.Minute); got != want {
			t.Errorf("Retry-After %q: %v, want %v", header, got, want)
		}
	}
}
