package meeting

import (
	"strings"
	"time"
)

const (
	// settleTime is how long the join button waits for the parts of the page
	// that load after it: the name field, the microphone and the camera.
	settleTime = 3 * time.Second
	// quietTime is how long microphone and camera must be off before the join
	// button is pressed. Pages turn them on when the browser grants them, which
	// may be after the buttons are drawn.
	quietTime = 700 * time.Millisecond
	// coveredTime is how long the join button may be covered by something
	// unknown before it is clicked by script.
	coveredTime = 4 * time.Second
	// mousePresses is how often the join button is pressed with the mouse. After
	// that it is clicked by script.
	mousePresses = 2
	// pressAgainTime is the time after which an element that was pressed, and
	// stayed, is pressed again.
	pressAgainTime = 3 * time.Second
	// arriveTime is how long a page may stay unknown after the join button
	// disappeared.
	arriveTime = 10 * time.Second
	// maxTries limits how often an element without effect is pressed or filled.
	maxTries = 3
)

// joinSteps is the state of the way from the opened page to the pressed join
// button. The parts and dialogs of the page come in any order, so each snapshot
// is decided separately.
type joinSteps struct {
	name     string
	passcode string
	document int64 // the document that the rest is about
	tries    map[string]int
	pacedAt  map[string]time.Time // time at which an element that reacts slowly was pressed

	passcodeAskedAt time.Time // an unknown passcode was first asked for
	offeredAt       time.Time // the join button was first visible
	devicesOffAt    time.Time // microphone and camera have been off since
	pressedAt       time.Time // joining was last requested
	presses         int       // number of presses of the join button
	reloaded        bool      // because something unreadable lay over the form
	submits         int       // number of submissions of the passcode, where that is a separate step
}

func newJoinSteps(name, passcode string) *joinSteps {
	return &joinSteps{name: name, passcode: passcode, tries: make(map[string]int), pacedAt: make(map[string]time.Time)}
}

// next returns the step for a snapshot. A page that was loaded again starts over.
func (j *joinSteps) next(snapshot Snapshot, screen Screen, now time.Time) step {
	if j.document != snapshot.Document {
		last := *j
		*j = *newJoinSteps(j.name, j.passcode)
		j.document, j.pressedAt, j.presses, j.submits, j.reloaded = snapshot.Document, last.pressedAt, last.presses, last.submits, last.reloaded
	}
	switch {
	case screen.Terminal():
		return step{kind: stepFail}
	case screen == HostAbsent || screen == Lobby || screen == InMeeting:
		return step{kind: stepDone}
	case screen == Reconnecting:
		return step{kind: stepWait}
	}
	for _, element := range dismissals() {
		if snapshot.clickable(element) && j.try(element) {
			if element == joinInDialog {
				j.pressedAt = now
			}
			return pressStep(element)
		}
	}
	for _, decide := range []func(Snapshot, time.Time) (step, bool){j.passLauncher, j.typeName, j.typePasscode, j.setDevices} {
		if next, decided := decide(snapshot, now); decided {
			return next
		}
	}
	// A button that disappeared after it was pressed is not the end yet: dialogs may follow before
	// the lobby. One that stays, under something that cannot be read, may need another document:
	// Zoom's wall for bots, in a closed shadow root, does not come again.
	button, visible := snapshot.Elements[joinButton]
	if !visible {
		if !j.pressedAt.IsZero() && now.Sub(j.pressedAt) >= arriveTime {
			return step{kind: stepDone}
		}
		return step{kind: stepWait}
	}
	if j.offeredAt.IsZero() {
		j.offeredAt = now
	}
	offered := now.Sub(j.offeredAt)
	complete := snapshot.Visible(nameInput) && !j.devicesOffAt.IsZero() && now.Sub(j.devicesOffAt) >= quietTime
	switch {
	case button.Disabled,
		!complete && offered < settleTime,
		button.Covered && offered < coveredTime,
		!j.pressedAt.IsZero() && now.Sub(j.pressedAt) < pressAgainTime:
		return step{kind: stepWait}
	}
	if button.Covered && snapshot.Over == nil && j.presses > maxTries && !j.reloaded {
		j.reloaded = true
		return step{kind: stepReload}
	}
	j.pressedAt = now
	j.presses++
	if button.Covered || j.presses > mousePresses {
		return step{kind: stepClick, element: joinButton}
	}
	return pressStep(joinButton)
}

