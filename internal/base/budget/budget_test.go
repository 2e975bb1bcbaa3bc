package budget_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"standin/internal/base/budget"
)

// TestBudget checks that a user waits for the own part only, that those who have used
// nothing are served beside one who wants all, and that the calls that wait are bounded.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(4, 2, 3)
		release, err := b.Acquire(t.Context(), "greedy", 10) // all of the part
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 3)
		for range cap(served) {
			go func() {
				done, err := b.Acquire(ctx, "greedy", 1)
				if err == nil {
					done()
				}
				served <- err
			}()
		}
		synctest.Wait()
		done, err := b.Acquire(t.Context(), "modest", 2)
		if err != nil {
			t.Errorf("another user: %v", err)
		}
		if len(served) > 0 {
			t.Errorf("%d calls went beyond the part of their user", len(served))
		}
		done()
		release()
		for range cap(served) {
			if err := <-served; err != nil {
				t.Errorf("after the release: %v", err)
			}
		}
		release, _ = b.Acquire(t.Context(), "greedy", 2)
		for range cap(served) {
			go func() {
				_, err := b.Acquire(ctx, "greedy", 1)
				served <- err
			}()
		}
		synctest.Wait()
		if _, err := b.Acquire(t.Context(), "greedy", 1); !errors.Is(err, budget.ErrFull) {
			t.Errorf("beyond the calls that may wait: %v, want %v", err, budget.ErrFull)
		}
		cancel()
		for range cap(served) {
			if err := <-served; !errors.Is(err, context.Canceled) {
				t.Errorf("a canceled call: %v", err)
			}
		}
		release()
		if release, err = b.Acquire(t.Context(), "greedy", 2); err != nil {
			t.Fatalf("after all others ended: %v", err)
		}
		release()
	})
}
