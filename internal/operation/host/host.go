// Package host reads metrics of the machine (processors, memory, load, disk and
// uptime) and of processes. If the program runs in a control group with limits, for
// example in a container, processors and memory are those of the control group.
package host

import (
	"context"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	uptime "github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// Metrics is the HostMetrics schema of api/openapi.yaml. Groups that cannot be read
// are nil.
type Metrics struct {
	CPU       *CPU   `json:"cpu"`
	RAM       *RAM   `json:"ram"`
	Load      *Load  `json:"load"`
	Disk      *Disk  `json:"disk"`
	Bots      Bots   `json:"bots"`
	UptimeSec *int64 `json:"uptimeSec"` // of the machine, also in a container
	TS        int64  `json:"ts"`        // time of the reading: Unix milliseconds
}

// CPU is the processor usage since the previous reading, in percent of all
// processors or of the container's limit. The sum is 100 minus steal time.
type CPU struct {
	User   float64 `json:"user"`   // including nice
	System float64 `json:"system"` // including interrupts
	IOWait float64 `json:"iowait"` // 0 in a container, where it is not counted
	Idle   float64 `json:"idle"`
}

// RAM is memory in units of 2^20 bytes. The sum of used, free, cached and buffers is
// the total.
type RAM struct {
	Used    float64 `json:"used"`
	Free    float64 `json:"free"`
	Cached  float64 `json:"cached"`  // reclaimable; shared memory counts as used
	Buffers float64 `json:"buffers"` // 0 in a container, where they count as cached
	TotalMB float64 `json:"totalMB"` // of the machine, or the container's limit
}

// Load is the load average of the machine over 1, 5 and 15 minutes, also in a
// container.
type Load struct {
	One     float64 `json:"one"`
	Five    float64 `json:"five"`
	Fifteen float64 `json:"fifteen"`
}

// Disk is the file system of the data folder. FreeGB is the space available to
// Standin in units of 2^30 bytes. UsedPct is computed like df does.
type Disk struct {
	UsedPct float64 `json:"usedPct"`
	FreeGB  float64 `json:"freeGB"`
}

// Bots is the number of running and scheduled jobs. Reader does not set it.
type Bots struct {
	Running   int `json:"running"`
	Scheduled int `json:"scheduled"`
}

// Reader reads metrics. It is safe for concurrent use.
type Reader struct {
	root    fs.FS // of the machine, for control group limits
	dataDir string
	now     func() time.Time

	mu   sync.Mutex
	last sample
	cpu  *CPU // at last; nil until there are two samples
}

// NewReader returns a reader that reports the file system of dataDir. It takes the
// first processor sample, so that the first Read has a sample to compare with.
func NewReader(dataDir string) *Reader {
	r := &Reader{root: os.DirFS("/"), dataDir: dataDir, now: time.Now}
	r.readCPU(context.Background())
	return r
}

// Read returns all metrics except Bots.
func (r *Reader) Read(ctx context.Context) Metrics {
	metrics := Metrics{CPU: r.readCPU(ctx), RAM: r.readRAM(ctx), TS: r.now().UnixMilli()}
	if average, err := load.AvgWithContext(ctx); err == nil {
		metrics.Load = &Load{One: rounded(average.Load1), Five: rounded(average.Load5), Fifteen: rounded(average.Load15)}
	}
	if usage, err := disk.UsageWithContext(ctx, r.dataDir); err == nil && usage.Total > 0 {
		metrics.Disk = &Disk{UsedPct: rounded(usage.UsedPercent), FreeGB: rounded(float64(usage.Free) / (1 << 30))}
	}
	if seconds, err := uptime.UptimeWithContext(ctx); err == nil && seconds <= math.MaxInt64 {
		metrics.UptimeSec = new(int64(seconds))
	}
	return metrics
}

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

func (r *Reader) readRAM(ctx context.Context) *RAM {
	machine, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil || machine.Total == 0 {
		return nil
	}
	if limited, ok := memoryOf(r.root, machine.Total); ok {
		return limited.ram()
	}
	return memory{
		total:   machine.Total,
		free:    machine.Free,
		cached:  machine.Cached - min(machine.Shared, machine.Cached),
		buffers: machine.Buffers,
	}.ram()
}

// memory is a breakdown of memory in bytes. The rest of total is used.
type memory struct{ total, free, cached, buffers uint64 }

func (m memory) ram() *RAM {
	const mb = 1 << 20
	unused := min(m.free+m.cached+m.buffers, m.total)
	return &RAM{
		Used:    rounded(float64(m.total-unused) / mb),
		Free:    rounded(float64(m.free) / mb),
		Cached:  rounded(float64(m.cached) / mb),
		Buffers: rounded(float64(m.buffers) / mb),
		TotalMB: rounded(float64(m.total) / mb),
	}
}

// rounded rounds to two decimals.
func rounded(x float64) float64 { return math.Round(x*100) / 100 }

// Resources is the capacity of the machine or the limit of the container. Unknown
// values are 0.
type Resources struct {
	Cores           float64
	MemoryTotal     uint64 // bytes
	MemoryAvailable uint64 // bytes
	// Waiting is the share of the last minute in which something waited for a processor.
	Waiting float64
}

// Resources returns the current resources.
func (r *Reader) Resources(ctx context.Context) Resources {
	resources := Resources{Waiting: waitingIn(r.root)}
	processors, err := cpu.CountsWithContext(ctx, true)
	if err == nil {
		resources.Cores = float64(processors)
	}
	if limited, _, ok := processorsOf(r.root, processors); ok {
		resources.Cores = limited.processors
	}
	if ram := r.readRAM(ctx); ram != nil {
		const mb = 1 << 20
		resources.MemoryTotal = uint64(ram.TotalMB * mb)
		resources.MemoryAvailable = uint64((ram.Free + ram.Cached + ram.Buffers) * mb)
	}
	return resources
}