// passLauncher continues in the browser. The link for it may appear only after
// the launcher has tried to start the platform's program.
func (j *joinSteps) passLauncher(snapshot Snapshot, now time.Time) (step, bool) {
	if snapshot.Visible(nameInput) || snapshot.Visible(joinButton) {
		return step{}, false
	}
	visible := false
	for _, element := range []string{useBrowser, launchApp} {
		visible = visible || snapshot.Visible(element)
		if snapshot.clickable(element) && j.tryPaced(element, now) {
			return pressStep(element), true
		}
	}
	return step{kind: stepWait}, visible
}

// typeName types the name. The bot joins under no other.
func (j *joinSteps) typeName(snapshot Snapshot, now time.Time) (step, bool) {
	return j.fill(snapshot, nameInput, j.name, now)
}

// typePasscode types the passcode where the page asks for it, and submits it
// where that is a separate step. When the page asks for a passcode and none is
// known, the meeting counts as not found.
func (j *joinSteps) typePasscode(snapshot Snapshot, now time.Time) (step, bool) {
	field, visible := snapshot.Elements[passcodeInput]
	switch {
	case !visible:
		return step{}, false
	case j.passcode == "" && field.Value == "":
		if j.passcodeAskedAt.IsZero() {
			j.passcodeAskedAt = now
		}
		if now.Sub(j.passcodeAskedAt) < settleTime { // the page may fill it in itself
			return step{kind: stepWait}, true
		}
		return step{kind: stepFail, evidence: "the page asks for a passcode, and the meeting's address carries none"}, true
	case j.presses > maxTries || j.submits > maxTries:
		return step{kind: stepFail, evidence: "the page asks for the passcode again"}, true
	}
	if next, decided := j.fill(snapshot, passcodeInput, j.passcode, now); decided {
		return next, true
	}
	if snapshot.Visible(joinButton) || snapshot.Visible(nameInput) {
		return step{}, false
	}
	if !j.tryPaced(passcodeSubmit, now) {
		return step{kind: stepWait}, true
	}
	j.submits++
	if snapshot.clickable(passcodeSubmit) {
		return pressStep(passcodeSubmit), true
	}
	return step{kind: stepEnter}, true
}

// setDevices turns microphone and camera off, and chooses computer audio.
func (j *joinSteps) setDevices(snapshot Snapshot, now time.Time) (step, bool) {
	switch off := snapshot.Visible(microphoneOff) && snapshot.Visible(cameraOff); {
	case !off:
		j.devicesOffAt = time.Time{}
	case j.devicesOffAt.IsZero():
		j.devicesOffAt = now
	}
	slow := false
	for _, element := range []string{computerAudio, microphoneOn, cameraOn} {
		switch {
		case !snapshot.clickable(element) || j.tries[element] >= maxTries:
		case !j.tryPaced(element, now): // a second press would turn it on again
			slow = true
		default:
			j.tries[element]++
			return pressStep(element), true
		}
	}
	return step{kind: stepWait}, slow
}

// fill types a text into a field until the field holds it: pages that are still
// starting wipe it. It decides nothing about a field that holds the text or is not
// visible.
func (j *joinSteps) fill(snapshot Snapshot, element, text string, now time.Time) (step, bool) {
	field, visible := snapshot.Elements[element]
	// A field that was typed into twice and took only the start has its own length limit. Without a text, any
	// value that the page filled in is right.
	wanted, shown := withoutFormatting(text), withoutFormatting(field.Value)
	holds := shown != "" && (shown == wanted || j.tries[element] > 1 && strings.HasPrefix(wanted, shown))
	if !visible || text == "" || holds {
		return step{}, false
	}
	if snapshot.clickable(element) && (j.try(element) || j.tryPaced(element, now)) {
		return step{kind: stepType, element: element, text: text}, true
	}
	return step{kind: stepWait}, true
}

// try counts the tries for an element and reports whether another is allowed.
func (j *joinSteps) try(element string) bool {
	j.tries[element]++
	return j.tries[element] <= maxTries
}

// tryPaced reports whether an element that reacts slowly may be pressed again.
func (j *joinSteps) tryPaced(element string, now time.Time) bool {
	if pressed, known := j.pacedAt[element]; known && now.Sub(pressed) < pressAgainTime {
		return false
	}
	j.pacedAt[element] = now
	return true
}
