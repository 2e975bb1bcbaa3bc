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
const settled = time.Minute

// Cost is what one bot takes of its node, its browser included.
type Cost struct {
	Cores  float64
	Memory uint64 // bytes
}

// DefaultCost is what a bot is expected to take unless the operator says
// otherwise.
func DefaultCost() Cost { return Cost{Cores: 1, Memory: 1 << 30} }

// RoomSettings are what a Room is made of.
type RoomSettings struct {
	// MaxBots is how many bots there is room for. With 0 the machine says so.
	MaxBots int
	Cost    Cost
	// Machine tells what the machine has; nil when bots run elsewhere, and
	// then there is always room unless MaxBots says otherwise.
	Machine func(context.Context) host.Resources
}

// Room is a node's room for bots. A bot takes its place before it is launched,
// with what it costs; what bots really take and how much memory is left is
// measured, and may leave less room than was reckoned with, never more. There
// is always room for one.
type Room struct {
	settings RoomSettings

	mu       sync.Mutex
	places   map[uuid.UUID]place
	expected Cost // of one bot more, and of those that were measured; see measure.go
}

// place is that of a job's bot.
type place struct {
	attempt int
	since   time.Time
	takes   Cost      // as measured, on average; 0 for what was not
	heard   time.Time // when it was measured last
}

// NewRoom returns an empty room.
func NewRoom(settings RoomSettings) *Room {
	if settings.Cost.Cores <= 0 {
		settings.Cost.Cores = DefaultCost().Cores
	}
	if settings.Cost.Memory == 0 {
		settings.Cost.Memory = DefaultCost().Memory
	}
	return &Room{settings: settings, places: make(map[uuid.UUID]place), expected: settings.Cost}
}

// boundless is the size of a room that nothing bounds.
const boundless = 1 << 20

// Size is for how many bots there is room in all.
func (m *Room) Size(ctx context.Context) int {
	switch {
	case m.settings.MaxBots > 0:
		return m.settings.MaxBots
	case m.settings.Machine == nil:
		return boundless
	}
	has := m.settings.Machine(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.size(has)
}

// size is for how many bots there is room in all, by what the machine has and
// bots take.
func (m *Room) size(has host.Resources) int {
	size := boundless
	cores, memory := m.averages()
	if has.Cores > 0 {
		size = min(size, fit(has.Cores, m.settings.Cost.Cores, m.expected.Cores, len(m.places), cores.of))
	}
	if has.MemoryTotal > 0 {
		size = min(size, fit(float64(has.MemoryTotal), float64(m.settings.Cost.Memory), float64(m.expected.Memory), len(m.places), memory.of))
	}
	return size
}

// measures reports whether it matters what bots take.
func (m *Room) measures() bool { return m.settings.MaxBots == 0 && m.settings.Machine != nil }

// Taken is how many bots have their place.
func (m *Room) Taken() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.places)
}

// Full tells why one bot more would not fit now; empty when it would.
func (m *Room) Full(ctx context.Context, now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, why := m.free(ctx, now)
	return why
}

// Free is how many bots more fit now.
func (m *Room) Free(ctx context.Context, now time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _ := m.free(ctx, now)
	return n
}

// take gives the bot of a job its place, or tells why there is none. A job that
// has a place keeps it.
func (m *Room) take(ctx context.Context, id uuid.UUID, attempt int, now time.Time) (noRoom string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, has := m.places[id]; !has {
		if _, why := m.free(ctx, now); why != "" {
			return why
		}
	}
	m.places[id] = place{attempt: attempt, since: now}
	m.expect()
	return ""
}

// occupy gives a bot that runs already its place, whether or not there is room.
func (m *Room) occupy(id uuid.UUID, attempt int, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places[id] = place{attempt: attempt, since: since}
}

// leave frees the place of a job's bot, and reports whether it had one.
func (m *Room) leave(id uuid.UUID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, had := m.places[id]
	delete(m.places, id)
	m.expect()
	return had
}

// taken is a copy of all places.
func (m *Room) taken() map[uuid.UUID]place {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[uuid.UUID]place, len(m.places))
	for id, p := range m.places {
		all[id] = p
	}
	return all
}

// free is how many bots more fit, and why none does.
func (m *Room) free(ctx context.Context, now time.Time) (more int, why string) {
	taken := len(m.places)
	if max := m.settings.MaxBots; max > 0 {
		if taken >= max {
			return 0, fmt.Sprintf("this node runs %d of %d bots (STANDIN_MAX_BOTS)", taken, max)
		}
		return max - taken, ""
	}
	if m.settings.Machine == nil {
		return boundless, ""
	}
	has := m.settings.Machine(ctx)
	size := m.size(has)
	if taken >= size {
		return 0, fmt.Sprintf("this node runs %d bots and has room for %d: %.1f cores and %s of memory, of which a bot takes %s",
			taken, size, has.Cores, inGiB(has.MemoryTotal), m.cost())
	}
	more = size - taken
	if taken == 0 || has.MemoryTotal == 0 {
		return more, ""
	}
	var young uint64 // what bots will use that they do not use yet
	for _, p := range m.places {
		if now.Sub(p.since) < settled {
			young += m.settings.Cost.Memory
		}
	}
	unused := has.MemoryAvailable - min(young, has.MemoryAvailable)
	more = min(more, int(min(unused/m.expected.Memory, boundless)))
	if more == 0 {
		return 0, fmt.Sprintf("this node has %s of memory left, %s of it for bots that have just started, and a bot takes %s",
			inGiB(has.MemoryAvailable), inGiB(young), m.cost())
	}
	return more, ""
}

func inGiB(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
