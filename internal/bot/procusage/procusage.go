// Package procusage measures the processor time and memory of a process and its
// descendants, for example a bot and its browser. It reads /proc, so it measures
// nothing on systems other than Linux.
//
// It does not use gopsutil, which does not report the processor time of ended
// children and reads more files per process.
package procusage

import (
	"context"
	"io/fs"
	"math"
	"os"
	"time"
)

// Window is the interval over which processor time is averaged: long enough to
// smooth rendering, short enough for the first minute of a bot.
const Window = 15 * time.Second

// Usage is the resource usage of the processes. Unknown values are 0.
type Usage struct {
	Cores  float64 // mean number of processors in use since the previous reading
	Memory int64   // bytes; shared memory is divided among its users
}

// Meter measures a process and its descendants. It is not safe for concurrent use.
type Meter struct {
	proc fs.FS
	root int

	used time.Duration // total at the last reading
	at   time.Time     // of the last reading; zero before the first
}

// NewMeter returns a meter for a process and its descendants. Descendants that were
// adopted by another process, like Chromium's crash handler, are not counted.
func NewMeter(root int) *Meter { return &Meter{proc: os.DirFS("/proc"), root: root} }

// Watch calls report with the usage of each window until ctx ends.
func (m *Meter) Watch(ctx context.Context, window time.Duration, report func(Usage)) {
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
func (m *Meter) Read() (Usage, bool) {
	all, ok := processes(m.proc)
	if !ok {
		return Usage{}, false
	}
	tree := treeOf(m.root, all)
	if len(tree) == 0 {
		return Usage{}, false
	}
	now, before, since := time.Now(), m.used, m.at
	m.used, m.at = 0, now
	for _, pid := range tree {
		m.used += all[pid].used
	}
	if since.IsZero() || !now.After(since) {
		return Usage{}, false
	}
	var usage Usage
	for _, pid := range tree { // only now: the kernel takes milliseconds for each
		usage.Memory += memoryOf(m.proc, pid)
	}
	// The total can decrease: the times of a killed browser's descendants are lost
	// because no process of the tree waits for them.
	spent := max(0, m.used-before)
	usage.Cores = math.Round(spent.Seconds()/now.Sub(since).Seconds()*1000) / 1000
	return usage, true
}
