package capture

import (
	"maps"
	"slices"
	"sync"

	"standin/internal/bot/meeting"
)

const (
	// maxSnapshots limits the snapshots in a log. The first ones and the last ones
	// are kept.
	maxSnapshots, firstSnapshots = 60, 10
	maxNames                     = 1000
)

// Log collects what a visit's page showed and what was concluded. It keeps the
// first and the last of successive snapshots with the same result. Its methods are
// safe for concurrent use. The zero value is empty.
type Log struct {
	mu      sync.Mutex
	entries []entry
	names   map[string]bool // names of participants in any snapshot
}

// entry is a snapshot and the decision on it.
type entry struct {
	snapshot meeting.CapturedSnapshot
	decision meeting.Decision
}

// Add adds an observation.
func (l *Log) Add(seen meeting.Observation) {
	if seen.Captured == nil {
		return
	}
	added := entry{*seen.Captured, seen.Decision(seen.Captured.At)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = make(map[string]bool)
	}
	add := func(name string) {
		if name != "" && len(l.names) < maxNames {
			l.names[name] = true
		}
	}
	shown := added.snapshot.Snapshot
	for _, listed := range slices.Concat(shown.Tiles, shown.Rows) {
		for _, name := range listed.Names {
			add(name)
		}
	}
	for _, message := range shown.Chat {
		add(message.Author)
	}
	last := len(l.entries) - 1
	switch {
	case last > 0 && l.entries[last-1].sameResult(l.entries[last]) && l.entries[last].sameResult(added):
		l.entries[last] = added
		return
	case len(l.entries) == maxSnapshots:
		l.entries = slices.Delete(l.entries, firstSnapshots, firstSnapshots+1)
	}
	l.entries = append(l.entries, added)
}

// sameResult reports whether two snapshots have the same decision, history and
// elements.
func (e entry) sameResult(other entry) bool {
	known, others := e.snapshot.Known, other.snapshot.Known
	return e.decision.SameAs(other.decision) && known.Requested == others.Requested && known.Admitted == others.Admitted &&
		maps.EqualFunc(e.snapshot.Snapshot.Elements, other.snapshot.Snapshot.Elements, func(a, b meeting.VisibleElement) bool {
			return a.Candidate == b.Candidate && a.Disabled == b.Disabled
		})
}

// Content returns copies of the snapshots, their decisions and the names of participants.
func (l *Log) Content() (snapshots []meeting.CapturedSnapshot, decisions []meeting.Decision, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		snapshots, decisions = append(snapshots, e.snapshot), append(decisions, e.decision)
	}
	return snapshots, decisions, slices.Sorted(maps.Keys(l.names))
}
