package dispatch_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/operation/host"
)

// node sets the node ID of a dispatcher and its capacity in bots.
func node(name string, free int) func(*dispatch.Settings) {
	return func(s *dispatch.Settings) {
		s.Node = dispatch.Node{ID: name, Name: name}
		s.Capacity = dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: free})
	}
}

// untilPending waits until the job waits for capacity.
func (h *harness) untilPending(t *testing.T, id uuid.UUID) job.Record {
	t.Helper()
	return h.until(t, id, "pending", func(r job.Record) bool { return r.Status == job.Pending })
}

// TestJobWaitsForCapacity checks that due jobs wait while no capacity is free, that
// their timeline contains the reason, and that they are launched in the order of
// joinAt on any node with capacity.
func TestJobWaitsForCapacity(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		d, _ := h.run(t, node("a", 1))
		first := h.launched(t)
		start := h.clock.Now()
		later := h.create(t, start.Add(2*time.Second))
		sooner := h.create(t, start.Add(time.Second))
		h.at(start.Add(3 * time.Second))
		h.untilPending(t, later)
		if r := h.untilPending(t, sooner); r.Attempts != 0 || !r.WakeAt.After(h.clock.Now()) {
			t.Errorf("waiting job %+v", r)
		}
		entries := h.Entries(t, sooner)
		if len(entries) != 1 || entries[0].Kind != job.NoCapacity || !strings.Contains(string(entries[0].Data), "1 of 1 bots") {
			t.Errorf("timeline %+v", entries)
		}

		h.sendEvent(t, first, 0, job.BotExited, `{"failureCode":"meeting_not_found"}`)
		h.lose(t, d, first, 0)
		h.untilLaunched(t, sooner, 0)
		if r := h.Record(t, later); r.Status != job.Pending {
			t.Errorf("the job with the later joinAt is %s", r.Status)
		}
		h.run(t, node("b", 4))
		if r := h.untilLaunched(t, later, 0); r.Node != "b" {
			t.Errorf("the job runs on node %q", r.Node)
		}
	})
}

// TestSimulatedBotsUseNoCapacity checks that simulated bots run without capacity.
func TestSimulatedBotsUseNoCapacity(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t, node("a", 1))
	h.launched(t)
	h.Caller.Mode = job.Test
	h.launched(t)
	h.launched(t)
}

// TestCapacityOfMachine checks that capacity follows from the configured resources
// per bot and the available memory.
func TestCapacityOfMachine(t *testing.T) {
	t.Parallel()
	has := host.Resources{Cores: 8, MemoryTotal: 16 << 30, MemoryAvailable: 16 << 30}
	free := dispatch.NewCapacity(dispatch.CapacitySettings{
		PerBot: dispatch.BotResources{Cores: 2, Memory: 2 << 30}, Machine: func(context.Context) host.Resources { return has },
	})
	now := time.Now()
	for taken, want := range []int{4, 3, 2, 1, 0} {
		if got := free.Free(t.Context(), now); got != want {
			t.Errorf("with %d bots: %d free, want %d", taken, got, want)
		}
		if taken < 4 {
			dispatch.Reserve(t, free, now)
		}
	}
	if reason := free.FullReason(t.Context(), now); !strings.Contains(reason, "8.0 cores") {
		t.Errorf("full reason %q", reason)
	}

	free = dispatch.NewCapacity(dispatch.CapacitySettings{
		PerBot: dispatch.BotResources{Cores: 1, Memory: 2 << 30}, Machine: func(context.Context) host.Resources { return has },
	})
	dispatch.Reserve(t, free, now)
	has.MemoryAvailable = 7 << 30
	if got := free.Free(t.Context(), now); got != 2 {
		t.Errorf("7 GiB available, 2 of them reserved for the new bot: %d free, want 2", got)
	}
	later := now.Add(time.Hour)
	if got := free.Free(t.Context(), later); got != 3 {
		t.Errorf("7 GiB available beside a settled bot: %d free, want 3", got)
	}
	has.Waiting = 0.97
	if cause := free.FullReason(t.Context(), later); !strings.Contains(cause, "waited for a processor in 97% of the time") {
		t.Errorf("on an overloaded machine: full reason %q", cause)
	}
	has.Waiting, has.MemoryAvailable = 0.5, 1<<30
	if cause := free.FullReason(t.Context(), later); !strings.Contains(cause, "1.0 GiB of memory left") {
		t.Errorf("full reason %q", cause)
	}
	small := dispatch.NewCapacity(dispatch.CapacitySettings{Machine: func(context.Context) host.Resources {
		return host.Resources{Cores: 0.5, MemoryTotal: 1 << 29, MemoryAvailable: 1 << 20, Waiting: 1}
	}})
	if got := small.Free(t.Context(), now); got != 1 {
		t.Errorf("a machine that is too small: %d free, want 1", got)
	}
}

// TestSlotOfUnstartedAttempt checks that a node keeps no slot for an attempt that it did not
// start, because the lost bot of another node reported just then.
func TestSlotOfUnstartedAttempt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		_, stop := h.run(t, node("a", 1))
		id := h.launched(t)
		stop()
		h.bots.setState(id, 0, launch.NotStarted) // the launcher of another node does not know it
		var reported sync.Once
		var err error
		capacity := dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 1})
		h.run(t, node("b", 1), func(s *dispatch.Settings) {
			s.Capacity = capacity
			s.Now = func() time.Time {
				if isCalledBy("dispatch.(*task).reserve") {
					reported.Do(func() {
						h.sendEvent(t, id, 0, job.BotJoined, `{}`)
						_, err = h.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{}, 0)
					})
				}
				return h.clock.Now()
			}
		})
		h.at(h.clock.Now().Add(10 * time.Minute))
		h.until(t, id, "joining", func(r job.Record) bool { return r.Status == job.Joining })
		if used := capacity.Used(); used != 0 || err != nil {
			t.Errorf("%d slots are used (%v)", used, err)
		}
	})
}
