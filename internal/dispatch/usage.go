package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	// averaged is how far back the average of what a bot takes reaches.
	averaged = time.Minute
	// noise is the part of a figure by which it may change, or exceed what was
	// reckoned with, and nothing follows from it.
	noise = 0.1
)

// measured notes what a job's bot told that it took when it was heard; 0 for
// what it did not tell. One that has just started says nothing of what it will
// take: it counts with what was reckoned.
func (m *Capacity) recordUsage(id uuid.UUID, attempt int, heard time.Time, takes BotResources) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, has := m.slots[id]
	if !has || p.attempt != attempt || heard.Sub(p.reservedAt) < warmUp || !heard.After(p.measuredAt) {
		return
	}
	weight := 1 - math.Exp(-heard.Sub(p.measuredAt).Seconds()/averaged.Seconds())
	p.usage.Cores = mixed(p.usage.Cores, takes.Cores, weight)
	p.usage.Memory = uint64(mixed(float64(p.usage.Memory), float64(takes.Memory), weight))
	p.measuredAt = heard
	m.slots[id] = p
	m.updatePerBot()
}

// mixed is an average into which another figure comes; 0 is none.
func mixed(before, now, weight float64) float64 {
	switch {
	case now == 0:
		return before
	case before == 0:
		return now
	}
	return before + (now-before)*weight
}

// expect makes up what a bot is expected to take: what the node's measured bots
// take on average, and never less than what was reckoned with.
func (m *Capacity) updatePerBot() {
	cores, memory := m.averageUsage()
	m.perBot.Cores = steady(m.perBot.Cores, cores.value(), m.settings.PerBot.Cores)
	m.perBot.Memory = uint64(steady(float64(m.perBot.Memory), memory.value(), float64(m.settings.PerBot.Memory)))
}

// averages is what the bots that were measured take.
func (m *Capacity) averageUsage() (cores, memory average) {
	for _, p := range m.slots {
		cores.add(p.usage.Cores)
		memory.add(float64(p.usage.Memory))
	}
	return cores, memory
}

// average is that of figures of which 0 is none.
type average struct {
	sum float64
	of  int
}

func (a *average) add(figure float64) {
	if figure > 0 {
		a.sum, a.of = a.sum+figure, a.of+1
	}
}

func (a average) value() float64 { return a.sum / float64(max(1, a.of)) }

// steady is what is expected when so much was measured, 0 for nothing: what was
// expected before, unless the two are further apart than noise is.
func steady(expected, measured, reckoned float64) float64 {
	switch {
	case measured == 0:
		return reckoned
	case math.Abs(measured-expected) <= noise*expected:
		return expected
	case measured <= (1+noise)*reckoned:
		return reckoned
	}
	return measured
}

// fit is how many bots fit into so much, in all. Of those that are there the
// measured ones take what is expected, as one more would; the others, what was
// reckoned with.
func fit(has, reckoned, expected float64, there, measured int) int {
	const rounding = 1e-9
	left := has - expected*float64(measured) - reckoned*float64(there-measured)
	most := min(math.Floor(has/reckoned+rounding), float64(there)+math.Floor(left/expected+rounding))
	return int(max(1, min(most, unlimited)))
}

// cost is what a bot takes, for people; when that was measured, it says so.
func (m *Capacity) describePerBot() string {
	reckoned, expected := m.settings.PerBot, m.perBot
	said := fmt.Sprintf("%.1f cores and %s of memory", expected.Cores, inGiB(expected.Memory))
	if expected == reckoned {
		return said
	}
	cores, memory := m.averageUsage()
	return said + fmt.Sprintf(" (measured, on the average of %d; reckoned with were %.1f and %s)", max(cores.of, memory.of), reckoned.Cores, inGiB(reckoned.Memory))
}

// measure has the room know what the bots of this node tell that they take.
func (d *Dispatcher) measure(ctx context.Context) {
	if !d.Capacity.measuresUsage() {
		return
	}
	bots, err := d.Store.BotStats(ctx, d.Node.ID)
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Error("cannot see what the bots of this node take; what was measured before counts", "error", err)
		}
		return
	}
	for _, bot := range bots {
		d.Capacity.recordUsage(bot.JobID, bot.Attempt, bot.HeartbeatAt, costOf(bot))
	}
}

// costOf is what a bot told that it takes; 0 for what it did not tell.
func costOf(bot job.BotStats) BotResources {
	var stats ingest.Stats
	// What cannot be read tells nothing.
	_ = json.Unmarshal(bot.Stats, &stats)
	return BotResources{Cores: max(0, stats.CoresUsed), Memory: uint64(max(0, stats.MemoryBytes))}
}

// averagesOf is what bots told last that they take, on average, by their node's
// id; 0 for what none of them told.
func averagesOf(bots []job.BotStats) map[string]BotResources {
	cores, memory := make(map[string]average), make(map[string]average)
	for _, bot := range bots {
		takes, c, m := costOf(bot), cores[bot.Node], memory[bot.Node]
		c.add(takes.Cores)
		m.add(float64(takes.Memory))
		cores[bot.Node], memory[bot.Node] = c, m
	}
	all := make(map[string]BotResources, len(cores))
	for node := range cores {
		all[node] = BotResources{Cores: cores[node].value(), Memory: uint64(memory[node].value())}
	}
	return all
}
