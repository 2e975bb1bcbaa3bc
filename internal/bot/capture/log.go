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
	mu        sync.Mutex
	snapshots []meeting.CapturedSnapshot
	decisions []meeting.Decision // decision on each snapshot
	names     map[string]bool    // names of participants in any snapshot
}

// Add adds an observation.
func (l *Log) Add(seen meeting.Observation) {
	if seen.Captured == nil {
		return
	}
	decision := seen.Decision(seen.Captured.At)
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
	for _, entries := range [][]meeting.RosterEntry{seen.Captured.Snapshot.Tiles, seen.Captured.Snapshot.Rows} {
		for _, entry := range entries {
			for _, name := range entry.Names {
				add(name)
			}
		}
	}
	for _, message := range seen.Captured.Snapshot.Chat {
		add(message.Author)
	}
	if last := len(l.snapshots) - 1; last > 0 &&
		sameResult(l.decisions[last-1], l.snapshots[last-1], l.decisions[last], l.snapshots[last]) &&
		sameResult(l.decisions[last], l.snapshots[last], decision, *seen.Captured) {
		l.snapshots[last], l.decisions[last] = *seen.Captured, decision
		return
	}
	if len(l.snapshots) == maxSnapshots {
		l.snapshots = slices.Delete(l.snapshots, firstSnapshots, firstSnapshots+1)
		l.decisions = slices.Delete(l.decisions, firstSnapshots, firstSnapshots+1)
	}
	l.snapshots, l.decisions = append(l.snapshots, *seen.Captured), append(l.decisions, decision)
}

// sameResult reports whether two snapshots have the same decision, history and
// elements.
func sameResult(decision meeting.Decision, snapshot meeting.CapturedSnapshot, otherDecision meeting.Decision,
	other meeting.CapturedSnapshot) bool {
	return decision.SameAs(otherDecision) && snapshot.Known.Requested == other.Known.Requested &&
		snapshot.Known.Admitted == other.Known.Admitted &&
		maps.EqualFunc(snapshot.Snapshot.Elements, other.Snapshot.Elements, func(a, b meeting.VisibleElement) bool {
			return a.Candidate == b.Candidate && a.Disabled == b.Disabled
		})
}

// Content returns copies of the snapshots, their decisions and the names of participants.
func (l *Log) Content() (snapshots []meeting.CapturedSnapshot, decisions []meeting.Decision, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.snapshots), slices.Clone(l.decisions), slices.Sorted(maps.Keys(l.names))
}
