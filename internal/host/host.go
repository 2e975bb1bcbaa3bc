// Package host reads metrics of the machine: processors, memory, load, disk and
// uptime. If the process runs in a control group with limits, for example in a
// container, processors and memory are those of the control group.
package host

import (
	"context"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

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
	return Metrics{
		CPU:       r.readCPU(ctx),
		RAM:       r.readRAM(ctx),
		Load:      readLoad(ctx),
		Disk:      readDisk(ctx, r.dataDir),
		UptimeSec: readUptime(ctx),
		TS:        r.now().UnixMilli(),
	}
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

func readLoad(ctx context.Context) *Load {
	average, err := load.AvgWithContext(ctx)
	if err != nil {
		return nil
	}
	return &Load{One: rounded(average.Load1), Five: rounded(average.Load5), Fifteen: rounded(average.Load15)}
}

func readDisk(ctx context.Context, dir string) *Disk {
	usage, err := disk.UsageWithContext(ctx, dir)
	if err != nil || usage.Total == 0 {
		return nil
	}
	return &Disk{UsedPct: rounded(usage.UsedPercent), FreeGB: rounded(float64(usage.Free) / (1 << 30))}
}

func readUptime(ctx context.Context) *int64 {
	seconds, err := uptime.UptimeWithContext(ctx)
	if err != nil || seconds > math.MaxInt64 {
		return nil
	}
	whole := int64(seconds)
	return &whole
}

// rounded rounds to two decimals.
func rounded(x float64) float64 { return math.Round(x*100) / 100 }
