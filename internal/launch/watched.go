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
type Sight struct {
	State State
	Why   string // as Launcher.Why
}

// Watched is what a launcher knows of bots that run elsewhere. An engine is
// asked by its watcher alone; everybody else reads here, so that no look at a
// bot costs a call. While the engine cannot be seen, it says so rather than
// what it saw last.
type Watched struct {
	changed func(jobID uuid.UUID, attempt int)
	now     func() time.Time

	mu     sync.Mutex
	seen   map[Key]sighting
	unseen string // why the engine cannot be seen; empty while it can
	count  uint64 // of sightings, to tell which is older
}

// sighting is a Sight, with what tells how old it is.
type sighting struct {
	Sight
	at     time.Time
	number uint64
}

// NewWatched returns a Watched that has seen nothing yet. It calls changed
// for every bot that is not as it was, from whichever goroutine saw it.
func NewWatched(changed func(jobID uuid.UUID, attempt int), now func() time.Time) *Watched {
	return &Watched{
		changed: changed, now: now, seen: make(map[Key]sighting),
		unseen: "the engine has not been looked at yet",
	}
}

// State is what a launcher's State answers.
func (w *Watched) State(jobID uuid.UUID, attempt int) State {
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.seen[Key{jobID, attempt}]
	switch {
	case ok && known.State == Gone:
		return Gone // it does not come back
	case w.unseen != "":
		return Unknown
	case !ok:
		return NotStarted
	}
	return known.State
}

// Why is what a launcher's Why answers.
func (w *Watched) Why(jobID uuid.UUID, attempt int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.seen[Key{jobID, attempt}]
	if w.unseen != "" && known.State != Gone {
		return w.unseen
	}
	return known.Why
}

// Begun notes that a bot is about to be started, whatever was known of an
// earlier try.
func (w *Watched) Begun(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, key)
}

// Failed notes that a bot was not started after all. What was seen of the try
// counts no more, however late it is told.
func (w *Watched) Failed(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.seen[key] = sighting{Sight: Sight{State: NotStarted}, at: w.now(), number: w.count}
}

// Saw notes what was seen of a bot. One that has gone stays gone, with the
// first reason that was known for it.
func (w *Watched) Saw(key Key, sight Sight) {
	w.mu.Lock()
	changed := w.seen[key].State != NotStarted && w.note(key, sight)
	w.mu.Unlock()
	if changed {
		w.changed(key.JobID, key.Attempt)
	}
}

// note is Saw for whoever holds the lock; it reports whether anything changed.
func (w *Watched) note(key Key, sight Sight) bool {
	known, ok := w.seen[key]
	if ok && known.State == Gone && (sight.State != Gone || known.Why != "") {
		return false
	}
	w.count++
	w.seen[key] = sighting{Sight: sight, at: w.now(), number: w.count}
	return !ok || known.Sight != sight
}

// Mark is taken before the engine is asked what there is: what is seen after
// it is newer than the answer.
func (w *Watched) Mark() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// SawAll notes all that the engine has, as it answered a question that was
// asked at the mark. Bots that it no longer has are gone. What it does not have
// may be younger than the question; what it has is told by nobody a second
// time, so it counts, unless the bot's launch has failed since.
func (w *Watched) SawAll(all map[Key]Sight, mark uint64) {
	var changed []Key
	w.mu.Lock()
	w.unseen = ""
	for key, sight := range all {
		if known, ok := w.seen[key]; ok && known.State == NotStarted && known.number > mark {
			continue
		}
		if w.note(key, sight) {
			changed = append(changed, key)
		}
	}
	for key, known := range w.seen {
		_, there := all[key]
		switch {
		case there || known.number > mark:
		case known.State != Gone && known.State != NotStarted:
			w.note(key, Sight{Gone, "it was removed from its engine, and not by Standin"})
			changed = append(changed, key)
		case w.now().Sub(known.at) > keepGone:
			delete(w.seen, key)
		}
	}
	w.mu.Unlock()
	for _, key := range changed {
		w.changed(key.JobID, key.Attempt)
	}
}

// Lost notes that the engine cannot be seen, and why.
func (w *Watched) Lost(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unseen = why
}
