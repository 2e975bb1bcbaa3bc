package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/retry"
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
