package launch

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// keepGone is how long it is remembered what became of a bot of which the
// engine knows nothing any more.
const keepGone = time.Hour

// Key names an attempt's bot.
type Key struct {
	JobID   uuid.UUID
	Attempt int
}

// Sight is what was last seen of a bot.
type BotStatus struct {
	State  State
	Reason string // as Launcher.Reason
}

// Tracker is what a launcher knows of bots that run elsewhere. An engine is
// asked by its watcher alone; everybody else reads here, so that no look at a
// bot costs a call. While the engine cannot be seen, it says so rather than
// what it saw last.
type Tracker struct {
	onChange func(jobID uuid.UUID, attempt int)
	now      func() time.Time

	mu           sync.Mutex
	bots         map[Key]trackedBot
	disconnected string // why the engine cannot be seen; empty while it can
	version      uint64 // of sightings, to tell which is older
}

// sighting is a Sight, with what tells how old it is.
type trackedBot struct {
	BotStatus
	updatedAt time.Time
	version   uint64
}

// NewWatched returns a Tracker that has seen nothing yet. It calls changed
// for every bot that is not as it was, from whichever goroutine saw it.
func NewTracker(changed func(jobID uuid.UUID, attempt int), now func() time.Time) *Tracker {
	return &Tracker{
		onChange: changed, now: now, bots: make(map[Key]trackedBot),
		disconnected: "the engine has not been looked at yet",
	}
}

// State is what a launcher's State answers.
func (w *Tracker) State(jobID uuid.UUID, attempt int) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.bots[Key{jobID, attempt}]
	switch {
	case ok && known.State == Gone:
		return Gone // it does not come back
	case w.disconnected != "":
		return Unknown
	case !ok:
		return NotStarted
	}
	return known.State
}

// Why is what a launcher's Why answers.
func (w *Tracker) Reason(jobID uuid.UUID, attempt int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.bots[Key{jobID, attempt}]
	if w.disconnected != "" && known.State != Gone {
		return w.disconnected
	}
	return known.Reason
}

// Begun notes that a bot is about to be started, whatever was known of an
// earlier try.
func (w *Tracker) Launching(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.bots, key)
}

// Failed notes that a bot was not started after all. What was seen of the try
// counts no more, however late it is told.
func (w *Tracker) LaunchFailed(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	w.bots[key] = trackedBot{BotStatus: BotStatus{State: NotStarted}, updatedAt: w.now(), version: w.version}
}

// Saw notes what was seen of a bot. One that has gone stays gone, with the
// first reason that was known for it.
func (w *Tracker) Update(key Key, sight BotStatus) {
	w.mu.Lock()
	changed := w.bots[key].State != NotStarted && w.setLocked(key, sight)
	w.mu.Unlock()
	if changed {
		w.onChange(key.JobID, key.Attempt)
	}
}

// note is Saw for whoever holds the lock; it reports whether anything changed.
func (w *Tracker) setLocked(key Key, sight BotStatus) bool {
	known, ok := w.bots[key]
	if ok && known.State == Gone && (sight.State != Gone || known.Reason != "") {
		return false
	}
	w.version++
	w.bots[key] = trackedBot{BotStatus: sight, updatedAt: w.now(), version: w.version}
	return !ok || known.BotStatus != sight
}

// Mark is taken before the engine is asked what there is: what is seen after
// it is newer than the answer.
func (w *Tracker) Version() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

// SawAll notes all that the engine has, as it answered a question that was
// asked at the mark. Bots that it no longer has are gone. What it does not have
// may be younger than the question; what it has is told by nobody a second
// time, so it counts, unless the bot's launch has failed since.
func (w *Tracker) UpdateAll(all map[Key]BotStatus, mark uint64) {
	var changed []Key
	w.mu.Lock()
	w.disconnected = ""
	for key, sight := range all {
		if known, ok := w.bots[key]; ok && known.State == NotStarted && known.version > mark {
			continue
		}
		if w.setLocked(key, sight) {
			changed = append(changed, key)
		}
	}
	for key, known := range w.bots {
		_, there := all[key]
		switch {
		case there || known.version > mark:
		case known.State != Gone && known.State != NotStarted:
			w.setLocked(key, BotStatus{Gone, "it was removed from its engine, and not by Standin"})
			changed = append(changed, key)
		case w.now().Sub(known.updatedAt) > keepGone:
			delete(w.bots, key)
		}
	}
	w.mu.Unlock()
	for _, key := range changed {
		w.onChange(key.JobID, key.Attempt)
	}
}

// Lost notes that the engine cannot be seen, and why.
func (w *Tracker) Disconnected(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disconnected = why
}
