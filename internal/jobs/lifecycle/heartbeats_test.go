package lifecycle_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// TestHeartbeatsTogether checks that of many heartbeats at once, each is answered for
// its own job and attempt, and that two of the same job are both recorded.
func TestHeartbeatsTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		ids := make([]uuid.UUID, 40)
		for i := range ids {
			ids[i] = h.newJob(t)
			h.begin(t, ids[i])
			switch i % 4 {
			case 1:
				h.queue(t, ids[i], ingest.PauseRecording)
			case 2:
				h.begin(t, ids[i]) // replaces the bot of attempt 0
			}
		}
		unknown := uuid.New()
		var all sync.WaitGroup
		for i, id := range append(ids, unknown) {
			for range 2 {
				all.Go(func() {
					answer, err := h.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{Stats: &ingest.Stats{BytesRecorded: int64(i)}}, 0)
					want := [...][]ingest.CommandKind{{}, {ingest.PauseRecording}, {ingest.LeaveCall}, {}}[i%4]
					switch {
					case id == unknown:
						if !job.ErrorIs(err, job.InvalidInput) {
							t.Errorf("the heartbeat of an unknown job: %v", err)
						}
					case err != nil || answer.Status != job.Dispatching || answer.Commands == nil || len(answer.Commands) != len(want):
						t.Errorf("heartbeat %d: %+v (%v), want %v", i, answer, err, want)
					case len(want) > 0 && answer.Commands[0].Kind != want[0]:
						t.Errorf("heartbeat %d: %+v, want %v", i, answer, want)
					}
				})
			}
		}
		all.Wait()
		for i, id := range ids {
			if r := h.Record(t, id); r.HeartbeatAt.IsZero() != (i%4 == 2) || len(r.Stats) == 0 != (i%4 == 2) {
				t.Errorf("job %d: heartbeat at %s, statistics %s", i, r.HeartbeatAt, r.Stats)
			}
		}
	})
}

// TestHeartbeatOfLockedJob checks that a job that another transaction has locked does
// not delay the heartbeats of other jobs.
func TestHeartbeatOfLockedJob(t *testing.T) {
	t.Parallel()
	r, other := withLockedJob(t, func(h *harness, started *sync.WaitGroup, locked, free uuid.UUID) error {
		started.Go(func() { beat(t, h.Service, locked, 0) })
		for range 3 {
			if _, err := h.Heartbeat(t.Context(), ingest.Simulated(free, 0), ingest.Heartbeat{}, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if r.HeartbeatAt.IsZero() || other.HeartbeatAt.IsZero() {
		t.Errorf("the last heartbeats: %s, %s", r.HeartbeatAt, other.HeartbeatAt)
	}
}
