package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/testing/await"
)

// TestNodesShareManyDueJobs checks that of many jobs that are due at once, nodes
// that claim at the same time launch each bot once, as many as the limit of each
// consumer allows, and that the other jobs wait with the reason.
func TestNodesShareManyDueJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const nodes, consumers, due, limit = 4, 4, 20, 15
		for range consumers {
			h.Caller = h.NewCaller(t)
			for range due {
				h.create(t, time.Time{})
			}
		}
		for n := range nodes {
			h.run(t, node(fmt.Sprint(n), due), func(s *dispatch.Settings) { s.MaxBotsPerConsumer = limit })
		}
		await.Until(t, "every bot was launched", func() bool {
			count, err := h.Store.CountActive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if count[job.Dispatching] > consumers*limit {
				t.Fatalf("%d bots were launched, %d are allowed", count[job.Dispatching], consumers*limit)
			}
			h.bots.mu.Lock()
			defer h.bots.mu.Unlock()
			return count[job.Pending] == consumers*(due-limit) && len(h.bots.launched) >= consumers*limit
		})
		perConsumer, launched := map[uuid.UUID]int{}, map[uuid.UUID]int{}
		h.bots.mu.Lock()
		for _, a := range h.bots.launched {
			launched[a.JobID]++
		}
		h.bots.mu.Unlock()
		for id, n := range launched {
			r := h.Record(t, id)
			perConsumer[r.ConsumerID]++
			if n != 1 || r.Attempts != 1 {
				t.Errorf("the bot of job %s was launched %d times in %d attempts", id, n, r.Attempts)
			}
		}
		for consumer, n := range perConsumer {
			if n != limit {
				t.Errorf("consumer %s runs %d bots, want %d", consumer, n, limit)
			}
		}
		if len(perConsumer) != consumers {
			t.Errorf("%d consumers run bots, want %d", len(perConsumer), consumers)
		}
	})
}
