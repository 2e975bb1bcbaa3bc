package lifecycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"standin/internal/base/batch"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/lifecycle"
	"standin/internal/testing/storetest"
)

// TestClose checks that Close records the heartbeats that wait for their transaction,
// accepts no more, and leaves no goroutine behind, for which synctest waits.
func TestClose(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, path)
		ids := make([]uuid.UUID, 5)
		for i := range ids {
			ids[i] = h.newJob(t)
			h.begin(t, ids[i])
		}
		beat(t, h.Service, ids[0], 0)
		var callers sync.WaitGroup
		for _, id := range ids[1:] {
			callers.Go(func() {
				if _, err := h.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{}, 0); err != nil {
					t.Errorf("a heartbeat that waited: %v", err)
				}
			})
		}
		synctest.Wait()
		for i, id := range ids {
			if recorded := !h.Record(t, id).HeartbeatAt.IsZero(); recorded != (i == 0) {
				t.Fatalf("the heartbeat of job %d is recorded before Close: %v", i, recorded)
			}
		}
		h.Close()
		for i, id := range ids {
			if h.Record(t, id).HeartbeatAt.IsZero() {
				t.Errorf("the heartbeat of job %d is not recorded", i)
			}
		}
		callers.Wait()
		if _, err := h.Heartbeat(t.Context(), ingest.Simulated(ids[0], 0), ingest.Heartbeat{}, 0); !errors.Is(err, batch.ErrClosed) {
			t.Errorf("a heartbeat after Close: %v", err)
		}
	})
}

// hangingOutputs is a storage that does not respond.
type hangingOutputs struct{ lifecycle.OutputStorage }

func (hangingOutputs) DeleteOutput(ctx context.Context, _, _ uuid.UUID) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCloseWithHangingStorage checks that Close returns although the storage does not
// respond to the deletion of what a bot has played.
func TestCloseWithHangingStorage(t *testing.T) {
	t.Parallel()
	path := storetest.FreshSQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, path)
		h.Outputs = hangingOutputs{}
		id := h.begun(t)
		command := h.queue(t, id, ingest.PlayAudio)
		beat(t, h.Service, id, 0, command.String())
		h.Close()
	})
}
