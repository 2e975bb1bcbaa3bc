package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"standin/internal/store"
)

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
