// Package meeting joins a platform's meeting page with a browser and reports
// what the page shows. One engine serves all platforms. What differs between
// them is in a profile file per platform, which holds every selector and text,
// so that an operator can adapt to a changed page without a rebuild, and in a
// little code that parses the platform's URLs.
//
// Reading the page and deciding are separate. One script, evaluated in the page,
// returns a Snapshot of what is visible. Pure functions classify the snapshot as
// a Screen and choose the next step. A screen is reported only when the snapshot
// holds evidence for it.
//
// The package does not depend on jobs' state, on recording or on the service. It
// drives a page through the Page interface. Between calls it keeps only the name
// under which the bot joined, which identifies the bot's own tile.
package meeting

import (
	"context"
	"errors"
	"fmt"

	"standin/internal/jobs/job"
)

// Page is the part of a browser page that an adapter uses. Package browser
// defines the errors that count as transient: the page navigated, or an element
// was removed, during a call.
type Page interface {
	// Eval evaluates a JavaScript expression and decodes its JSON value. The
	// expression shares the document with the page, and no values.
	Eval(ctx context.Context, expression string, out any) error
	// EvalInPage is like Eval, among the page's own scripts.
	EvalInPage(ctx context.Context, expression string, out any) error
	// ClickElement clicks the element that an expression returns, with real
	// mouse events.
	ClickElement(ctx context.Context, expression string) error
	// TypeInto replaces the value of the field that an expression returns, with
	// real key events. Errors refer to the field by name.
	TypeInto(ctx context.Context, expression, name, text string) error
	// PasteInto is like TypeInto, but inserts the text at once.
	PasteInto(ctx context.Context, expression, name, text string) error
	// Press sends keys to the focused element.
	Press(ctx context.Context, keys string) error
	// MoveMouse moves the mouse to a point on the page.
	MoveMouse(ctx context.Context, x, y float64) error
}

// Adapter drives one platform's meeting page. An adapter serves one visit at a
// time.
type Adapter interface {
	// Address returns the URL to open for a meeting URL: without redirectors and
	// mail scanners around it, and in English where the platform's URL can say
	// so. The error is an *AddressError.
	Address(meetingURL string) (Address, error)

	// Join takes the opened page to the point where joining was requested. It
	// passes launchers, answers cookie and device dialogs, types the name (cut to
	// the platform's limit) and the passcode, turns microphone and camera off,
	// and presses the join button. It returns nil at once when the page already
	// shows the lobby or the meeting. When the page shows that there is no way
	// in, when it asks for a passcode and none is known, or when ctx ends, the
	// error is a *ScreenError.
	Join(ctx context.Context, page Page, options JoinOptions) error

	// Observe reports what the page shows now. An error says nothing about the
	// meeting.
	Observe(ctx context.Context, page Page) (Observation, error)

	// Arrange arranges the page for the recorded picture, as far as the observation
	// was made in the meeting, and otherwise puts the page back. It changes only
	// style: what is not in the picture is transparent and can still be pressed. Call
	// it after each observation.
	Arrange(ctx context.Context, page Page, observation Observation, layout job.Layout) error

	// HandleNotices acts on an observation made after Join: it dismisses notices, closes a
	// dialog that the profile does not know by its safest button, presses a join button
	// that came back ("Join anyway"), turns off a microphone or camera that is on, and
	// moves the mouse when nothing was recognized, because toolbars may be hidden. It does
	// at most one thing per call. Call it after each observation.
	HandleNotices(ctx context.Context, page Page, observation Observation) error

	// RejoinAudio presses the page's control that joins its audio, if it shows one: until then, the page may play no
	// sound.
	RejoinAudio(ctx context.Context, page Page) error

	// Leave leaves the meeting or its lobby and waits until the page shows that
	// the bot is out. It returns nil when the bot is already out.
	Leave(ctx context.Context, page Page) error

	// SendChat sends a chat message to everyone. A text that exceeds the
	// platform's limit is sent in parts.
	SendChat(ctx context.Context, page Page, text string) error

	// SetDevice turns a device on or off, as far as the page allows it. The error is
	// ErrNoDevice if the page shows no button for it, and ErrDeviceRefused if the button has
	// no effect. HandleNotices leaves a device on that this has turned on.
	SetDevice(ctx context.Context, page Page, device Device, on bool) error

	// Pin pins a participant. The error is a *ParticipantNotFoundError when the
	// page does not show the participant.
	Pin(ctx context.Context, page Page, participant Participant) error

	// ShowTexts opens the chat and turns on live captions, as far as options says
	// so, and keeps both out of the recorded picture. It returns nil at once when
	// that has been done. The texts appear in later observations.
	ShowTexts(ctx context.Context, page Page, options TextOptions) error

	// ReadPeople opens the list of people, reads it from its start to its end, and closes
	// it again. It is kept out of the recorded picture. The people appear in later
	// observations until they are read again. Pages without such a list have nothing to
	// read.
	ReadPeople(ctx context.Context, page Page) error

	// AskPermission asks the host for permission to record, with the page's own
	// request where the platform has one, otherwise in a chat message. The answer
	// appears in later observations: in Permission or in Chat.
	AskPermission(ctx context.Context, page Page, name string) (AskMethod, error)
	// ClosePermissionRequest closes what AskPermission opened on the page.
	ClosePermissionRequest(ctx context.Context, page Page) error
}

// Address is the location of a meeting.
type Address struct {
	URL      string // address to open
	Passcode string // passcode that the page may ask for; empty when unknown
}

// JoinOptions are the name and passcode to join with, and who follows it.
type JoinOptions struct {
	Name     string
	Passcode string // Address.Passcode

	Observed func(Observation) // receives what the page shows on the way; may be nil
}

// ErrHomePage reports that a page sent the bot to the platform's public site instead of
// the meeting. Google Meet does that to the first visit of a browser.
var ErrHomePage = errors.New("the page sent the bot to the platform's home page")

// ScreenError reports that the page showed a screen from which there is no way
// into the meeting, or still showed it when the time was up.
type ScreenError struct {
	Observation Observation
	Cause       error // the context's error, when the time was up
}

// Error names the screen and its evidence.
func (e *ScreenError) Error() string {
	text := fmt.Sprintf("the page shows %s", e.Observation.Screen)
	if e.Observation.Evidence != "" {
		text += " (" + e.Observation.Evidence + ")"
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the context's error when the time was up.
func (e *ScreenError) Unwrap() error { return e.Cause }

// ParticipantNotFoundError reports that the page does not show a participant.
type ParticipantNotFoundError struct {
	Participant Participant
}

// Error names the participant.
func (e *ParticipantNotFoundError) Error() string {
	return fmt.Sprintf("the page shows no participant %q (%s)", e.Participant.Name, e.Participant.ID)
}
