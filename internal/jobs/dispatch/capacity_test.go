package dispatch_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/testing/await"
)

// TestCapacityFollowsReportedUsage checks that the resource usage in heartbeats
// lowers the capacity, and that the timeline of a waiting job contains the
// reason.
func TestCapacityFollowsReportedUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		free := dispatch.NewCapacity(dispatch.CapacitySettings{
			PerBot: dispatch.BotResources{Cores: 1, Memory: 1 << 30},
			Machine: func(context.Context) host.Resources {
				return host.Resources{Cores: 4, MemoryTotal: 64 << 30, MemoryAvailable: 64 << 30}
			},
		})
		d, _ := h.run(t, node("a", 0), func(s *dispatch.Settings) { s.Capacity, s.Lease = free, 3*time.Second })
		bots := []uuid.UUID{h.create(t, time.Time{}), h.create(t, time.Time{})}
		for _, id := range bots {
			h.untilLaunched(t, id, 0)
		}
		for range 3 {
			h.clock.Advance(30 * time.Second)
			for _, id := range bots {
				h.beat(t, id, ingest.Stats{CoresUsed: 1.9, MemoryBytes: 512 << 20})
			}
		}
		await.Until(t, "no capacity is free", func() bool { return free.FullReason(t.Context(), h.clock.Now()) != "" })
		waiting := h.create(t, time.Time{})
		h.untilPending(t, waiting)
		entries := h.Entries(t, waiting)
		const reason = "runs 2 bots and has capacity for 2: 4.0 cores and 64.0 GiB of memory, of which a bot uses 1.9 cores and 1.0 GiB of memory (measured"
		if len(entries) != 1 || !strings.Contains(string(entries[0].Data), reason) {
			t.Errorf("timeline %+v", entries)
		}
		later := h.clock.Now().Add(72 * time.Hour)
		h.create(t, later)
		fleet, err := dispatch.NewFleetReader(h.Store, 0, h.clock.Now).Fleet(t.Context())
		if want := (dispatch.BotResources{Cores: 1.9, Memory: 512 << 20}); err != nil || fleet.BotUsage["a"] != want {
			t.Errorf("bot usage %+v (%v)", fleet.BotUsage, err)
		}
		starts := func(c job.UpcomingCount) bool { return c.Jobs == 1 && c.From.Equal(later.Truncate(5*time.Minute)) }
		if !slices.ContainsFunc(fleet.Week, starts) || slices.ContainsFunc(fleet.Upcoming, starts) {
			t.Errorf("a job in three days: the week %+v, the day %+v", fleet.Week, fleet.Upcoming)
		}
		weekLater := func() time.Time { return time.Now().AddDate(0, 0, 7).Add(-dispatch.ReserveTime / 2) }
		if fleet, err = dispatch.NewFleetReader(h.Store, 0, weekLater).Fleet(t.Context()); err != nil || fleet.Unscheduled != 3 {
			t.Errorf("%d bots may begin unscheduled, want 3 (%v)", fleet.Unscheduled, err)
		}

		h.cancel(t, waiting)
		h.lose(t, d, bots[0], 0)
		if r := h.untilLaunched(t, bots[0], 1); len(r.Stats) != 0 {
			t.Errorf("the new attempt has statistics %s before its first heartbeat", r.Stats)
		}
	})
}

// beat sends a heartbeat of a job's first bot.
func (h *harness) beat(t *testing.T, id uuid.UUID, stats ingest.Stats) {
	t.Helper()
	if _, err := h.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{Stats: &stats}, 0); err != nil {
		t.Fatal(err)
	}
}
