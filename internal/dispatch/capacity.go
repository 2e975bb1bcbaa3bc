package dispatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/host"
)

// settled is how long a bot takes until what it uses of its machine can be
// measured; until then what it was reckoned with is kept free for it.
const warmUp = time.Minute

// Cost is what one bot takes of its node, its browser included.
type BotResources struct {
	Cores  float64
	Memory uint64 // bytes
}

// DefaultCost is what a bot is expected to take unless the operator says
// otherwise.
func DefaultBotResources() BotResources { return BotResources{Cores: 1, Memory: 1 << 30} }

// RoomSettings are what a Room is made of.
type CapacitySettings struct {
	// MaxBots is how many bots there is room for. With 0 the machine says so.
	MaxBots int
	PerBot  BotResources
	// Machine tells what the machine has; nil when bots run elsewhere, and
	// then there is always room unless MaxBots says otherwise.
	Machine func(context.Context) host.Resources
}

// Room is a node's room for bots. A bot takes its place before it is launched,
// with what it costs; what bots really take and how much memory is left is
// measured, and may leave less room than was reckoned with, never more. There
// is always room for one.
type Capacity struct {
	settings CapacitySettings

	mu     sync.Mutex
	slots  map[uuid.UUID]slot
	perBot BotResources // of one bot more, and of those that were measured; see measure.go
}

// place is that of a job's bot.
type slot struct {
	attempt    int
	reservedAt time.Time
	usage      BotResources // as measured, on average; 0 for what was not
	measuredAt time.Time    // when it was measured last
}

// NewRoom returns an empty room.
func NewCapacity(settings CapacitySettings) *Capacity {
	if settings.PerBot.Cores <= 0 {
		settings.PerBot.Cores = DefaultBotResources().Cores
	}
	if settings.PerBot.Memory == 0 {
		settings.PerBot.Memory = DefaultBotResources().Memory
	}
	return &Capacity{settings: settings, slots: make(map[uuid.UUID]slot), perBot: settings.PerBot}
}

// boundless is the size of a room that nothing bounds.
const unlimited = 1 << 20

// Size is for how many bots there is room in all.
func (m *Capacity) Total(ctx context.Context) int {
	switch {
	case m.settings.MaxBots > 0:
		return m.settings.MaxBots
	case m.settings.Machine == nil:
		return unlimited
	}
	has := m.settings.Machine(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total(has)
}

// size is for how many bots there is room in all, by what the machine has and
// bots take.
func (m *Capacity) total(has host.Resources) int {
	size := unlimited
	cores, memory := m.averageUsage()
	if has.Cores > 0 {
		size = min(size, fit(has.Cores, m.settings.PerBot.Cores, m.perBot.Cores, len(m.slots), cores.of))
	}
	if has.MemoryTotal > 0 {
		size = min(size, fit(float64(has.MemoryTotal), float64(m.settings.PerBot.Memory), float64(m.perBot.Memory), len(m.slots), memory.of))
	}
	return size
}

// measures reports whether it matters what bots take.
func (m *Capacity) measuresUsage() bool { return m.settings.MaxBots == 0 && m.settings.Machine != nil }

// Taken is how many bots have their place.
func (m *Capacity) Used() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.slots)
}

// Full tells why one bot more would not fit now; empty when it would.
func (m *Capacity) FullReason(ctx context.Context, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, why := m.free(ctx, now)
	return why
}

// Free is how many bots more fit now.
func (m *Capacity) Free(ctx context.Context, now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.free(ctx, now)
	return n
}

// take gives the bot of a job its place, or tells why there is none. A job that
// has a place keeps it.
func (m *Capacity) reserve(ctx context.Context, id uuid.UUID, attempt int, now time.Time) (noRoom string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, has := m.slots[id]; !has {
		if _, why := m.free(ctx, now); why != "" {
			return why
		}
	}
	m.slots[id] = slot{attempt: attempt, reservedAt: now}
	m.updatePerBot()
	return ""
}

// occupy gives a bot that runs already its place, whether or not there is room.
func (m *Capacity) occupy(id uuid.UUID, attempt int, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slots[id] = slot{attempt: attempt, reservedAt: since}
}

// leave frees the place of a job's bot, and reports whether it had one.
func (m *Capacity) release(id uuid.UUID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, had := m.slots[id]
	delete(m.slots, id)
	m.updatePerBot()
	return had
}

// taken is a copy of all places.
func (m *Capacity) reserved() map[uuid.UUID]slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[uuid.UUID]slot, len(m.slots))
	for id, p := range m.slots {
		all[id] = p
	}
	return all
}

// free is how many bots more fit, and why none does.
func (m *Capacity) free(ctx context.Context, now time.Time) (more int, why string) {
	taken := len(m.slots)
	if max := m.settings.MaxBots; max > 0 {
		if taken >= max {
			return 0, fmt.Sprintf("this node runs %d of %d bots (STANDIN_MAX_BOTS)", taken, max)
		}
		return max - taken, ""
	}
	if m.settings.Machine == nil {
		return unlimited, ""
	}
	has := m.settings.Machine(ctx)
	size := m.total(has)
	if taken >= size {
		return 0, fmt.Sprintf("this node runs %d bots and has room for %d: %.1f cores and %s of memory, of which a bot takes %s",
			taken, size, has.Cores, inGiB(has.MemoryTotal), m.describePerBot())
	}
	more = size - taken
	if taken == 0 || has.MemoryTotal == 0 {
		return more, ""
	}
	var young uint64 // what bots will use that they do not use yet
	for _, p := range m.slots {
		if now.Sub(p.reservedAt) < warmUp {
			young += m.settings.PerBot.Memory
		}
	}
	unused := has.MemoryAvailable - min(young, has.MemoryAvailable)
	more = min(more, int(min(unused/m.perBot.Memory, unlimited)))
	if more == 0 {
		return 0, fmt.Sprintf("this node has %s of memory left, %s of it for bots that have just started, and a bot takes %s",
			inGiB(has.MemoryAvailable), inGiB(young), m.describePerBot())
	}
	return more, ""
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
