package egress

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// mostRefusals bounds what a page that tries many targets costs in memory
	// and in the log.
	mostRefusals = 100

	// longestTarget is the longest host name with a port.
	longestTarget = 253 + len(":65535")
)

// Refusal is a target that the browser wanted to reach and was not let to.
type Refusal struct {
	Target string // host and port
	Reason string
	First  time.Time
	Count  int
}

// refusals remember what was refused.
type refusals struct {
	log *slog.Logger

	mutex    sync.Mutex
	byTarget map[string]*Refusal
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, byTarget: make(map[string]*Refusal)}
}

// note counts a refusal, and logs the first of each target.
func (r *refusals) note(refused *RefusedError) {
	target := refused.Target[:min(len(refused.Target), longestTarget)]
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.byTarget[target]; known != nil {
		known.Count++
		return
	}
	if len(r.byTarget) == mostRefusals {
		return
	}
	r.byTarget[target] = &Refusal{Target: target, Reason: refused.Reason, First: time.Now(), Count: 1}
	r.log.Warn("the browser wanted to reach a place it may not", "target", target, "reason", refused.Reason)
}

// list returns all refusals, oldest first.
func (r *refusals) list() []Refusal {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	list := make([]Refusal, 0, len(r.byTarget))
	for _, refusal := range r.byTarget {
		list = append(list, *refusal)
	}
	slices.SortFunc(list, func(a, b Refusal) int { return a.First.Compare(b.First) })
	return list
}
