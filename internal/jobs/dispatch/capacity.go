package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/operation/host"
)

// warmUp is how long after its start the usage of a bot can be measured. Until
// then the configured resources are kept free for it.
const warmUp = time.Minute

// overloaded is the share of a minute in which something waits for a processor from which on no more
// bots are started: the recordings of those that run would suffer.
const overloaded = 0.95

// Unlimited is the capacity of a node that nothing limits.
const Unlimited = 1 << 20

// BotResources is what one bot uses of its node, its browser included.
type BotResources struct {
	Cores  float64
	Memory uint64 // bytes
}

// CapacitySettings configure a Capacity.
type CapacitySettings struct {
	// MaxBots is how many bots the node runs. With 0 it follows from Machine.
	MaxBots int
	PerBot  BotResources // 1 core and 1 GiB unless the operator configures it
	// Machine returns what the machine has. It is nil when bots run elsewhere;
	// then only MaxBots limits their number.
	Machine func(context.Context) host.Resources
}

// Capacity counts how many bots a node runs and can run. A bot's slot is
// reserved before it is launched. Measured usage, the machine's available memory and
// its load can lower the configured capacity, never raise it. One bot always fits.
type Capacity struct {
	settings CapacitySettings

	mu     sync.Mutex
	slots  map[uuid.UUID]slot
	perBot BotResources // expected of one more bot, and of those that were measured; see usage.go
}

// slot is reserved for the bot of a job.
type slot struct {
	attempt    int
	reservedAt time.Time
	usage      BotResources // measured average; 0 for what was not measured
	measuredAt time.Time
}

// NewCapacity returns a Capacity with all slots free.
func NewCapacity(settings CapacitySettings) *Capacity {
	if settings.PerBot.Cores <= 0 {
		settings.PerBot.Cores = 1
	}
	settings.PerBot.Memory = cmp.Or(settings.PerBot.Memory, 1<<30)
	return &Capacity{settings: settings, slots: make(map[uuid.UUID]slot), perBot: settings.PerBot}
}

// Total returns how many bots fit on the node.
func (c *Capacity) Total(ctx context.Context) int {
	switch {
	case c.settings.MaxBots > 0:
		return c.settings.MaxBots
	case c.settings.Machine == nil:
		return Unlimited
	}
	machine := c.settings.Machine(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total(machine)
}

// Used returns how many slots are reserved.
func (c *Capacity) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.slots)
}

// Free returns how many more bots fit now.
func (c *Capacity) Free(ctx context.Context, now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := c.free(ctx, now)
	return n
}

// FullReason returns why no more bots fit now; empty when one does.
func (c *Capacity) FullReason(ctx context.Context, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, reason := c.free(ctx, now)
	return reason
}

// reserve reserves a slot for the bot of an attempt, or returns why there is none. A job
// that has a slot keeps it. undo makes it as it was.
func (c *Capacity) reserve(ctx context.Context, id uuid.UUID, attempt int, now time.Time) (undo func(), noCapacity string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	previous, had := c.slots[id]
	if !had {
		if _, reason := c.free(ctx, now); reason != "" {
			return nil, reason
		}
	}
	c.slots[id] = slot{attempt: attempt, reservedAt: now}
	c.updatePerBot()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.slots, id); had {
			c.slots[id] = previous
		}
		c.updatePerBot()
	}, ""
}

// occupy reserves a slot for a bot that runs already, even when none is free.
func (c *Capacity) occupy(id uuid.UUID, attempt int, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[id] = slot{attempt: attempt, reservedAt: since}
}

// release frees the slot of a job's bot, and reports whether it had one.
func (c *Capacity) release(id uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.slots[id]
	delete(c.slots, id)
	c.updatePerBot()
	return ok
}

// reserved returns a copy of all slots.
func (c *Capacity) reserved() map[uuid.UUID]slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.slots)
}

// free returns how many more bots fit, and why none does.
func (c *Capacity) free(ctx context.Context, now time.Time) (n int, reason string) {
	used := len(c.slots)
	if limit := c.settings.MaxBots; limit > 0 {
		if used >= limit {
			return 0, fmt.Sprintf("this node runs %d of %d bots (STANDIN_MAX_BOTS)", used, limit)
		}
		return limit - used, ""
	}
	if c.settings.Machine == nil {
		return Unlimited, ""
	}
	machine := c.settings.Machine(ctx)
	total := c.total(machine)
	if used >= total {
		return 0, fmt.Sprintf("this node runs %d bots and has capacity for %d: %.1f cores and %s of memory, of which a bot uses %s",
			used, total, machine.Cores, inGiB(machine.MemoryTotal), c.describePerBot())
	}
	n = total - used
	if used > 0 && machine.Waiting >= overloaded {
		return 0, fmt.Sprintf("this machine is overloaded: in the last minute something waited for a processor in %.0f%% of the time, "+
			"and the recordings of %d bots would suffer", 100*machine.Waiting, used)
	}
	if used == 0 || machine.MemoryTotal == 0 {
		return n, ""
	}
	var starting uint64 // what bots that have just started will use and do not use yet
	for _, s := range c.slots {
		if now.Sub(s.reservedAt) < warmUp {
			starting += c.settings.PerBot.Memory
		}
	}
	unused := machine.MemoryAvailable - min(starting, machine.MemoryAvailable)
	n = min(n, int(min(unused/c.perBot.Memory, Unlimited)))
	if n == 0 {
		return 0, fmt.Sprintf("this node has %s of memory left, %s of it for bots that have just started, and a bot uses %s",
			inGiB(machine.MemoryAvailable), inGiB(starting), c.describePerBot())
	}
	return n, ""
}

// total returns how many bots fit on a machine.
func (c *Capacity) total(machine host.Resources) int {
	total := Unlimited
	used := c.averageUsage()
	if machine.Cores > 0 {
		total = min(total, fit(machine.Cores, c.settings.PerBot.Cores, c.perBot.Cores, len(c.slots), used.cores.count))
	}
	if machine.MemoryTotal > 0 {
		total = min(total, fit(float64(machine.MemoryTotal), float64(c.settings.PerBot.Memory), float64(c.perBot.Memory), len(c.slots),
			used.memory.count))
	}
	return total
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
