package lifecycle_test

import (
	"encoding/json"
	"testing"
	"time"

	"standin/internal/job"
)

// TestReplayErasedJob checks that a request with the externalId of an erased job
// returns the erased job with all fields of the schema.
func TestReplayErasedJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		first, _, err := h.Create(t.Context(), h.caller, request("standup"))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Cancel(t.Context(), h.caller, first.ID); err != nil {
			t.Fatal(err)
		}
		if err := h.store.EraseJob(t.Context(), first.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		again, replayed, err := h.Create(t.Context(), h.caller, request("standup"))
		if err != nil || !replayed || again.ID != first.ID || again.Status != job.Cancelled {
			t.Fatalf("created again: %+v, replayed %v, %v", again, replayed, err)
		}
		if known, err := h.JobByExternalID(t.Context(), h.caller, "standup"); err != nil || known.ID != first.ID {
			t.Errorf("by externalId: %+v, %v", known, err)
		}
		encoded, err := json.Marshal(job.NewView(again))
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(encoded, &fields); err != nil || len(fields) != 15 || fields["externalId"] != "standup" || fields["meetingUrl"] != "" {
			t.Errorf("answer %s, %v", encoded, err)
		}
		if _, err := h.Job(t.Context(), h.caller, first.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("read the erased job: %v", err)
		}
	})
}
