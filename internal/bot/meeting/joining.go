package meeting

import (
	"strings"
	"time"
	"unicode"
)

const (
	// settleTime is how long the join button waits for the parts of the page
	// that come after it: the name field, the microphone and the camera.
	settleTime = 3 * time.Second
	// quietTime is how long microphone and camera must be off before the join
	// button is pressed: pages turn them on when the browser grants them, which
	// may come after the buttons are drawn.
	quietTime = 700 * time.Millisecond
	// coveredTime is how long something unknown may lie over the join button
	// before it is pressed all the same.
	coveredTime = 6 * time.Second
	// pressAgainTime is how long a pressed join button may stay.
	pressAgainTime = 3 * time.Second
	// mostTries bounds what is done about one element that does not obey.
	mostTries = 3
)

// stepKind is what to do next on the way in.
type stepKind int

const (
	stepWait  stepKind = iota
	stepPress          // the element
	stepType           // the name into the element
	stepDone           // joining was asked for
	stepStop           // there is no way in
)

// step is what to do next, and to which element.
type step struct {
	kind    stepKind
	element string
}

// joining is the way from the opened page to the pressed join button. The
// page's parts and dialogs come in any order, so each look decides anew.
type joining struct {
	name      string
	tries     map[string]int
	offeredAt time.Time // the join button was first seen
	quietAt   time.Time // since when microphone and camera were seen off
	pressedAt time.Time
}

func newJoining(name string) *joining {
	return &joining{name: name, tries: make(map[string]int)}
}

// next decides what to do about a snapshot.
func (j *joining) next(snapshot Snapshot, screen Screen, now time.Time) step {
	switch {
	case screen.Over():
		return step{kind: stepStop}
	case screen == HostAbsent || screen == Lobby || screen == InMeeting:
		return step{kind: stepDone}
	}
	for _, element := range dismissals() {
		if snapshot.clickable(element) && j.try(element) {
			if element == joinInDialog {
				j.pressedAt = now
			}
			return step{stepPress, element}
		}
	}
	named, visible := j.named(snapshot)
	if visible && !named {
		if snapshot.clickable(nameInput) && j.try(nameInput) {
			return step{stepType, nameInput}
		}
		return step{kind: stepWait} // never join under another name
	}
	j.watchDevices(snapshot, now)
	for _, element := range []string{microphoneOn, cameraOn} {
		if snapshot.clickable(element) && j.try(element) {
			return step{stepPress, element}
		}
	}
	return j.ask(snapshot, named, now)
}

// watchDevices keeps since when microphone and camera are off.
func (j *joining) watchDevices(snapshot Snapshot, now time.Time) {
	switch quiet := snapshot.Visible(microphoneOff) && snapshot.Visible(cameraOff); {
	case !quiet:
		j.quietAt = time.Time{}
	case j.quietAt.IsZero():
		j.quietAt = now
	}
}

// try counts what is done about an element, and is false when it was enough.
func (j *joining) try(element string) bool {
	j.tries[element]++
	return j.tries[element] <= mostTries
}

// named reports whether the name field holds the name, and whether there is
// one. A field that was typed into and took only the beginning has a limit of
// its own.
func (j *joining) named(snapshot Snapshot) (named, visible bool) {
	field, visible := snapshot.Elements[nameInput]
	holds, wanted := seen(field.Value), seen(j.name)
	shortened := j.tries[nameInput] > 1 && holds != "" && strings.HasPrefix(wanted, holds)
	return visible && (holds == wanted || shortened), visible
}

// seen is what can be seen of a text: keyboards have no keys for the characters
// that only join or direct others, so a field may have lost them.
func seen(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}

// ask presses the join button when its time has come.
func (j *joining) ask(snapshot Snapshot, named bool, now time.Time) step {
	button, visible := snapshot.Elements[joinButton]
	if !visible {
		if !j.pressedAt.IsZero() {
			return step{kind: stepDone}
		}
		return step{kind: stepWait}
	}
	if j.offeredAt.IsZero() {
		j.offeredAt = now
	}
	offered := now.Sub(j.offeredAt)
	complete := named && !j.quietAt.IsZero() && now.Sub(j.quietAt) >= quietTime
	switch {
	case button.Disabled,
		!complete && offered < settleTime,
		button.Covered && offered < coveredTime,
		!j.pressedAt.IsZero() && now.Sub(j.pressedAt) < pressAgainTime:
		return step{kind: stepWait}
	}
	j.pressedAt = now
	return step{stepPress, joinButton}
}
