package host

import (
	"context"
	"math"
	"os"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// ProcessWindow is the interval over which a bot averages its processor time: long
// enough to smooth rendering, short enough for the first minute of a bot.
const ProcessWindow = 15 * time.Second

// ProcessUsage is the resource usage of a process and its descendants. Unknown
// values are 0.
type ProcessUsage struct {
	Cores  float64 // mean number of processors in use since the previous reading
	Memory int64   // bytes; shared memory is divided among its users

	// Totals since the first reading.
	CoreSeconds float64
	GiBSeconds  float64
}

// ProcessMeter measures the processor time and memory of a process and its
// descendants, for example of a bot and its browser. It reads /proc, so it measures
// nothing on systems other than Linux. It is not safe for concurrent use.
//
// gopsutil does not report the processor time of ended children and reads more
// files per process.
type ProcessMeter struct {
	folder string // /proc, except in tests
	root   int

	used  time.Duration // total at the last reading
	at    time.Time     // of the last reading; zero before the first
	total ProcessUsage
}

// NewProcessMeter returns a meter for a process and its descendants. Descendants that were
// adopted by another process, like Chromium's crash handler, are not counted.
func NewProcessMeter(root int) *ProcessMeter {
	return &ProcessMeter{folder: "/proc", root: root}
}

// Watch calls report with the usage of each window until ctx ends.
func (m *ProcessMeter) Watch(ctx context.Context, window time.Duration, report func(ProcessUsage)) {
	m.Read()
	ticker := time.NewTicker(window)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if usage, ok := m.Read(); ok {
				report(usage)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Read returns the usage since the previous reading. It returns false for the first
// reading and if the processes cannot be read.
func (m *ProcessMeter) Read() (ProcessUsage, bool) {
	processes, _ := Processes(m.folder) // none: there is no /proc
	all := make(map[int]procfs.ProcStat)
	for _, process := range processes {
		if stat, err := process.Stat(); err == nil {
			all[process.PID] = stat
		}
	}
	tree := treeOf(m.root, all)
	if len(tree) == 0 {
		return ProcessUsage{}, false
	}
	now, before, since := time.Now(), m.used, m.at
	m.used, m.at = 0, now
	// When a parent waits for a child, the child's times are added to those of the
	// parent's children. So the sum over a tree counts each process exactly once.
	for _, pid := range tree {
		stat := all[pid]
		m.used += time.Duration(int(stat.UTime+stat.STime)+stat.CUTime+stat.CSTime) * time.Second / ticksPerSecond
	}
	if since.IsZero() || !now.After(since) {
		return ProcessUsage{}, false
	}
	usage := m.total
	usage.Memory = 0
	for _, process := range processes { // only now: the kernel takes milliseconds for each
		if slices.Contains(tree, process.PID) {
			usage.Memory += processMemory(process)
		}
	}
	// The total can decrease: the times of a killed browser's descendants are lost
	// because no process of the tree waits for them.
	spent, elapsed := max(0, m.used-before).Seconds(), now.Sub(since).Seconds()
	usage.Cores = math.Round(spent/elapsed*1000) / 1000
	usage.CoreSeconds += spent
	usage.GiBSeconds += float64(usage.Memory) / (1 << 30) * elapsed
	m.total = usage
	return usage, true
}

// treeOf returns the IDs of a process and its descendants.
func treeOf(root int, all map[int]procfs.ProcStat) []int {
	if _, ok := all[root]; !ok {
		return nil
	}
	children := make(map[int][]int)
	for pid, p := range all {
		if pid != root {
			children[p.PPID] = append(children[p.PPID], pid)
		}
	}
	tree := []int{root}
	for next := 0; next < len(tree); next++ {
		tree = append(tree, children[tree[next]]...)
	}
	return slices.Clip(tree)
}

// processMemory returns the proportional set size of a process, or its unshared memory if
// the proportional set size cannot be read, for example of a non-dumpable process.
func processMemory(process procfs.Proc) int64 {
	if rollup, err := process.ProcSMapsRollup(); err == nil {
		return int64(rollup.Pss)
	}
	pages, _ := process.Statm() // none: the process has ended
	return (int64(pages.Resident) - int64(pages.Shared)) * int64(os.Getpagesize())
}

// Processes returns the visible processes of a folder like /proc (proc(5)).
func Processes(folder string) (procfs.Procs, error) {
	files, err := procfs.NewFS(folder)
	if err != nil {
		return nil, err
	}
	return files.AllProcs()
}
