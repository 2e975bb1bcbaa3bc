package launch

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// keepGone is how long the status of a bot is kept after its engine has
// removed it.
const keepGone = time.Hour

// Tracker holds the last known status of bots that run in an engine. Only the
// engine's watcher asks the engine; everything else reads the tracker, so that
// State costs no call. While the engine cannot be reached, the state of every
// bot that has not ended is Unknown.
type Tracker struct {
	onChange func(jobID uuid.UUID, attempt int)
	now      func() time.Time

	mu           sync.Mutex
	bots         map[Key]trackedBot
	disconnected string // why the engine cannot be reached; empty while it can
	version      uint64 // increases with every update
}

// trackedBot is a status with its age.
type trackedBot struct {
	BotStatus
	updatedAt time.Time
	version   uint64
}

// NewTracker returns an empty tracker. It calls onChange for every bot whose
// status changes, on the goroutine that reported the change.
func NewTracker(onChange func(jobID uuid.UUID, attempt int), now func() time.Time) *Tracker {
	return &Tracker{
		onChange: onChange, now: now, bots: make(map[Key]trackedBot),
		disconnected: "the engine has not been queried yet",
	}
}

// State implements Launcher.State.
func (t *Tracker) State(jobID uuid.UUID, attempt int) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	bot, ok := t.bots[Key{jobID, attempt}]
	switch {
	case ok && bot.State == Gone:
		return Gone // final
	case t.disconnected != "":
		return Unknown
	case !ok:
		return NotStarted
	}
	return bot.State
}

// Reason implements Launcher.Reason.
func (t *Tracker) Reason(jobID uuid.UUID, attempt int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	bot := t.bots[Key{jobID, attempt}]
	if t.disconnected != "" && bot.State != Gone {
		return t.disconnected
	}
	return bot.Reason
}

// Launching records that a bot is about to start. The status of an earlier try
// is dropped.
func (t *Tracker) Launching(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bots, key)
}

// LaunchFailed records that a bot was not started. Later updates of that try
// are ignored.
func (t *Tracker) LaunchFailed(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bots, key)
	t.setLocked(key, BotStatus{State: NotStarted})
}

// Update records the status of one bot. Gone is final and keeps its first
// reason.
func (t *Tracker) Update(key Key, status BotStatus) {
	t.mu.Lock()
	changed := t.bots[key].State != NotStarted && t.setLocked(key, status)
	t.mu.Unlock()
	if changed {
		t.onChange(key.JobID, key.Attempt)
	}
}

// setLocked stores a status and reports whether it changed.
func (t *Tracker) setLocked(key Key, status BotStatus) bool {
	bot, ok := t.bots[key]
	if ok && bot.State == Gone && (status.State != Gone || bot.Reason != "") {
		return false
	}
	t.version++
	t.bots[key] = trackedBot{BotStatus: status, updatedAt: t.now(), version: t.version}
	return !ok || bot.BotStatus != status
}

// Version returns the version before a query of the engine, for UpdateAll.
func (t *Tracker) Version() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// UpdateAll records all bots that the engine listed. Bots missing from the list
// are gone, unless they were updated after version, that is, after the list was
// requested. A listed bot always counts, unless its launch failed after version. One
// that is listed as NotStarted is being launched, or its launch was interrupted.
func (t *Tracker) UpdateAll(all map[Key]BotStatus, version uint64) {
	var changed []Key
	t.mu.Lock()
	t.disconnected = ""
	for key, status := range all {
		if bot, ok := t.bots[key]; status.State == NotStarted || ok && bot.State == NotStarted && bot.version > version {
			continue
		}
		if t.setLocked(key, status) {
			changed = append(changed, key)
		}
	}
	for key, bot := range t.bots {
		_, listed := all[key]
		switch {
		case listed || bot.version > version:
		case bot.State != Gone && bot.State != NotStarted:
			t.setLocked(key, BotStatus{Gone, "it was removed from its engine, and not by Standin"})
			changed = append(changed, key)
		case t.now().Sub(bot.updatedAt) > keepGone:
			delete(t.bots, key)
		}
	}
	t.mu.Unlock()
	for _, key := range changed {
		t.onChange(key.JobID, key.Attempt)
	}
}

// Disconnected records why the engine cannot be reached.
func (t *Tracker) Disconnected(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disconnected = reason
}
