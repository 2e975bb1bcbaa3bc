package replica

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

// Settings say what a meeting is like. The zero value is a usual one: on Meet,
// two people, one of whom beeps and flashes, and a lobby in which a guest waits
// until Admit.
type Settings struct {
	// Platform is whose page shows the meeting; empty: Meet.
	Platform Platform
	// Code is the meeting's code: "abc-defg-hij" on Meet, 12 to 15 digits on
	// Teams, 9 to 11 on Zoom; empty: any.
	Code string
	// Participants are in the meeting from its start; nil: two, the first of
	// whom beeps; empty: nobody.
	Participants []Participant
	// NoLobby lets every guest in at once.
	NoLobby bool
	// AdmitAfter lets each guest in by itself after this time in the lobby; 0:
	// never.
	AdmitAfter time.Duration
	// LobbyLimit ends the wait of a guest; 0: ten minutes, as Meet does
	// (platforms: rules that cost others dearly).
	LobbyLimit time.Duration
	// HostAbsent makes guests wait for HostArrives before the lobby.
	HostAbsent bool
	// Wall stands in the place of the meeting; empty: none.
	Refusal Refusal
	// SignInCookie lets a browser past the sign-in wall that brings the cookie
	// session=signed-in.
	SignInCookie bool
	// Passcode is needed to get in; URL carries it. A page whose address does not
	// asks for it. Teams and Zoom.
	Passcode string
	// Texts chooses, for a state, which of the platform's texts its screen
	// shows; without an entry, the first that the platform's page knows.
	Texts map[State]string
	// JoinLabel replaces the label of the join button; empty: the platform's own.
	JoinLabel string
	// Language is what the page speaks to a viewer who asks for none that it
	// knows: "en" or "de"; empty: en. Meet's viewers ask by the address (hl=…),
	// those of the others by the browser's language.
	Language string
	// NoLauncher leaves out the page that comes before a Teams or Zoom meeting.
	NoLauncher bool
	// CookieBanner lies over the launcher until it is answered.
	CookieBanner bool
	// Framed puts Zoom's web client into a frame of another page.
	Framed bool
	// DeviceDialog has Meet's and Zoom's pre-join page ask "Continue without
	// microphone and camera" even when the browser granted them.
	DeviceDialog bool
	// DevicesBeforeJoin and DevicesAfterJoin have Teams ask "Continue without
	// audio or video", before or after Join now, though the browser granted them.
	// Without them it asks, before, only when the browser did not.
	DevicesBeforeJoin, DevicesAfterJoin bool
	// Notices are shown to each guest upon entry and must be accepted.
	Notices []Notice
	// NoTips leaves out the hint that is otherwise shown upon entry.
	NoTips bool
	// LeaveAtOnce leaves out the question that otherwise follows the leave button
	// of Meet and Zoom.
	LeaveAtOnce bool
	// PageDelay is how late the page shows its first screen.
	PageDelay time.Duration
	// NeverLoads lets the request for the meeting's document hang.
	NeverLoads bool
	// Hostile has the page try to reach what it has no business with (hostile.go).
	Hostile bool
}

// Participant is somebody in the meeting who is not a guest.
type Participant struct {
	Name string `json:"name"`
	// Beeps adds a beep and a flash at the start of each whole second.
	Beeps bool `json:"beeps"`
	// Muted sends no sound, CameraOff no picture.
	Muted     bool `json:"muted"`
	CameraOff bool `json:"cameraOff"`
}

// Wall is a page that keeps a guest from the meeting altogether.
type Refusal string

// The walls of platforms. Zoom's page for RefusalNotFound is that of the invalid
// link; RefusalBlocked is, on Teams, the page that could not connect.
const (
	NoRefusal       Refusal = ""
	RefusalNotFound Refusal = "not_found"
	RefusalSignIn   Refusal = "sign_in"
	RefusalCaptcha  Refusal = "captcha"
	RefusalBlocked  Refusal = "blocked"
)

// Notice is something that tells a guest what is going on.
type Notice string

// The notices of platforms; Gemini's is Meet's alone.
const (
	NoticeRecorded    Notice = "recorded"
	NoticeTranscribed Notice = "transcribed"
	NoticeGemini      Notice = "gemini"
)

const (
	largestRoster   = 16 // participants who send media
	longestName     = 100
	longestText     = 200
	usualLobbyLimit = 10 * time.Minute
)

// passcodeForm is what passcodes have in addresses: nothing that needs encoding.
var passcodeForm = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)

func usualParticipants() []Participant {
	return []Participant{{Name: "Ada Quill", Beeps: true}, {Name: "Ben Okafor"}}
}

// complete fills in what the settings leave open.
func (s Settings) complete() (Settings, traits, error) {
	if s.Platform == "" {
		s.Platform = Meet
	}
	platform, err := s.Platform.traits()
	if err != nil {
		return Settings{}, traits{}, err
	}
	if s.Code == "" {
		s.Code = platform.randomCode()
	}
	if s.Participants == nil {
		s.Participants = usualParticipants()
	}
	if s.LobbyLimit == 0 {
		s.LobbyLimit = usualLobbyLimit
	}
	if s.Language == "" {
		s.Language = "en"
	}
	return s, platform, s.check(platform)
}

// check tells everything that is wrong with completed settings.
func (s Settings) check(platform traits) error {
	var wrong []error
	require := func(holds bool, format string, values ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf(format, values...))
		}
	}
	require(platform.codeForm.MatchString(s.Code), "code %q is not of the form %s", s.Code, platform.codeExample)
	require(len(s.Participants) <= largestRoster, "%d participants where %d are allowed", len(s.Participants), largestRoster)
	for _, participant := range s.Participants {
		wrong = append(wrong, participant.check())
	}
	require(s.AdmitAfter >= 0 && s.LobbyLimit > 0 && s.PageDelay >= 0, "times must not be negative")
	require(slices.Contains([]Refusal{NoRefusal, RefusalNotFound, RefusalSignIn, RefusalCaptcha, RefusalBlocked}, s.Refusal), "unknown wall %q", s.Refusal)
	for _, notice := range s.Notices {
		require(slices.Contains(platform.notices, notice), "unknown notice %q", notice)
	}
	require(slices.Contains([]string{"en", "de"}, s.Language), "unknown language %q", s.Language)
	require(utf8.RuneCountInString(s.JoinLabel) <= longestText, "join label longer than %d characters", longestText)
	for state, text := range s.Texts {
		require(slices.Contains(allStates, state), "text for unknown state %q", state)
		require(utf8.RuneCountInString(text) <= longestText, "text of %s longer than %d characters", state, longestText)
	}
	// What a platform's page would not show must not be asked of it in vain.
	require(platform.passcodes || s.Passcode == "", "%s has no passcodes", s.Platform)
	require(passcodeForm.MatchString(s.Passcode), "passcode %q is not of up to 64 letters, digits, and . _ -", s.Passcode)
	require(platform.launcher || !s.NoLauncher && !s.CookieBanner, "%s has no launcher", s.Platform)
	require(platform.frame || !s.Framed, "%s is never framed", s.Platform)
	require(platform.lateDevices || !s.DevicesBeforeJoin && !s.DevicesAfterJoin, "%s asks for devices by its DeviceDialog", s.Platform)
	require(!platform.lateDevices || !s.DeviceDialog, "%s asks for devices before or after the join button", s.Platform)
	return errors.Join(wrong...)
}

func (p Participant) check() error {
	if length := utf8.RuneCountInString(p.Name); length < 1 || length > longestName {
		return fmt.Errorf("name of a participant has %d characters where 1 to %d are allowed", length, longestName)
	}
	return nil
}
