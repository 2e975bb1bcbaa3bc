package zoomsdk

import (
	"fmt"

	"standin/internal/bot/meeting"
)

// troubleScreen tells which screen an error of joining stands for. The codes
// are those of Zoom's list for the Meeting SDK for Web and of version 6.2.0
// itself. Those that say nothing of the meeting, because the service's own key,
// signature or SDK is refused, and those that nobody has described, are no
// screen: see RefusedError.
func troubleScreen(t trouble) meeting.Screen {
	if t.During != "join" {
		return meeting.Unknown
	}
	switch t.Code {
	case 3001, 3610, 3703, 3706, 3707, 3714, // no such meeting
		3004,             // wrong passcode
		3625, 3702, 3709: // no such host
		return meeting.NotFound
	case 3000, 3008: // the host is in another meeting; not started
		return meeting.HostAbsent
	case 3009: // was removed, and may not come back
		return meeting.Removed
	case 4004, 13208: // has ended
		return meeting.Ended
	case 3034, 3082, 3100, 3116, // sign in
		3005, 3032, 3099, 3135: // register
		return meeting.SignInWall
	case 3634, // captcha
		3603, 3608, 3611, // not from a browser
		3620, 4007, 6603, // blocked: this visitor, by a barrier, this app
		4005, 4006, // full; locked
		3636, 3715, 4008, 4011, 4012, 4013, 4014, 4015, 4017, 4018, 4019: // this kind of app needs a user's token here
		return meeting.BotWall
	case -3000, 403, 3621, 3622, 3635, 4001, 4009: // not reached, away, or did not answer; files that do not load
		return meeting.CannotConnect
	case 4000:
		return meeting.Reconnecting
	}
	return meeting.Unknown
}

// RefusedError says that the SDK did not start, or refused to join, for a
// reason that says nothing of the meeting. Its text is meant for people.
type RefusedError struct {
	During string // init, ticket or join
	Code   int    // the SDK's own; 0 when it gave none
	Text   string // the SDK's own words
}

// Error tells what was refused, and where to look.
func (e *RefusedError) Error() string {
	said := trouble(*e).String()
	switch e.Code {
	case 3704, 3705, 3708, 3710, 3712, 3713:
		return fmt.Sprintf("Zoom refuses this service's credentials (%s and %s): %s", KeySetting, SecretSetting, said)
	case 10000:
		return fmt.Sprintf("Zoom no longer takes this version of the SDK (%s): %s", DirSetting, said)
	}
	return "Zoom's Meeting SDK did not get into the meeting: " + said
}
