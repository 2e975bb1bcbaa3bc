package dispatch

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/operation/host"
)

// TestCapacityWithMeasuredUsage checks that measured usage lowers the configured
// capacity and never raises it.
func TestCapacityWithMeasuredUsage(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, test := range map[string]struct {
		settled []BotResources // usage that settled bots report
		young   int            // bots that have not settled or report nothing
		size    int
		free    int
		reason  string // part of the reason for no free capacity
	}{
		"no bots":                  {nil, 0, 8, 8, ""},
		"no reports":               {nil, 3, 8, 5, ""},
		"as configured":            {[]BotResources{{1, gib}, {1, gib}}, 0, 8, 6, ""},
		"less than configured":     {[]BotResources{{0.3, gib / 4}, {0.4, gib / 4}}, 0, 8, 6, ""},
		"slightly more is ignored": {[]BotResources{{1.05, gib}, {1.12, gib * 11 / 10}}, 0, 8, 6, ""},
		"more processor time":      {[]BotResources{{1.6, gib}, {1.6, gib}, {1.6, gib}}, 0, 5, 2, ""},
		"with new bots":            {[]BotResources{{1.6, gib}, {1.6, gib}, {1.6, gib}}, 1, 5, 1, ""},
		"no capacity left": {
			[]BotResources{{1.6, gib}, {1.6, gib}, {1.6, gib}}, 2, 5, 0,
			"5 bots and has capacity for 5: 8.0 cores and 16.0 GiB of memory, of which a bot uses 1.6 cores and 1.0 GiB of memory (measured average of 3 bots; configured are 1.0 and 1.0 GiB)",
		},
		"on average": {[]BotResources{{1, gib}, {3, gib}}, 0, 4, 2, ""},
		"more than available": {
			[]BotResources{{2, gib}, {2, gib}, {2, gib}, {2, gib}, {2, gib}, {2, gib}}, 0, 4, 0, "6 bots and has capacity for 4",
		},
		"more memory": {[]BotResources{{1, 4 * gib}, {1, 4 * gib}}, 0, 4, 2, ""},
		"only memory can be measured": {
			[]BotResources{{0, 8 * gib}}, 1, 2, 0, "a bot uses 1.0 cores and 8.0 GiB of memory (measured average of 1 bots;",
		},
		"more than the machine has, one may run": {[]BotResources{{20, gib}}, 0, 1, 0, "1 bots and has capacity for 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			capacity := newCapacity8(BotResources{Cores: 1, Memory: gib})
			for _, takes := range test.settled {
				id := uuid.New()
				capacity.occupy(id, 0, now.Add(-time.Hour))
				capacity.recordUsage(id, 0, now, takes)
			}
			for range test.young {
				id := uuid.New()
				capacity.occupy(id, 0, now.Add(-warmUp+time.Second))
				capacity.recordUsage(id, 0, now, BotResources{Cores: 9, Memory: 9 * gib}) // the bot has not settled
			}
			size, free, reason := capacity.Total(t.Context()), capacity.Free(t.Context(), now), capacity.FullReason(t.Context(), now)
			if size != test.size || free != test.free {
				t.Errorf("capacity %d with %d free, want %d with %d free", size, free, test.size, test.free)
			}
			if (reason == "") != (test.free > 0) || !strings.Contains(reason, test.reason) {
				t.Errorf("full reason %q", reason)
			}
		})
	}
}

// newCapacity8 returns the capacity of a machine with 8 cores and 16 GiB.
func newCapacity8(cost BotResources) *Capacity {
	return NewCapacity(CapacitySettings{PerBot: cost, Machine: func(context.Context) host.Resources {
		return host.Resources{Cores: 8, MemoryTotal: 16 << 30, MemoryAvailable: 16 << 30}
	}})
}

// TestMeasuredCapacityIsStable checks that usage is averaged over the last minute,
// that small changes do not change the capacity, and that the measurements of a bot
// are removed with the bot.
func TestMeasuredCapacityIsStable(t *testing.T) {
	t.Parallel()
	now := time.Now()
	free := newCapacity8(BotResources{})
	id := uuid.New()
	free.occupy(id, 1, now.Add(-time.Hour))
	report := func(attempt int, after time.Duration, cores float64) int {
		now = now.Add(after)
		free.recordUsage(id, attempt, now, BotResources{Cores: cores})
		return free.Total(t.Context())
	}
	if got := report(0, time.Second, 4); got != 8 {
		t.Errorf("capacity %d after a report of an earlier attempt, want 8", got)
	}
	if got := report(1, time.Second, 1.6); got != 5 {
		t.Errorf("capacity %d", got)
	}
	for _, cores := range []float64{1.7, 1.5, 1.65, 1.55, 1.75} {
		if got := report(1, 25*time.Second, cores); got != 5 {
			t.Errorf("capacity %d after a short use of %.2f cores, want 5", got, cores)
		}
	}
	if got := report(1, 15*time.Second, 2.5); got != 4 {
		t.Errorf("capacity %d after higher use for 15 seconds, want 4", got)
	}
	if got := report(1, 0, 8); got != 4 {
		t.Errorf("capacity %d after two reports at the same time, want 4", got)
	}
	for range 20 {
		report(1, 25*time.Second, 0.5)
	}
	if got := free.Total(t.Context()); got != 8 {
		t.Errorf("capacity %d after minutes of low use, want 8", got)
	}
	if got := report(1, time.Hour, 4); got != 2 {
		t.Errorf("capacity %d", got)
	}
	free.release(id)
	if got := free.Total(t.Context()); got != 8 {
		t.Errorf("capacity %d without measured bots, want 8", got)
	}
	if math.Abs(movingAverage(1, 2, 0.5)-1.5) > 1e-9 || movingAverage(0, 2, 0.5) != 2 || movingAverage(1, 0, 0.5) != 1 {
		t.Error("movingAverage is not between its arguments")
	}
}
