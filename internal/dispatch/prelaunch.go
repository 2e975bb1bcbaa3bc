package dispatch

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Lead is how long before joinAt bots are launched, so that their browsers are
// warm when they join.
type Prelaunch time.Duration

// AutoLead is the lead that a node measures itself: how long its own bots took
// lately.
const AutoPrelaunch Prelaunch = -1

// UnmarshalText reads auto, a duration, or 0.
func (l *Prelaunch) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*l = AutoPrelaunch
		return nil
	}
	if string(text) == "0" {
		*l = 0
		return nil
	}
	length, err := time.ParseDuration(string(text))
	if err != nil || length < 0 || length > maxPrelaunch {
		return fmt.Errorf("a lead is auto, 0, or a time up to %s such as 5s", maxPrelaunch)
	}
	*l = Prelaunch(length)
	return nil
}

const (
	// longestLead bounds the lead: a warm browser takes room.
	maxPrelaunch = 2 * time.Minute
	// longestAuto bounds a measured one: a bot that took longer met some
	// trouble that says nothing of the next.
	maxAutoPrelaunch = 30 * time.Second
	// leastStarts is how many starts a lead is measured from.
	minStarts = 3
	// keptStarts is how many of the last starts count.
	keptStarts = 50
)

// starts are the times that bots took lately from their launch until they could
// join.
type startTimes struct {
	mu       sync.Mutex
	previous time.Duration // by an earlier run of this node; 0 when unknown
	last     []time.Duration
}

// add counts a start.
func (s *startTimes) add(took time.Duration) {
	if took <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) == keptStarts {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, min(took, maxAutoPrelaunch))
}

// usual is the time in which nine of ten bots are ready: one that is ready too
// early waits, one that is late is late. It is 0 while too little is known.
func (s *startTimes) percentile90() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) < minStarts {
		return s.previous
	}
	sorted := slices.Sorted(slices.Values(s.last))
	return sorted[(len(sorted)*9+9)/10-1]
}

// lead is how long before joinAt this node launches bots.
func (d *Dispatcher) prelaunch() time.Duration {
	if d.Prelaunch == AutoPrelaunch {
		return d.starts.percentile90()
	}
	return time.Duration(d.Prelaunch)
}

// Started counts how long a bot of this node took from its launch until it
// could join.
func (d *Dispatcher) RecordStart(took time.Duration) { d.starts.add(took) }
