package store_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestSecondProcess writes from a second process while the first process runs.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	first, second := storetest.Open(t, path), storetest.Open(t, path)
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
