package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/lifecycle"
	"standin/internal/testing/storetest"
)

// hangingOutputs is a storage that does not respond.
type hangingOutputs struct{ lifecycle.OutputStorage }

func (hangingOutputs) DeleteOutput(ctx context.Context, _, _ uuid.UUID) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestCloseWithHangingStorage checks that Close returns although the storage does not
// respond to the deletion of what a bot has played, and leaves no goroutine behind, for which
// synctest waits.
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
