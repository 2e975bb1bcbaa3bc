package host

import (
	"context"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ProcessWindow is the interval over which a bot averages its processor time: long
// enough to smooth rendering, short enough for the first minute of a bot.
const ProcessWindow = 15 * time.Second

// ProcessUsage is the resource usage of a process and its descendants. Unknown
// values are 0.
type ProcessUsage struct {
	Cores  float64 // mean number of processors in use since the previous reading
	Memory int64   // bytes; shared memory is divided among its users
}

// ProcessMeter measures the processor time and memory of a process and its
// descendants, for example of a bot and its browser. It reads /proc, so it measures
// nothing on systems other than Linux. It is not safe for concurrent use.
//
// gopsutil does not report the processor time of ended children and reads more
// files per process.
type ProcessMeter struct {
	proc Proc
	root int

	used time.Duration // total at the last reading
	at   time.Time     // of the last reading; zero before the first
}

// NewProcessMeter returns a meter for a process and its descendants. Descendants that were
// adopted by another process, like Chromium's crash handler, are not counted.
func NewProcessMeter(root int) *ProcessMeter {
	return &ProcessMeter{proc: NewProc(os.DirFS("/proc")), root: root}
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
	ids, _ := m.proc.Processes() // none: there is no /proc
	all := make(map[int]ProcessStat)
	for _, id := range ids {
		if stat, ok := m.proc.Stat(id); ok {
			all[id] = stat
		}
	}
	tree := treeOf(m.root, all)
	if len(tree) == 0 {
		return ProcessUsage{}, false
	}
	now, before, since := time.Now(), m.used, m.at
	m.used, m.at = 0, now
	for _, pid := range tree {
		m.used += all[pid].Used
	}
	if since.IsZero() || !now.After(since) {
		return ProcessUsage{}, false
	}
	var usage ProcessUsage
	for _, pid := range tree { // only now: the kernel takes milliseconds for each
		usage.Memory += processMemory(m.proc, pid)
	}
	// The total can decrease: the times of a killed browser's descendants are lost
	// because no process of the tree waits for them.
	spent := max(0, m.used-before)
	usage.Cores = math.Round(spent.Seconds()/now.Sub(since).Seconds()*1000) / 1000
	return usage, true
}

// treeOf returns the IDs of a process and its descendants.
func treeOf(root int, all map[int]ProcessStat) []int {
	if _, ok := all[root]; !ok {
		return nil
	}
	children := make(map[int][]int)
	for pid, p := range all {
		if pid != root {
			children[p.Parent] = append(children[p.Parent], pid)
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
func processMemory(proc Proc, pid int) int64 {
	for text := range strings.Lines(string(proc.read(pid, "smaps_rollup"))) {
		if value, found := strings.CutPrefix(text, "Pss:"); found {
			if size, ok := kilobytes(value); ok {
				return size
			}
		}
	}
	fields := strings.Fields(string(proc.read(pid, "statm"))) // in pages: size, resident, shared, …
	if len(fields) < 3 {
		return 0 // the process has ended
	}
	resident, residentErr := strconv.ParseInt(fields[1], 10, 64)
	shared, sharedErr := strconv.ParseInt(fields[2], 10, 64)
	if residentErr != nil || sharedErr != nil {
		return 0
	}
	return max(0, resident-shared) * int64(os.Getpagesize())
}
