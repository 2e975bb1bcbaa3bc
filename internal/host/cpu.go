package host

import (
	"context"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

// leastWindow is the shortest time that percentages are taken over: the kernel
// counts in hundredths of a second, so shorter ones would be noise. Readings
// that follow faster share one result.
const leastWindow = time.Second

// sample is how much the processors had done by some time, in seconds of one
// processor.
type sample struct {
	at     time.Time
	source string // which counters these are; only alike ones can be compared
	times
}

// times are the counters of a sample. all is what there was to share out; it
// is unknown, and 0, of a container, whose share goes by the clock.
type times struct {
	user, system, iowait, idle float64
	all                        float64
	processors                 float64 // of a container, its share of them
}

// readCPU returns what the processors did since the reading before; nil when
// that cannot be had.
func (r *Reader) readCPU(ctx context.Context) *CPU {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if !r.last.at.IsZero() && r.cpu != nil && now.Sub(r.last.at) < leastWindow {
		return r.cpu
	}
	current, ok := r.sampleCPU(ctx, now)
	if !ok {
		r.last, r.cpu = sample{}, nil
		return nil
	}
	used := current.since(r.last)
	if used == nil && r.last.source == current.source {
		return r.cpu // too soon: the older sample stays
	}
	r.last, r.cpu = current, used
	return used
}

// sampleCPU reads the container's counters where it has a limit, and the
// machine's elsewhere.
func (r *Reader) sampleCPU(ctx context.Context, now time.Time) (sample, bool) {
	machine, err := cpu.TimesWithContext(ctx, false)
	if err != nil || len(machine) == 0 {
		return sample{}, false
	}
	processors, err := cpu.CountsWithContext(ctx, true)
	if err != nil {
		processors = 0
	}
	if limited, source, ok := processorsOf(r.root, processors); ok {
		return sample{at: now, source: source, times: limited}, true
	}
	t := machine[0] // guest time is part of user and nice already
	counted := times{user: t.User + t.Nice, system: t.System + t.Irq + t.Softirq, iowait: t.Iowait, idle: t.Idle}
	counted.all = counted.user + counted.system + counted.iowait + counted.idle + t.Steal
	return sample{at: now, source: "machine", times: counted}, true
}

// since returns what was done since an earlier sample; nil when the two cannot
// be compared.
func (s sample) since(before sample) *CPU {
	if before.source != s.source {
		return nil
	}
	all := s.all - before.all
	if s.processors > 0 {
		all = s.at.Sub(before.at).Seconds() * s.processors
	}
	if all <= 0 {
		return nil
	}
	percent := func(now, then float64) float64 { return max(0, min(100, 100*(now-then)/all)) }
	used := CPU{User: percent(s.user, before.user), System: percent(s.system, before.system)}
	if s.processors > 0 {
		// A burst may run past the share; then nothing is idle.
		used.System = min(used.System, 100-used.User)
		used.Idle = 100 - used.User - used.System
	} else {
		used.IOWait, used.Idle = percent(s.iowait, before.iowait), percent(s.idle, before.idle)
	}
	return &CPU{User: rounded(used.User), System: rounded(used.System), IOWait: rounded(used.IOWait), Idle: rounded(used.Idle)}
}
