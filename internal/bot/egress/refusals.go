package egress

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// maxRefusals limits the memory and log lines of a page that tries many
	// targets.
	maxRefusals = 100

	// maxTargetLength is the length of the longest host name with a port.
	maxTargetLength = 253 + len(":65535")
)

// Refusal is a target that the browser was not allowed to reach.
type Refusal struct {
	Target string // host and port
	Reason string
	First  time.Time
	Count  int
}

// refusals records refused targets.
type refusals struct {
	log *slog.Logger

	mutex    sync.Mutex
	byTarget map[string]*Refusal
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, byTarget: make(map[string]*Refusal)}
}

// add counts a refusal and logs the first one of each target.
func (r *refusals) add(refused *RefusedError) {
	target := refused.Target[:min(len(refused.Target), maxTargetLength)]
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if known := r.byTarget[target]; known != nil {
		known.Count++
		return
	}
	if len(r.byTarget) == maxRefusals {
		return
	}
	r.byTarget[target] = &Refusal{Target: target, Reason: refused.Reason, First: time.Now(), Count: 1}
	r.log.Warn("browser connection refused", "target", target, "reason", refused.Reason)
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
