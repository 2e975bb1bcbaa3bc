// Package host reads how the machine is doing that Standin runs on: processor,
// memory, load, disk, uptime. Where the process runs in a container with
// limits of its own, processor and memory are those of the container, since
// its limits are what ends it. The package knows nothing of jobs.
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

// Metrics is what is known of the machine, in the form of the specification's
// HostMetrics. A group that cannot be had is nil, and null on the wire.
type Metrics struct {
	CPU       *CPU   `json:"cpu"`
	RAM       *RAM   `json:"ram"`
	Load      *Load  `json:"load"`
	Disk      *Disk  `json:"disk"`
	Bots      Bots   `json:"bots"`
	UptimeSec *int64 `json:"uptimeSec"` // of the machine, also in a container
	TS        int64  `json:"ts"`        // when it was read: milliseconds since 1970
}

// CPU is what the processors did since the reading before, in percent of all
// of them, or of the container's share. The four make 100, but for time that
// a hypervisor gave to others.
type CPU struct {
	User   float64 `json:"user"`   // niced processes included
	System float64 `json:"system"` // interrupts included
	IOWait float64 `json:"iowait"` // 0 in a container: the kernel does not count it there
	Idle   float64 `json:"idle"`
}

// RAM is memory in MB of 2^20 bytes. Used, free, cached and buffers make the
// total.
type RAM struct {
	Used    float64 `json:"used"`
	Free    float64 `json:"free"`
	Cached  float64 `json:"cached"`  // what the kernel keeps and can drop; shared memory is used
	Buffers float64 `json:"buffers"` // 0 in a container: the kernel counts them as cached
	TotalMB float64 `json:"totalMB"` // of the machine, or the container's limit
}

// Load is how many processes ran or waited on average over the last minutes.
// It is the machine's, also in a container.
type Load struct {
	One     float64 `json:"one"`
	Five    float64 `json:"five"`
	Fifteen float64 `json:"fifteen"`
}

// Disk is the file system that the data folder is on. FreeGB is what Standin
// may fill, in GB of 2^30 bytes; UsedPct is relative to that and what is used,
// as df tells it.
type Disk struct {
	UsedPct float64 `json:"usedPct"`
	FreeGB  float64 `json:"freeGB"`
}

// Bots are the jobs that run and that are scheduled. Whoever knows them fills
// this in.
type Bots struct {
	Running   int `json:"running"`
	Scheduled int `json:"scheduled"`
}

// Reader reads metrics. Its methods may be called from any goroutine.
type Reader struct {
	root    fs.FS // the machine's file tree, where limits are read
	dataDir string
	now     func() time.Time

	mu   sync.Mutex
	last sample // of the processors
	cpu  *CPU   // as of last; nil until there are two samples
}

// NewReader returns a reader that looks at the file system of dataDir. It
// takes the first sample of the processors, so that the first reading has
// something to compare with.
func NewReader(dataDir string) *Reader {
	r := &Reader{root: os.DirFS("/"), dataDir: dataDir, now: time.Now}
	r.readCPU(context.Background())
	return r
}

// Read reads everything but Bots. What cannot be had is nil; that is no error.
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

// memory is how memory is shared out, in bytes; what is left is used.
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

// rounded keeps two decimals: more would be noise.
func rounded(x float64) float64 { return math.Round(x*100) / 100 }
