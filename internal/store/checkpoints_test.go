package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestCheckpoint waits until a job is in the database file of an open store.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	s := open(t, path)
	r := newJob(newConsumer(t, s).ID)
	insert(t, s, r)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(time.Minute)
	for {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(r.ID.String())) {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatal("the job is not in the database file")
		}
	}
}

// TestLogIsOverwritten checks that the -wal file does not grow with the number of
// writes that follow each other without a pause.
func TestLogIsOverwritten(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	s := open(t, path)
	r := newJob(newConsumer(t, s).ID)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var overwritten atomic.Bool
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for !overwritten.Load() && ctx.Err() == nil {
				r := r
				r.ID, r.ExternalID = uuid.New(), uuid.NewString()
				if _, _, err := s.CreateJob(ctx, r); err != nil {
					t.Error(err)
					return
				}
				overwritten.Store(logSequence(t, path) >= 2)
			}
		})
	}
	writers.Wait()
	if !overwritten.Load() {
		t.Error("the log was not overwritten twice in a minute")
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= store.AutoCheckpointPages<<12 {
		t.Errorf("the log has %d bytes", info.Size())
	}
}

// logSequence returns how often the -wal file of a database was overwritten.
func logSequence(t *testing.T, path string) uint32 {
	t.Helper()
	file, err := os.Open(path + "-wal")
	if err != nil {
		t.Error(err)
		return 0
	}
	defer file.Close()
	header := make([]byte, 32)
	if _, err := io.ReadFull(file, header); err != nil {
		t.Error(err)
		return 0
	}
	return binary.BigEndian.Uint32(header[12:])
}
