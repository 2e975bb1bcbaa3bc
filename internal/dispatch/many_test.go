package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/dispatch"
	"standin/internal/job"
	"standin/internal/store"
)

// TestNodesShareManyDueJobs checks that of many jobs that are due at once, nodes
// that claim at the same time launch each bot once, as many as the limit of each
// consumer allows, and that the other jobs wait with the reason.
func TestNodesShareManyDueJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		const nodes, consumers, due, limit = 4, 4, 20, 15
		for range consumers {
			h.insertDue(t, due)
		}
		for n := range nodes {
			h.run(t, node(fmt.Sprint(n), due), func(s *dispatch.Settings) { s.MaxBotsPerConsumer = limit })
		}
		waitFor(t, "every bot was launched", func() bool {
			count, err := h.store.CountActive(t.Context())
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
			r := h.record(t, id)
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

// insertDue inserts due jobs of a new consumer.
func (h *harness) insertDue(t *testing.T, count int) {
	t.Helper()
	now := h.clock.Now()
	consumer, err := h.store.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: uuid.NewString(), WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = h.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for range count {
			_, err := tx.InsertJob(t.Context(), job.Record{
				Job: job.Job{
					ID: uuid.Must(uuid.NewV7()), ConsumerID: consumer.ID, Mode: job.Live, ExternalID: uuid.NewString(),
					MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet, DisplayName: job.DefaultDisplayName,
					JoinAt: now, CreatedAt: now, Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(), State: job.New(),
				},
				StatusSince: now, WakeAt: now,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*testTimeout)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %s", what, 2*testTimeout)
		}
	}
}
