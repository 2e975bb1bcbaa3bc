package meeting

import (
	"fmt"
	"slices"
	"strings"

	"standin/internal/job"
)

// Screen is what a meeting page shows, as far as a bot cares. Its values are
// the keys of a profile's screens.
type Screen string

// The screens of all platforms.
const (
	Unknown       Screen = "unknown" // nothing was recognised: no evidence of anything
	PreJoin       Screen = "preJoin" // asks for the name, or offers to join
	HostAbsent    Screen = "hostAbsent"
	Lobby         Screen = "lobby"
	InMeeting     Screen = "inMeeting"
	Removed       Screen = "removed"
	Ended         Screen = "ended" // by the host, or because the bot left
	Denied        Screen = "denied"
	LobbyTimedOut Screen = "lobbyTimedOut" // by the platform itself
	NotFound      Screen = "notFound"
	SignInWall    Screen = "signInWall"
	BotWall       Screen = "botWall" // captcha, or the visitor is refused
	CannotConnect Screen = "cannotConnect"
	Reconnecting  Screen = "reconnecting" // the page lost its connection and tries to get it back
)

// Screens lists every screen but Unknown in the order in which they are looked
// for. Three rules stand in the order (platforms, "Rules that cost others
// dearly"): the lobby comes before the meeting, because lobbies show the
// meeting's controls too; a screen that says more comes before one whose signs
// stand on other pages as well ("Return to home", "You can't join this video
// call"); and a lost connection is told before what the page showed when it
// was lost and still shows.
func Screens() []Screen {
	return []Screen{
		Denied, Removed, LobbyTimedOut, NotFound, SignInWall, CannotConnect, BotWall, Ended,
		Reconnecting, HostAbsent, Lobby, PreJoin, InMeeting,
	}
}

// Terminal reports whether the screen is an end: nothing but a new visit leads from
// it into the meeting.
func (s Screen) Terminal() bool {
	switch s {
	case Removed, Denied, LobbyTimedOut, NotFound, SignInWall, CannotConnect, BotWall, Ended:
		return true
	}
	return false
}

// errorScheme is the scheme of the page that Chromium shows in place of one
// that it could not load.
const errorScheme = "chrome-error:"

// Classify tells which screen a snapshot shows, and by what it was recognised.
// It is Unknown unless a sign of the profile was seen.
func (p *Profile) Classify(snapshot Snapshot) (Screen, string) {
	if snapshot.Scheme == errorScheme {
		return CannotConnect, "the browser's own error page"
	}
	for _, screen := range Screens() {
		for _, sign := range p.Screens[screen] {
			if evidence, ok := sign.shown(snapshot); ok {
				return screen, evidence
			}
		}
	}
	return Unknown, ""
}

// shown reports whether all of a sign's conditions hold, and what was seen.
func (s Rule) shown(snapshot Snapshot) (evidence string, ok bool) {
	var seen []string
	if len(s.Hosts) > 0 {
		if !slices.Contains(s.Hosts, snapshot.Host) {
			return "", false
		}
		seen = append(seen, "host "+snapshot.Host)
	}
	if len(s.Titles) > 0 {
		title := strings.TrimSpace(snapshot.Title)
		if !slices.ContainsFunc(s.Titles, func(wanted string) bool { return strings.EqualFold(wanted, title) }) {
			return "", false
		}
		seen = append(seen, fmt.Sprintf("title %q", title))
	}
	for _, text := range s.Text {
		found := snapshot.Texts[text.key()]
		if found == "" {
			return "", false
		}
		seen = append(seen, fmt.Sprintf("text %q", found))
	}
	if len(s.Elements) > 0 {
		var visible []string
		for _, name := range s.Elements {
			if snapshot.Visible(name) {
				visible = append(visible, name)
			}
		}
		if len(visible) < max(s.AtLeast, 1) {
			return "", false
		}
		seen = append(seen, "element "+strings.Join(visible, ", "))
	}
	if slices.ContainsFunc(s.Unless, snapshot.Visible) {
		return "", false
	}
	return strings.Join(seen, "; "), true
}

// Failure tells how a job fails whose last screen this was, with nothing
// recorded (platforms, "Failure codes from these"): for the screens that are an
// end, the end itself; for the others, waiting there until time was up. It is
// false for InMeeting, which is no failure.
func (s Screen) Failure() (code job.FailureCode, detail string, ok bool) {
	switch s {
	case HostAbsent:
		return job.WaitingForHost, "The host did not come.", true
	case Lobby:
		return job.LobbyTimeout, "Nobody let the bot in from the lobby.", true
	case LobbyTimedOut:
		return job.LobbyTimeout, "The platform ended the wait in the lobby: nobody answered the request to join.", true
	case Denied:
		return job.HostDeniedAdmission, "Somebody in the meeting denied the request to join.", true
	case NotFound:
		return job.MeetingNotFound, "The platform says that there is no such meeting, or that its code or passcode is wrong or expired.", true
	case SignInWall:
		return job.AuthFailure, "Sign-in wall: the platform lets only signed-in visitors join this meeting.", true
	case BotWall:
		return job.AuthFailure, "Bot wall: the platform shows a captcha or refuses this visitor.", true
	case Removed:
		return job.RemovedFromMeeting, "The bot was removed from the meeting.", true
	case Ended:
		return job.MeetingEnded, "The meeting ended.", true
	case CannotConnect:
		return job.NetworkLoss, "The meeting page cannot connect.", true
	case Reconnecting:
		return job.NetworkLoss, "The page lost its connection and did not get it back.", true
	case PreJoin:
		return job.InternalError, "The page still showed its pre-join screen when time was up.", true
	case InMeeting:
		return "", "", false
	default:
		return job.InternalError, "The page was not recognised: it shows none of the screens that the profile describes.", true
	}
}

// Failure is Screen.Failure with what the screen was recognised by.
func (o Observation) Failure() (code job.FailureCode, detail string, ok bool) {
	code, detail, ok = o.Screen.Failure()
	if ok && o.Evidence != "" {
		detail += " Seen: " + o.Evidence + "."
	}
	return code, detail, ok
}
