package dispatch

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Prelaunch is how long before joinAt bots are launched, so that their browsers
// are ready when they join.
type Prelaunch time.Duration

// AutoPrelaunch is derived by each node from how long its own bots recently
// took to start.
const AutoPrelaunch Prelaunch = -1

const (
	// maxPrelaunch bounds the setting: a ready browser uses capacity.
	maxPrelaunch = 2 * time.Minute
	// maxStartTime bounds a measured start: a bot that took longer had a
	// problem that does not predict the next start.
	maxStartTime = 30 * time.Second
	// minStarts is how many starts AutoPrelaunch needs.
	minStarts = 3
	// keptStarts is how many of the last starts count.
	keptStarts = 50
)

// UnmarshalText parses auto, a duration, or 0.
func (p *Prelaunch) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*p = AutoPrelaunch
		return nil
	}
	length, err := time.ParseDuration(string(text)) // which accepts 0 without a unit
	if err != nil || length < 0 || length > maxPrelaunch {
		return fmt.Errorf("%q is not auto, 0, or a time up to %s such as 5s", text, maxPrelaunch)
	}
	*p = Prelaunch(length)
	return nil
}

// RecordStart adds how long a bot of this node took from its launch until it
// could join.
func (d *Dispatcher) RecordStart(took time.Duration) {
	if took <= 0 {
		return
	}
	s := &d.startTimes
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == keptStarts {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, min(took, maxStartTime))
}

// prelaunch returns how long before joinAt this node launches bots.
func (d *Dispatcher) prelaunch() time.Duration {
	if d.Prelaunch == AutoPrelaunch {
		return d.startTimes.percentile90()
	}
	return time.Duration(d.Prelaunch)
}

// startTimes are the times from launch until ready of the last bots.
type startTimes struct {
	mu       sync.Mutex
	previous time.Duration // percentile of an earlier run of this node; 0 when unknown
	last     []time.Duration
}

// percentile90 returns the time in which nine of ten bots are ready, 0 while
// too few starts are known. A bot that is ready too early waits; one that is
// ready too late joins late.
func (s *startTimes) percentile90() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) < minStarts {
		return s.previous
	}
	sorted := slices.Sorted(slices.Values(s.last))
	return sorted[(len(sorted)*9+9)/10-1]
}
