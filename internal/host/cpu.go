package host

import (
	"context"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

// minInterval is the minimum time between two samples, because the kernel counts in
// hundredths of a second. Readings within it return the same result.
const minInterval = time.Second

// sample is the processor time counters at a time.
type sample struct {
	at     time.Time
	source string // only samples of the same source can be compared
	times
}

// times are processor times in seconds. all is the sum including steal time; for a
// control group it is 0, and the limit is processors times wall-clock time.
type times struct {
	user, system, iowait, idle float64
	all                        float64
	processors                 float64 // limit of the control group; 0 for the machine
}

// readCPU returns the usage since the previous reading, or nil if it is unknown.
func (r *Reader) readCPU(ctx context.Context) *CPU {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if !r.last.at.IsZero() && r.cpu != nil && now.Sub(r.last.at) < minInterval {
		return r.cpu
	}
	current, ok := r.sampleCPU(ctx, now)
	if !ok {
		r.last, r.cpu = sample{}, nil
		return nil
	}
	used := current.since(r.last)
	if used == nil && r.last.source == current.source {
		return r.cpu // too soon: keep the older sample
	}
	r.last, r.cpu = current, used
	return used
}

// sampleCPU reads the counters of the control group if it has a limit, and those of
// the machine otherwise.
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
	t := machine[0] // user and nice include guest time
	counted := times{user: t.User + t.Nice, system: t.System + t.Irq + t.Softirq, iowait: t.Iowait, idle: t.Idle}
	counted.all = counted.user + counted.system + counted.iowait + counted.idle + t.Steal
	return sample{at: now, source: "machine", times: counted}, true
}

// since returns the usage since an earlier sample, or nil if the samples cannot be
// compared.
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
		// The usage of a burst may exceed the limit.
		used.System = min(used.System, 100-used.User)
		used.Idle = 100 - used.User - used.System
	} else {
		used.IOWait, used.Idle = percent(s.iowait, before.iowait), percent(s.idle, before.idle)
	}
	return &CPU{User: rounded(used.User), System: rounded(used.System), IOWait: rounded(used.IOWait), Idle: rounded(used.Idle)}
}
