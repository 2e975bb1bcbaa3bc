package meeting

import (
	"slices"

	"standin/internal/jobs/job"
)

// Screen is the kind of screen that a meeting page shows. Its values are the
// keys of a profile's screens.
type Screen string

// The screens of all platforms.
const (
	Unknown       Screen = "unknown" // not recognized: no evidence of anything
	PreJoin       Screen = "preJoin" // asks for the name, or offers to join
	HostAbsent    Screen = "hostAbsent"
	Lobby         Screen = "lobby"
	InMeeting     Screen = "inMeeting"
	Removed       Screen = "removed"
	Ended         Screen = "ended" // the host ended it, or the bot left
	Denied        Screen = "denied"
	LobbyTimedOut Screen = "lobbyTimedOut" // the platform ended the wait
	NotFound      Screen = "notFound"
	SignInWall    Screen = "signInWall"
	BotWall       Screen = "botWall" // a captcha, or the visitor is refused
	CannotConnect Screen = "cannotConnect"
	Reconnecting  Screen = "reconnecting" // the page lost its connection and retries
)

// Screens lists every screen but Unknown in the order in which they are matched.
// The order holds three rules. The lobby comes before the meeting, because
// lobbies show the meeting's controls too. A specific screen comes before one
// whose rules also match other pages ("You can't join this video call"). And a
// lost connection comes before what the page showed when it was lost.
func Screens() []Screen { return append(overScreens(), HostAbsent, Lobby, PreJoin, InMeeting) }

// overScreens lists the screens of Screens without a way in, or of a call that is over
// or interrupted.
func overScreens() []Screen { return append(terminalScreens(), Reconnecting) }

// terminalScreens lists the screens of Screens from which only a new visit leads into the
// meeting.
func terminalScreens() []Screen {
	return []Screen{Denied, Removed, LobbyTimedOut, NotFound, SignInWall, CannotConnect, BotWall, Ended}
}

// Terminal reports whether only a new visit leads from the screen into the
// meeting.
func (s Screen) Terminal() bool { return slices.Contains(terminalScreens(), s) }

// Failure returns the failure of a job whose last screen this was and that
// recorded nothing. For a screen that is not terminal it is the failure of a
// bot that stayed there until its time was up. ok is false for InMeeting, which
// is no failure.
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
		return job.InternalError, "The page was not recognized: it shows none of the screens that the profile describes.", true
	}
}
