package lifecycle_test

import (
	"context"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
)

// TestRefusedOutput checks that output is refused without a write, which would wait for the only
// writer of SQLite.
func TestRefusedOutput(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.NewJob(t, func(*lifecycle.NewJob) {}).ID
	writing, done := make(chan struct{}), make(chan struct{})
	written := make(chan error)
	go func() {
		written <- h.Store.Write(context.WithoutCancel(t.Context()), func(context.Context, *store.Tx) error {
			close(writing)
			<-done
			return nil
		})
	}()
	<-writing
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := h.Output(ctx, h.Caller, id, lifecycle.Output{Kind: ingest.Speak}); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("output was refused with %v", err)
	}
	close(done)
	if err := <-written; err != nil {
		t.Error(err)
	}
}
