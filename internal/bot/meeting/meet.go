package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// lookInterval paces the looks at the page while something is awaited.
const lookInterval = 100 * time.Millisecond

// pressedTime is how long a pressed element may take to go away.
const pressedTime = time.Second

// meetHost is where Google Meet's meetings are.
const meetHost = "meet.google.com"

// The elements of Meet's profile.
const (
	nameInput        = "nameInput"
	joinButton       = "joinButton"
	joinInDialog     = "joinInDialog"
	microphoneOn     = "microphoneOn"
	microphoneOff    = "microphoneOff"
	cameraOn         = "cameraOn"
	cameraOff        = "cameraOff"
	dialog           = "dialog"
	answerCookies    = "answerCookies"
	withoutDevices   = "continueWithoutDevices"
	acceptNotice     = "acceptNotice"
	dismissTip       = "dismissTip"
	captcha          = "captcha"
	tile             = "tile"
	selfName         = "selfName"
	captionsButton   = "captionsButton"
	callControls     = "callControls"
	participantLabel = "participantLabel"
	chatButton       = "chatButton"
	chatInput        = "chatInput"
	leaveButton      = "leaveButton"
	confirmLeave     = "confirmLeave"
	returnHome       = "returnHome"
)

// meet is the Adapter of Google Meet (platforms, "Meet").
type meet struct {
	profile *Profile
	probe   probe
}

// newMeet checks that the profile fits the adapter.
func newMeet(profile *Profile) (*meet, error) {
	elements := []string{
		nameInput, joinButton, joinInDialog, microphoneOn, microphoneOff, cameraOn, cameraOff,
		dialog, answerCookies, withoutDevices, acceptNotice, dismissTip, captcha,
		tile, selfName, captionsButton, callControls, participantLabel,
		chatButton, chatInput, leaveButton, confirmLeave, returnHome,
	}
	if err := profile.require(elements, Screens()); err != nil {
		return nil, err
	}
	probe, err := newProbe(profile)
	if err != nil {
		return nil, err
	}
	return &meet{profile: profile, probe: probe}, nil
}

// Address asks for the page in English, because texts are recognised in English
// (platforms, "Rules that cost others dearly").
func (m *meet) Address(meetingURL string) (Address, error) {
	address, err := unwrap(meetingURL)
	if err != nil {
		return Address{}, err
	}
	address.User = nil
	if strings.EqualFold(address.Hostname(), meetHost) {
		if strings.Trim(address.Path, "/") == "" {
			return Address{}, &AddressError{Reason: "it holds no meeting code"}
		}
		address.Scheme, address.Host = "https", meetHost
		address.Path, address.RawPath = strings.ToLower(address.Path), ""
	}
	query := address.Query()
	query.Set("hl", "en")
	address.RawQuery = query.Encode()
	return Address{URL: address.String()}, nil
}

// Join is described at Adapter.
func (m *meet) Join(ctx context.Context, page Page, visitor Visitor) error {
	name := cut(plain(visitor.Name), m.profile.Limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	progress := newJoining(name)
	var last Observation
	err := m.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		last = m.observation(snapshot)
		next := progress.next(snapshot, last.Screen, time.Now())
		switch next.kind {
		case stepStop:
			return false, &ScreenError{Observation: last}
		case stepDone:
			return true, nil
		case stepPress:
			return false, m.press(ctx, page, next.element)
		case stepType:
			return false, page.TypeInto(ctx, m.probe.element(next.element), next.element, name)
		default:
			return false, nil
		}
	})
	if err != nil && ctx.Err() != nil {
		return &ScreenError{Observation: last, Cause: ctx.Err()}
	}
	return err
}

// Observe is described at Adapter.
func (m *meet) Observe(ctx context.Context, page Page) (Observation, error) {
	snapshot, err := m.probe.look(ctx, page)
	if err != nil {
		return Observation{}, err
	}
	return m.observation(snapshot), nil
}

// observation is what a snapshot means.
func (m *meet) observation(snapshot Snapshot) Observation {
	observation := Observation{Others: -1, Dialog: snapshot.Elements[dialog].Text}
	observation.Screen, observation.Evidence = m.profile.Classify(snapshot)
	if observation.Screen == InMeeting {
		observation.Participants, observation.Others = m.profile.people(snapshot)
	}
	if !observation.Screen.Over() {
		observation.Notices = untidy(snapshot, observation.Screen)
	}
	return observation
}

// dismissals are the buttons of dialogs and notices that stand in the way, in
// the order in which they are answered.
func dismissals() []string {
	return []string{answerCookies, withoutDevices, acceptNotice, joinInDialog, dismissTip}
}

