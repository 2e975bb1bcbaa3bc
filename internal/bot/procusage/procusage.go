// Package procusage measures what a process and all its descendants take of
// their machine: a bot and its browser. It reads Linux's /proc; elsewhere
// nothing can be measured, and nothing is told.
//
// It knows neither bots nor browsers, nor who is told.
package procusage

import (
	"context"
	"io/fs"
	"math"
	"os"
	"time"
)

// Window is over what time processor time is averaged: long enough to even out
// the moments in which a page is drawn, short enough for a bot's first minute.
const Window = 15 * time.Second

// Usage is what the processes take. What cannot be had is 0.
type Usage struct {
	Cores  float64 // processor time used over the last window, in processors
	Memory int64   // bytes; what processes share is divided among them
}

// Meter measures the processes below one. Its methods are for one goroutine.
type Meter struct {
	proc fs.FS
	root int

	used time.Duration // by all processes, when it was last read
	at   time.Time     // when that was; zero before the first reading
}

// NewMeter returns a meter of a process and its descendants. A process that
// left them for another parent, as Chromium's crash handler does, is not
// counted.
func NewMeter(root int) *Meter { return &Meter{proc: os.DirFS("/proc"), root: root} }

// Watch tells the footprint after each window until ctx ends.
func (m *Meter) Watch(ctx context.Context, window time.Duration, tell func(Usage)) {
	m.Read()
	ticker := time.NewTicker(window)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if taken, ok := m.Read(); ok {
				tell(taken)
			}
		case <-ctx.Done():
			return
		}
	}
}

// Read measures the processes; their processor time since the reading before.
// The first reading, and one for which the processes cannot be seen, is false.
func (m *Meter) Read() (Usage, bool) {
	all, ok := processes(m.proc)
	if !ok {
		return Usage{}, false
	}
	family := familyOf(m.root, all)
	if len(family) == 0 {
		return Usage{}, false
	}
	now, before, since := time.Now(), m.used, m.at
	m.used, m.at = 0, now
	var taken Usage
	for _, pid := range family {
		m.used += all[pid].used
		taken.Memory += memoryOf(m.proc, pid)
	}
	if since.IsZero() || !now.After(since) {
		return Usage{}, false
	}
	// A browser that was killed takes the times of its descendants with it, for
	// nobody of this family waits for them.
	spent := max(0, m.used-before)
	taken.Cores = math.Round(spent.Seconds()/now.Sub(since).Seconds()*1000) / 1000
	return taken, true
}
