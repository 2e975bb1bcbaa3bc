package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

const (
	// averagingTime is the time constant of the moving average of a bot's usage.
	averagingTime = time.Minute
	// tolerance is the fraction by which usage may change, or exceed the
	// configured resources, without effect.
	tolerance = 0.1
)

// measuresUsage reports whether the capacity depends on the bots' usage.
func (c *Capacity) measuresUsage() bool { return c.settings.MaxBots == 0 && c.settings.Machine != nil }

// recordUsage adds what a job's bot reported at a heartbeat; 0 is not reported.
// A bot that has just started counts with the configured resources: its usage
// is not yet representative.
func (c *Capacity) recordUsage(id uuid.UUID, attempt int, at time.Time, usage BotResources) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.slots[id]
	if !ok || s.attempt != attempt || at.Sub(s.reservedAt) < warmUp || !at.After(s.measuredAt) {
		return
	}
	weight := 1 - math.Exp(-at.Sub(s.measuredAt).Seconds()/averagingTime.Seconds())
	s.usage.Cores = movingAverage(s.usage.Cores, usage.Cores, weight)
	s.usage.Memory = uint64(movingAverage(float64(s.usage.Memory), float64(usage.Memory), weight))
	s.measuredAt = at
	c.slots[id] = s
	c.updatePerBot()
}

// movingAverage adds a value to an average; 0 is no value.
func movingAverage(average, value, weight float64) float64 {
	switch {
	case value == 0:
		return average
	case average == 0:
		return value
	}
	return average + (value-average)*weight
}

// updatePerBot updates what a bot is expected to use: the average of the node's
// measured bots, and never less than configured.
func (c *Capacity) updatePerBot() {
	if !c.measuresUsage() {
		return
	}
	used := c.averageUsage()
	c.perBot.Cores = expectedUsage(c.perBot.Cores, used.cores.value(), c.settings.PerBot.Cores)
	c.perBot.Memory = uint64(expectedUsage(float64(c.perBot.Memory), used.memory.value(), float64(c.settings.PerBot.Memory)))
}

// expectedUsage returns what to expect after a measurement, which is 0 when
// there is none. The previous expectation stays while the two differ by less
// than the tolerance.
func expectedUsage(previous, measured, configured float64) float64 {
	switch {
	case measured == 0:
		return configured
	case math.Abs(measured-previous) <= tolerance*previous:
		return previous
	case measured <= (1+tolerance)*configured:
		return configured
	}
	return measured
}

// averageUsage returns the average usage of the measured bots.
func (c *Capacity) averageUsage() (used averages) {
	for _, s := range c.slots {
		used.add(s.usage)
	}
	return used
}

// fit returns how many bots fit into a resource in all. Of the used slots, the
// measured ones count with the expected usage, as one more bot would; the
// others count with the configured one.
func fit(resource, configured, expected float64, used, measured int) int {
	const rounding = 1e-9
	left := resource - expected*float64(measured) - configured*float64(used-measured)
	most := min(math.Floor(resource/configured+rounding), float64(used)+math.Floor(left/expected+rounding))
	return int(max(1, min(most, Unlimited)))
}

// describePerBot describes for people what a bot uses, and whether that was
// measured.
func (c *Capacity) describePerBot() string {
	configured, expected := c.settings.PerBot, c.perBot
	text := fmt.Sprintf("%.1f cores and %s of memory", expected.Cores, inGiB(expected.Memory))
	if expected == configured {
		return text
	}
	used := c.averageUsage()
	return text + fmt.Sprintf(" (measured average of %d bots; configured are %.1f and %s)",
		max(used.cores.count, used.memory.count), configured.Cores, inGiB(configured.Memory))
}

// mean is the mean of values of which 0 is none.
type mean struct {
	sum   float64
	count int
}

func (m *mean) add(value float64) {
	if value > 0 {
		m.sum, m.count = m.sum+value, m.count+1
	}
}

func (m mean) value() float64 { return m.sum / float64(max(1, m.count)) }

// averages are the means of what bots use.
type averages struct{ cores, memory mean }

func (a *averages) add(usage BotResources) {
	a.cores.add(usage.Cores)
	a.memory.add(float64(usage.Memory))
}

// usageOf returns what a bot last reported; 0 for what it did not report.
func usageOf(bot job.BotStats) BotResources {
	var stats ingest.Stats
	_ = json.Unmarshal(bot.Stats, &stats) // what cannot be read counts as not reported
	return BotResources{Cores: max(0, stats.CoresUsed), Memory: uint64(max(0, stats.MemoryBytes))}
}
