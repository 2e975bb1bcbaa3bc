package meeting

import (
	"slices"
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

// ConfirmTime is the time after which every terminal screen that lasts counts.
const ConfirmTime = 3 * time.Second

// visitState is what a site remembers between the snapshots of a visit.
type visitState struct {
	mu         sync.Mutex
	past       History
	askedAt    time.Time // the join button was first pressed
	aloneSince time.Time // the page has looked like a call without others
	joinSince  time.Time // the join button has been disabled after it was pressed
	closeSince time.Time // a dialog has been over a call whose connections the page has closed
	wasOpen    bool      // the page had connections since the bot was admitted
	last       Screen    // screen of the last snapshot
	connected  bool      // the last snapshot showed media or controls that only a call has
	document   int64     // document in which the meeting was last observed

	over dialogState // the dialog over the page

	people   []RosterEntry // rows of the list of people, as it was last read
	peopleAt time.Time

	pending      Screen // the terminal screen of the last snapshot
	pendingSince time.Time

	reloadSince time.Time // the page has needed reloads
	reloadedAt  time.Time
}

// reset starts a new visit. The bot's name stays.
func (v *visitState) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.Requested, v.past.Admitted = false, false
	v.over = dialogState{}
	v.askedAt, v.aloneSince, v.joinSince, v.pending = time.Time{}, time.Time{}, time.Time{}, ""
}

// resume continues a visit of which only the history is known.
func (v *visitState) resume(past History, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := func(duration time.Duration) (since time.Time) {
		if duration > 0 {
			since = now.Add(-duration)
		}
		return since
	}
	v.past = past
	v.over.acknowledged = acknowledgement{text: past.Acknowledged, at: now.Add(-past.AcknowledgedFor), times: past.AcknowledgedTimes}
	v.askedAt, v.aloneSince, v.joinSince = before(past.RequestedFor), before(past.AloneFor), before(past.JoinedFor)
	v.closeSince, v.wasOpen = before(past.ClosedFor), past.ClosedFor > 0
}

// request records that the join button was pressed.
func (v *visitState) request(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.past.Requested = true; v.askedAt.IsZero() {
		v.askedAt = now
	}
}

// setName records the name that the page shows for the bot.
func (v *visitState) setName(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.OwnName = name
}

// observe interprets a snapshot in view of the visit's earlier snapshots.
func (v *visitState) observe(profile *Profile, snapshot Snapshot, now time.Time) Observation {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.past.AloneFor = lasting(&v.aloneSince, profile.looksAlone(snapshot, v.past.OwnName), now)
	v.past.JoinedFor = lasting(&v.joinSince, v.past.Requested && snapshot.Elements[joinButton].Disabled, now)
	v.past.RequestedFor = lasting(&v.askedAt, v.past.Requested, now)
	v.wasOpen = v.past.Admitted && (v.wasOpen || snapshot.Open > 0)
	v.past.ClosedFor = lasting(&v.closeSince, v.wasOpen && snapshot.Open == 0 && snapshot.Over != nil && !profile.callIsGone(snapshot), now)
	v.past.Acknowledged, v.past.AcknowledgedFor, v.past.AcknowledgedTimes = v.over.recentlyAcknowledged(now)
	v.connected = profile.isConnected(snapshot)
	past := v.past
	found := profile.classify(snapshot, past)
	observation := Observation{
		Screen: found.screen, Evidence: describeEvidence(found.evidence), Reasons: found.evidence,
		Others: -1, Captured: &CapturedSnapshot{At: now, Known: past, Snapshot: snapshot},
	}
	// A terminal screen must last, and a page that needs reloads counts as not found after reloadTimeout.
	switch v.last = found.screen; v.last {
	case InMeeting:
		v.past.Admitted = true
	case PreJoin, Lobby, HostAbsent:
		v.past.Admitted, v.people = false, nil
	}
	if found.screen != Unknown && !found.reload {
		v.reloadSince, v.reloadedAt = time.Time{}, time.Time{}
	}
	if found.reload {
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
	if v.pending != observation.Screen {
		v.pending, v.pendingSince = observation.Screen, now
	}
	confirm := 500 * time.Millisecond
	if found.screen == SignInWall || !slices.ContainsFunc(found.evidence, isUnmistakable) {
		confirm = ConfirmTime
	}
	if observation.Screen.Terminal() && now.Sub(v.pendingSince) < confirm {
		observation.Pending, observation.Screen = observation.Screen, Unknown
	}
	if found.screen == InMeeting {
		v.document = snapshot.Document
	}
	// The page ended the call by itself if nothing of the call is left, no connection failed, and
	// the page says something. A page that lost its connection keeps it, and one that crashed says
	// nothing.
	observation.Closed = found.screen == Unknown && past.Admitted && snapshot.Document == v.document &&
		profile.callIsGone(snapshot) && snapshot.Media == 0 && snapshot.Open == 0 && len(snapshot.Outline.Texts) > 0
	explains := found.screen == HostAbsent && snapshot.Over != nil && snapshot.Over.isAnnouncement() // the page would ask to join again
	if !found.screen.Terminal() && !explains {
		observation.CloseDialog = v.over.next(snapshot, v.stage(found.screen), now)
	}
	return observation
}

// stage returns how far the visit is while the page shows a screen.
func (v *visitState) stage(screen Screen) stage {
	switch {
	case v.past.Admitted:
		return inCall
	case v.past.Requested && screen != PreJoin:
		return inLobby
	}
	return beforeEntry
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
