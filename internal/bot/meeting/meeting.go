// Package meeting gets a bot into a platform's meeting page and says what the
// page shows. One machine serves all platforms: what differs between them
// stands in a profile file for each, with every selector and text, so that a
// page that changed is mended without a rebuild, and in a few lines of code
// about its addresses.
//
// Looking and deciding are apart. One script, run in the page, reports in one
// go what is visible; pure functions then tell which screen that is and what to
// do next. A screen is reported only when it was positively seen.
//
// The package knows nothing of jobs' lives, of recording or of the service. It
// drives a page through the methods of Page, and keeps nothing between calls
// but the name under which the bot joined, to know its own picture by.
package meeting

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"standin/internal/job"
)

// Page is what an adapter needs of a browser's page. The errors that count as
// passing (a page that navigates away, an element that has just gone) are those
// of package browser.
type Page interface {
	// Eval evaluates a JavaScript expression and decodes its JSON value.
	Eval(ctx context.Context, expression string, out any) error
	// ClickElement clicks the element that an expression yields, with real
	// mouse events.
	ClickElement(ctx context.Context, expression string) error
	// TypeInto replaces what the field that an expression yields holds, with
	// real key events. Errors call the field by the name.
	TypeInto(ctx context.Context, expression, name, text string) error
	// PasteInto is TypeInto without the keys: the text comes at once.
	PasteInto(ctx context.Context, expression, name, text string) error
	// Press sends keys to whatever has the focus.
	Press(ctx context.Context, keys string) error
	// MoveMouse moves the mouse to a place on the page.
	MoveMouse(ctx context.Context, x, y float64) error
}

// Adapter knows one platform's meeting page, for one visit at a time.
type Adapter interface {
	// Address returns what to open for a meeting address: unwrapped, in
	// English, without what mail programs put around it. The error is an
	// *AddressError.
	Address(meetingURL string) (Address, error)

	// Join goes from the opened page until joining was asked for: it passes
	// launchers, answers cookie and device dialogs, gives the name (cut to what
	// the platform takes) and the passcode, turns microphone and camera off, and
	// presses the join button. It returns nil at once when the page shows the
	// lobby or the meeting already. When the page shows that there is no way in,
	// asks for a passcode that is not known, or when ctx ends, the error is a
	// *ScreenError.
	Join(ctx context.Context, page Page, visitor JoinOptions) error

	// Observe reports what the page shows now. An error is no evidence about
	// the meeting.
	Observe(ctx context.Context, page Page) (Observation, error)

	// Tidy acts on an observation made after Join: it dismisses notices,
	// presses a join button that came back ("Join anyway"), turns off a
	// microphone or camera that is on, and moves the mouse when nothing was
	// recognised because toolbars are hidden. It does at most one thing a
	// call, so it is called after each observation.
	Tidy(ctx context.Context, page Page, observation Observation) error

	// Leave leaves the meeting or its lobby and waits until the page shows
	// that the bot is out. It returns nil when it is out already.
	Leave(ctx context.Context, page Page) error

	// SendChat sends a chat message to everyone. A text longer than the
	// platform's limit goes out in parts.
	SendChat(ctx context.Context, page Page, text string) error

	// Pin gives a participant the large picture. The error is an *ParticipantNotFoundError
	// when the page does not show the participant.
	Pin(ctx context.Context, page Page, participant Participant) error

	// AskPermission asks the host for permission to record: by the page's own
	// request where the platform has one, else by a chat message. The answer
	// shows in later observations: in Permission, or in Chat.
	AskPermission(ctx context.Context, page Page, name string) (AskMethod, error)
	// ClosePermissionRequest puts away what AskPermission opened on the page.
	ClosePermissionRequest(ctx context.Context, page Page) error
}

// Address is where a meeting is.
type Address struct {
	URL      string // what to open
	Passcode string // to type when the page asks for it; empty when unknown
}

// JoinOptions is who asks to join.
type JoinOptions struct {
	Name     string
	Passcode string // see Address
}

// AskMethod is a way in which the host was asked for permission to record.
type AskMethod string

// The ways to ask.
const (
	AskByPage AskMethod = "page" // the platform's own request
	AskByChat AskMethod = "chat"
)

// Permission is the host's answer to the platform's own request.
type Permission string

// The answers that a page shows.
const (
	NoAnswer Permission = ""
	Granted  Permission = "granted"
	Refused  Permission = "refused"
)

// ChatMessage is a message that the page shows in its chat.
type ChatMessage struct {
	ID     string // stable while the message stays
	Author string // empty while the page does not tell
	Text   string
	Own    bool // the bot wrote it
}

// Observation is what a page showed at one moment.
type Observation struct {
	Screen   Screen
	Evidence string // what the screen was recognised by, for people

	Participants []Participant // those that were seen, without the bot
	// TrackOwners are the tracks that are played by one participant's tile alone, and
	// so are nobody else's. Pages that play all sound in one place have none.
	TrackOwners []TrackOwner
	// Others is how many others are in the meeting. It may exceed the number
	// of Participants, because pages draw only some of them. It is -1 while
	// the page does not tell.
	Others int

	Permission Permission    // as far as the page shows it
	Recorded   bool          // the platform itself says that the meeting is being recorded
	Chat       []ChatMessage // while the chat is open, oldest first

	Notices []string // elements of the profile that Tidy would act on
	Dialog  string   // text of an open dialog, shortened
}

// Participant is somebody else in the meeting.
type Participant struct {
	ID       string // stable while the participant stays
	Name     string // empty while the page does not tell
	Speaking bool
}

// TrackOwner is a track and the participant whose tile plays it.
type TrackOwner struct {
	Track         string // its id on the page
	ParticipantID string
}

// ScreenError says that the page showed a screen from which there is no way
// into the meeting, or still showed it when time was up.
type ScreenError struct {
	Observation Observation
	Cause       error // the context's, when time was up
}

// Error tells the screen and what it was recognised by.
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

// Unwrap returns the context's error when time was up.
func (e *ScreenError) Unwrap() error { return e.Cause }

// UnsupportedPlatformError says that there is no adapter for a platform.
type UnsupportedPlatformError struct {
	Platform job.Platform
}

// Error tells which platform, and which can be joined.
func (e *UnsupportedPlatformError) Error() string {
	var names []string
	for _, known := range platforms() {
		names = append(names, fmt.Sprintf("%q", known.name))
	}
	return fmt.Sprintf("this version of Standin has no adapter for platform %q; it can join %s", e.Platform, strings.Join(names, ", "))
}

// New returns the adapter of a platform. The error is an *UnsupportedPlatformError when
// there is none.
func New(wanted job.Platform, profiles Profiles) (Adapter, error) {
	known := func(one platform) bool { return one.name == wanted }
	if !slices.ContainsFunc(platforms(), known) {
		return nil, &UnsupportedPlatformError{Platform: wanted}
	}
	profile, ok := profiles[wanted]
	if !ok {
		return nil, fmt.Errorf("no profile for platform %q is loaded", wanted)
	}
	return NewForProfile(profile, "")
}

// NewForProfile returns the adapter of the platform that the profile is for,
// for a page in which the bot is, or will be, under a name, whether Join gets it
// there or another program does.
func NewForProfile(profile *Profile, name string) (Adapter, error) {
	for _, known := range platforms() {
		if known.name != profile.Platform {
			continue
		}
		made, err := newSite(known, profile)
		if err != nil {
			return nil, err
		}
		made.ownName = cut(plain(name), profile.Limits.Name)
		return made, nil
	}
	return nil, &UnsupportedPlatformError{Platform: profile.Platform}
}
