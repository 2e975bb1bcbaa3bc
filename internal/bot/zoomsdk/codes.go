package zoomsdk

import (
	"fmt"

	"standin/internal/bot/meeting"
)

// failureScreen returns the screen that an error of joining means. The codes come
// from Zoom's list for the Meeting SDK for Web and from the code of version
// 6.2.0. Codes that say nothing about the meeting, because the service's key,
// signature or SDK is refused, and undocumented codes are Unknown: see
// RefusedError.
func failureScreen(f failure) meeting.Screen {
	if f.During != "join" {
		return meeting.Unknown
	}
	switch f.Code {
	case 3001, 3610, 3703, 3706, 3707, 3714, // no such meeting
		3004,             // wrong passcode
		3625, 3702, 3709: // no such host
		return meeting.NotFound
	case 3000, 3008: // the host is in another meeting; not started
		return meeting.HostAbsent
	case 3009: // the bot was removed and may not rejoin
		return meeting.Removed
	case 4004, 13208: // the meeting has ended
		return meeting.Ended
	case 3034, 3082, 3100, 3116, // sign in
		3005, 3032, 3099, 3135: // register
		return meeting.SignInWall
	case 3634, // captcha
		3603, 3608, 3611, // a browser cannot join
		3620, 4007, 6603, // blocked: this visitor, by a barrier, this app
		4005, 4006, // full; locked
		3636, 3715, 4008, 4011, 4012, 4013, 4014, 4015, 4017, 4018, 4019: // this kind of app needs a user's token here
		return meeting.BotWall
	case -3000, 403, 3621, 3622, 3635, 4001, 4009: // Zoom not reachable, or files that do not load
		return meeting.CannotConnect
	case 4000:
		return meeting.Reconnecting
	}
	return meeting.Unknown
}

// RefusedError reports that the SDK did not start, or refused to join, for a
// reason that says nothing about the meeting. Its message is meant for people.
type RefusedError failure

// Error says what was refused, and which setting to check.
func (e *RefusedError) Error() string {
	reason := failure(*e).String()
	switch e.Code {
	case 3704, 3705, 3708, 3710, 3712, 3713:
		return fmt.Sprintf("Zoom refuses this service's credentials (%s and %s): %s", KeySetting, SecretSetting, reason)
	case 10000:
		return fmt.Sprintf("Zoom no longer accepts this version of the SDK (%s): %s", DirSetting, reason)
	}
	return "Zoom's Meeting SDK did not join the meeting: " + reason
}
