package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"standin/internal/job"
	"standin/internal/store"
)

var errWanted = errors.New("this write fails")

// TestWriteIsAtomic checks that failing writes change nothing, also when they are
// committed together with succeeding ones.
func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		const writers = 60
		var group sync.WaitGroup
		for i := range writers {
			group.Go(func() {
				r := newJob(consumer.ID)
				r.ExternalID = fmt.Sprint("job-", i)
				err := writeRecovered(t.Context(), s, func(ctx context.Context, tx *store.Tx) error {
					if _, err := tx.InsertJob(ctx, r); err != nil {
						return err
					}
					switch i % 3 {
					case 1:
						return errWanted
					case 2:
						panic("this write panics")
					}
					return nil
				})
				switch {
				case i%3 == 0 && err != nil:
					t.Errorf("write %d: %v", i, err)
				case i%3 == 1 && !errors.Is(err, errWanted):
					t.Errorf("write %d: got %v, want its own error", i, err)
				case i%3 == 2 && (err == nil || !strings.Contains(err.Error(), "this write panics")):
					t.Errorf("write %d: got %v, want its panic", i, err)
				}
			})
		}
		group.Wait()
		for i := range writers {
			_, err := s.JobByExternalID(t.Context(), consumer.ID, job.Live, fmt.Sprint("job-", i))
			if kept := err == nil; kept != (i%3 == 0) {
				t.Errorf("job-%d: stored %v (%v)", i, kept, err)
			}
		}
	})
}

// writeRecovered is Store.Write with a panic of fn as its error. On SQLite, where
// writers share a goroutine, Store.Write does the same.
func writeRecovered(ctx context.Context, s *store.Store, fn func(context.Context, *store.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return s.Write(ctx, fn)
}

// TestWriteSurvivesCancellation checks that cancelling a caller does not affect other
// writes.
func TestWriteSurvivesCancellation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := newJob(consumer.ID)
				err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
					if i%2 == 0 {
						cancel()
					}
					_, err := tx.InsertJob(ctx, r)
					return err
				})
				if i%2 == 1 && err != nil {
					t.Errorf("write %d failed without being cancelled: %v", i, err)
				}
				if _, lookup := s.Job(t.Context(), r.ID); (lookup == nil) != (err == nil) {
					t.Errorf("write %d returned %v, but reading it back returned %v", i, err, lookup)
				}
			})
		}
		group.Wait()
	})
}

// TestClose checks that a closed store rejects writes.
func TestClose(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "standin.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), func(context.Context, *store.Tx) error { return nil }); err == nil {
		t.Error("a write on a closed store succeeded")
	}
}

// TestSecondProcess writes from a second process while the first process runs.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	first, second := open(t, path), open(t, path)
	consumer := newConsumer(t, first)
	var group sync.WaitGroup
	for _, s := range []*store.Store{first, second} {
		for range 50 {
			group.Go(func() {
				r := newJob(consumer.ID)
				err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					_, err := tx.InsertJob(ctx, r)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
}

// TestConcurrentOpen opens a new database several times at once.
func TestConcurrentOpen(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		openAtOnce(t, filepath.Join(t.TempDir(), "standin.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		openAtOnce(t, cluster.Empty(t))
	})
}

func openAtOnce(t *testing.T, address string) {
	t.Helper()
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			s, err := store.Open(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// BenchmarkWrite measures concurrent writes, which share commits.
func BenchmarkWrite(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := store.Open(b.Context(), filepath.Join(b.TempDir(), "standin.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			consumer, err := s.EnsureConsumer(b.Context(), benchConsumer())
			if err != nil {
				b.Fatal(err)
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for left.Add(-1) >= 0 {
						r := newJob(consumer.ID)
						err := s.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
							_, err := tx.InsertJob(ctx, r)
							return err
						})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
		})
	}
}
