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
	// pressAgainTime is how long a pressed join button, or a link to another
	// page, may stay.
	pressAgainTime = 3 * time.Second
	// arriveTime is how long a page may show nothing that is known after the
	// join button went away.
	arriveTime = 10 * time.Second
	// mostTries bounds what is done about one element that does not obey.
	mostTries = 3
)

// stepKind is what to do next on the way in or out.
type stepKind int

const (
	stepWait  stepKind = iota
	stepPress          // the element
	stepType           // the text into the element
	stepEnter          // the key, in the field that was typed into
	stepWake           // what is hidden or covered
	stepDone           // it is done
	stepStop           // there is no way in
)

// step is what to do next, and to which element.
type step struct {
	kind     stepKind
	element  string
	text     string // to type
	evidence string // why there is no way in, where no screen says it
}

// joining is the way from the opened page to the pressed join button. The
// page's parts and dialogs come in any order, so each look decides anew.
type joining struct {
	name      string
	passcode  string
	tries     map[string]int
	paced     map[string]time.Time // when an element that takes its time was pressed
	askedAt   time.Time            // an unknown passcode was first asked for
	offeredAt time.Time            // the join button was first seen
	quietAt   time.Time            // since when microphone and camera were seen off
	pressedAt time.Time            // joining was last asked for
}

func newJoining(name, passcode string) *joining {
	return &joining{name: name, passcode: passcode, tries: make(map[string]int), paced: make(map[string]time.Time)}
}

// next decides what to do about a snapshot.
func (j *joining) next(snapshot Snapshot, screen Screen, now time.Time) step {
	switch {
	case screen.Terminal():
		return step{kind: stepStop}
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
			return step{kind: stepPress, element: element}
		}
	}
	for _, decide := range []func(Snapshot, time.Time) (step, bool){j.passLauncher, j.giveName, j.givePasscode, j.setDevices} {
		if next, decided := decide(snapshot, now); decided {
			return next
		}
	}
	return j.ask(snapshot, now)
}

// passLauncher goes on in the browser. The link to it may appear only after the
// launcher has tried to start the platform's program.
func (j *joining) passLauncher(snapshot Snapshot, now time.Time) (step, bool) {
	if snapshot.Visible(nameInput) || snapshot.Visible(joinButton) {
		return step{}, false
	}
	seen := false
	for _, element := range []string{useBrowser, launchApp} {
		seen = seen || snapshot.Visible(element)
		if snapshot.clickable(element) && j.again(element, now) {
			return step{kind: stepPress, element: element}, true
		}
	}
	return step{kind: stepWait}, seen
}

// giveName types the name, under which alone the bot joins.
func (j *joining) giveName(snapshot Snapshot, _ time.Time) (step, bool) {
	return j.fill(snapshot, nameInput, j.name)
}

// givePasscode types the passcode where the page asks for it, and sends it off
// where that is a step of its own. A page that asks for one that nobody knows
// is as good as a wrong address.
func (j *joining) givePasscode(snapshot Snapshot, now time.Time) (step, bool) {
	field, asked := snapshot.Elements[passcodeInput]
	switch {
	case !asked:
		return step{}, false
	case j.passcode == "" && field.Value == "":
		if j.askedAt.IsZero() {
			j.askedAt = now
		}
		if now.Sub(j.askedAt) < settleTime { // the page may fill it in by itself
			return step{kind: stepWait}, true
		}
		return step{kind: stepStop, evidence: "the page asks for a passcode, and the meeting's address carries none"}, true
	}
	if next, decided := j.fill(snapshot, passcodeInput, j.passcode); decided {
		return next, true
	}
	if snapshot.Visible(joinButton) || snapshot.Visible(nameInput) {
		return step{}, false
	}
	switch {
	case !j.again(passcodeSubmit, now):
		return step{kind: stepWait}, true
	case snapshot.clickable(passcodeSubmit):
		return step{kind: stepPress, element: passcodeSubmit}, true
	default:
		return step{kind: stepEnter}, true
	}
}

// setDevices turns microphone and camera off, and sees to it that the meeting
// can be heard.
func (j *joining) setDevices(snapshot Snapshot, now time.Time) (step, bool) {
	j.watchDevices(snapshot, now)
	for _, element := range []string{computerAudio, microphoneOn, cameraOn} {
		if snapshot.clickable(element) && j.try(element) {
			return step{kind: stepPress, element: element}, true
		}
	}
	return step{}, false
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

// again is try for what takes its time after it was pressed.
func (j *joining) again(element string, now time.Time) bool {
	if pressed, known := j.paced[element]; known && now.Sub(pressed) < pressAgainTime {
		return false
	}
	j.paced[element] = now
	return true
}

// fill has a text typed into a field until it holds it, and decides nothing
// about a field that holds it or is not there.
func (j *joining) fill(snapshot Snapshot, element, text string) (step, bool) {
	field, visible := snapshot.Elements[element]
	if !visible || j.holds(field.Value, element, text) {
		return step{}, false
	}
	if snapshot.clickable(element) && j.try(element) {
		return step{kind: stepType, element: element, text: text}, true
	}
	return step{kind: stepWait}, true
}

// holds reports whether a field's value is the text. A field that was typed
// into twice and took only the beginning has a limit of its own. Without a
// text, whatever the page filled in is right.
func (j *joining) holds(value, element, text string) bool {
	wanted, shown := seen(text), seen(value)
	switch {
	case text == "":
		return true
	case shown == "":
		return false
	}
	return shown == wanted || j.tries[element] > 1 && strings.HasPrefix(wanted, shown)
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

// ask presses the join button when its time has come. A button that went away
// after it was pressed is no end yet: dialogs may follow before the lobby.
func (j *joining) ask(snapshot Snapshot, now time.Time) step {
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
	complete := snapshot.Visible(nameInput) && !j.quietAt.IsZero() && now.Sub(j.quietAt) >= quietTime
	switch {
	case button.Disabled,
		!complete && offered < settleTime,
		button.Covered && offered < coveredTime,
		!j.pressedAt.IsZero() && now.Sub(j.pressedAt) < pressAgainTime:
		return step{kind: stepWait}
	}
	j.pressedAt = now
	return step{kind: stepPress, element: joinButton}
}
