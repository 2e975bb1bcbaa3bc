package meeting

import (
	"sync"
	"time"
)

const (
	// reloadInterval is the time between reloads of a page that does not change
	// otherwise.
	reloadInterval = 15 * time.Second
	// reloadTimeout is how long such a page is reloaded. Afterwards the meeting
	// counts as not found.
	reloadTimeout = 10 * time.Minute
)

// visitState is what a site remembers between the snapshots of a visit.
type visitState struct {
	mu         sync.Mutex
	past       history
	aloneSince time.Time // the page has looked like a call without others
	joinSince  time.Time // the join button has been disabled after it was pressed
	last       Screen    // of the last snapshot
	pending    Screen    // the terminal screen of the last snapshot

	reloadSince time.Time // the page has needed reloads
	reloadedAt  time.Time
}

// reset starts a new visit. The bot's name stays.
func (v *visitState) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.requested, v.past.admitted = false, false
	v.aloneSince, v.joinSince, v.pending = time.Time{}, time.Time{}, ""
}

// request records that the join button was pressed.
func (v *visitState) request() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.requested = true
}

// setName records the name that the page shows for the bot.
func (v *visitState) setName(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.ownName = name
}

// history returns what earlier snapshots established.
func (v *visitState) history() history {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.past
}

// inMeeting reports whether the last snapshot showed the meeting.
func (v *visitState) inMeeting() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last == InMeeting
}

// before returns the history for classifying a snapshot.
func (v *visitState) before(snapshot Snapshot, profile *Profile, now time.Time) history {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.aloneFor = lasting(&v.aloneSince, profile.looksAlone(snapshot, v.past.ownName), now)
	v.past.joinedFor = lasting(&v.joinSince, v.past.requested && snapshot.Elements[joinButton].Disabled, now)
	return v.past
}

// lasting returns how long a condition has held since it first did.
func lasting(since *time.Time, holds bool, now time.Time) time.Duration {
	switch {
	case !holds:
		*since = time.Time{}
		return 0
	case since.IsZero():
		*since = now
	}
	return now.Sub(*since)
}

// after updates the state from a classification, and adapts the observation: a
// terminal screen needs a second snapshot, and a page that needs reloads counts
// as not found after reloadTimeout.
func (v *visitState) after(found classification, observation *Observation, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch v.last = found.screen; v.last {
	case InMeeting:
		v.past.admitted = true
	case PreJoin, Lobby, HostAbsent:
		v.past.admitted = false
	}
	if found.screen != Unknown && !found.reload {
		v.reloadSince, v.reloadedAt = time.Time{}, time.Time{}
	}
	if found.reload {
		v.needReload(observation, now)
	}
	confirmed := v.pending == observation.Screen
	if v.pending = ""; !observation.Screen.Terminal() {
		return
	}
	v.pending = observation.Screen
	if !confirmed {
		observation.Pending, observation.Screen = observation.Screen, Unknown
	}
}

// needReload decides whether it is time to load the page again.
func (v *visitState) needReload(observation *Observation, now time.Time) {
	if v.reloadSince.IsZero() {
		v.reloadSince, v.reloadedAt = now, now
	}
	switch {
	case now.Sub(v.reloadSince) >= reloadTimeout:
		observation.Screen = NotFound
	case now.Sub(v.reloadedAt) >= reloadInterval:
		v.reloadedAt = now
		observation.Reload = true
	}
}
