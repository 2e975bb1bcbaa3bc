package batch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/base/batch"
)

// TestBatches: items that arrive while a batch runs share the next one, each runs
// once, and Do returns after its batch.
func TestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		var sizes []int
		var ran atomic.Int64
		b := batch.New(batch.Limits{Items: 10}, func(_ context.Context, items []int) error {
			sizes = append(sizes, len(items))
			<-next
			ran.Add(int64(len(items)))
			return nil
		})
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				before := ran.Load()
				if err := b.Do(t.Context(), 1); err != nil || ran.Load() == before {
					t.Errorf("Do: %v before its batch has run", err)
				}
			})
			synctest.Wait() // the first item runs alone
		}
		close(next)
		callers.Wait()
		b.Close()
		if len(sizes) != 3 || sizes[0] != 1 || sizes[1] != 10 || sizes[2] != 5 {
			t.Errorf("batches of %v items, want 1, 10 and 5", sizes)
		}
	})
}

// TestInterval: batches start the interval apart.
func TestInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Time
		b := batch.New(batch.Limits{Items: 10, Interval: time.Second}, func(context.Context, []int) error {
			starts = append(starts, time.Now())
			return nil
		})
		for range 3 {
			if err := b.Do(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		b.Close()
		for i, start := range starts[1:] {
			if start.Sub(starts[i]) != time.Second {
				t.Errorf("batch %d started %s after the previous one", i+1, start.Sub(starts[i]))
			}
		}
	})
}

// TestFailure: a batch that fails, panics or takes too long has failed, and the next one runs.
func TestFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := batch.New(batch.Limits{Items: 10, Timeout: time.Second}, func(ctx context.Context, items []int) error {
			switch items[0] {
			case 1:
				return errors.New("failed")
			case 2:
				panic("broken")
			case 3:
				<-ctx.Done()
			}
			return ctx.Err()
		})
		for item, want := range []error{nil, batch.ErrFailed, batch.ErrFailed, batch.ErrFailed, nil} {
			if err := b.Do(t.Context(), item); !errors.Is(err, want) {
				t.Errorf("%d: %v, want %v", item, err, want)
			}
		}
		b.Close()
	})
}

// TestContext: an item does not run whose caller has given up before.
func TestContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next, ran := make(chan struct{}), 0
		b := batch.New(batch.Limits{Items: 1}, func(_ context.Context, items []int) error { <-next; ran += items[0]; return nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _ = b.Do(ctx, 1) }()
		synctest.Wait()
		if err := b.Do(ctx, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do: %v", err)
		}
		close(next)
		b.Close()
		if ran != 1 {
			t.Errorf("the sum of the items that ran is %d", ran)
		}
	})
}

// TestClose: Close runs what waits, and nothing is accepted afterwards.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		ran := 0
		b := batch.New(batch.Limits{Items: 2, Interval: time.Minute}, func(_ context.Context, items []int) error {
			<-next
			ran += len(items)
			return nil
		})
		var refused atomic.Int64
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				switch err := b.Do(t.Context(), 1); {
				case errors.Is(err, batch.ErrClosed):
					refused.Add(1)
				case err != nil:
					t.Errorf("Do: %v", err)
				}
			})
			synctest.Wait()
		}
		var closing sync.WaitGroup
		closing.Go(b.Close)
		synctest.Wait() // the callers that the channel does not hold are refused
		close(next)
		closing.Wait()
		callers.Wait()
		if ran != 3 || refused.Load() != 2 { // the batch in progress, and the two that wait for the next one
			t.Errorf("%d items ran, and %d were refused", ran, refused.Load())
		}
		if err := b.Do(t.Context(), 1); !errors.Is(err, batch.ErrClosed) {
			t.Errorf("Do after Close: %v", err)
		}
	})
}
