package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"standin/internal/store"
)

// TestCheckpoint waits until a job is in the database file of an open store.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "standin.db")
	s, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
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