// untidy lists what should be pressed after joining was asked for.
func untidy(snapshot Snapshot, screen Screen) []string {
	wanted := dismissals()
	switch screen {
	case PreJoin:
		wanted = append(wanted, joinButton)
	case HostAbsent, Lobby:
		wanted = append(wanted, microphoneOn, cameraOn)
	case InMeeting:
		wanted = slices.DeleteFunc(wanted, func(element string) bool { return element == joinInDialog })
		wanted = append(wanted, microphoneOn, cameraOn)
	}
	var found []string
	for _, element := range wanted {
		if snapshot.clickable(element) {
			found = append(found, element)
		}
	}
	return found
}

// Tidy is described at Adapter.
func (m *meet) Tidy(ctx context.Context, page Page, observation Observation) error {
	switch {
	case len(observation.Notices) > 0:
		element := observation.Notices[0]
		if err := m.press(ctx, page, element); err != nil && !passing(err) {
			return fmt.Errorf("pressing %s: %w", element, err)
		}
	case observation.Screen == Unknown:
		return m.wake(ctx, page, Snapshot{})
	}
	return nil
}

// Leave is described at Adapter. Without the confirmation a ghost of the bot
// would stay in the meeting for a while.
func (m *meet) Leave(ctx context.Context, page Page) error {
	var pressed time.Time
	err := m.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		screen, _ := m.profile.Classify(snapshot)
		switch {
		case screen.Over() || screen == PreJoin:
			return true, nil
		case snapshot.clickable(confirmLeave):
			return false, page.ClickElement(ctx, m.probe.element(confirmLeave))
		case snapshot.clickable(leaveButton):
			if time.Since(pressed) < pressedTime {
				return false, nil
			}
			pressed = time.Now()
			return false, page.ClickElement(ctx, m.probe.element(leaveButton))
		case pressed.IsZero():
			return false, m.uncover(ctx, page, snapshot)
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("leaving the meeting: %w", err)
	}
	return nil
}

// uncover brings a button into reach that is not: it answers the dialog that
// lies over the page, and else wakes the toolbars.
func (m *meet) uncover(ctx context.Context, page Page, snapshot Snapshot) error {
	for _, element := range dismissals() {
		if snapshot.clickable(element) {
			return page.ClickElement(ctx, m.probe.element(element))
		}
	}
	return m.wake(ctx, page, snapshot)
}

// wake moves the mouse in the middle of the page, which brings hidden toolbars
// back.
func (m *meet) wake(ctx context.Context, page Page, snapshot Snapshot) error {
	const span = 40 // pixels; enough to count as a movement
	x, y := snapshot.Width/2, snapshot.Height/2
	if x <= span || y <= span {
		x, y = 640, 360
	}
	for _, place := range []float64{x - span, x} {
		if err := page.MoveMouse(ctx, place, y); err != nil {
			return fmt.Errorf("moving the mouse: %w", err)
		}
	}
	return nil
}

// press clicks an element and gives it a moment to go away, so that a switch is
// not pressed twice.
func (m *meet) press(ctx context.Context, page Page, element string) error {
	if err := page.ClickElement(ctx, m.probe.element(element)); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, pressedTime)
	defer cancel()
	err := m.repeat(waiting, page, func(snapshot Snapshot) (bool, error) {
		return !snapshot.Visible(element), nil
	})
	if ctx.Err() == nil && waiting.Err() != nil {
		return nil // still there: whoever asked looks again
	}
	return err
}

// repeat looks at the page at once and then again and again until act is done,
// fails, or ctx ends. Errors that pass are no failure.
func (m *meet) repeat(ctx context.Context, page Page, act func(Snapshot) (done bool, err error)) error {
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	for {
		snapshot, err := m.probe.look(ctx, page)
		done := false
		if err == nil {
			done, err = act(snapshot)
		}
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// passing reports whether an error comes from a page that changed under the
// call, so that the next look may well succeed.
func passing(err error) bool {
	var interrupted *browser.InterruptedError
	var element *browser.ElementError
	return errors.As(err, &interrupted) || errors.As(err, &element)
}

// Pin is described at Adapter.
func (m *meet) Pin(context.Context, Page, Participant) error { return errors.ErrUnsupported }

// AskPermission is described at Adapter.
func (m *meet) AskPermission(context.Context, Page, string) (Asking, error) {
	return "", errors.ErrUnsupported
}

// StopAsking is described at Adapter.
func (m *meet) StopAsking(context.Context, Page) error { return nil }
