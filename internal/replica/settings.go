package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

// Settings say what a meeting is like. The zero value is a usual one: two
// people, one of whom beeps and flashes, and a lobby in which a guest waits
// until Admit.
type Settings struct {
	// Code is the meeting's code, of the form "abc-defg-hij"; empty: any.
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
	Wall Wall
	// Texts chooses, for a state, which of the platform's texts its screen
	// shows; without an entry, the first that the platform's page knows.
	Texts map[State]string
	// JoinLabel replaces the label of the join button; empty: "Ask to join", or
	// "Join now" without a lobby.
	JoinLabel string
	// Language is what the page speaks to a viewer whose address asks for none
	// (hl=…): "en" or "de"; empty: en.
	Language string
	// DeviceDialog has the pre-join page ask "Continue without microphone and
	// camera" even when the browser granted them.
	DeviceDialog bool
	// Notices are shown to each guest upon entry and must be accepted.
	Notices []Notice
	// NoTips leaves out the hint that is otherwise shown upon entry.
	NoTips bool
	// LeaveAtOnce leaves out the question that otherwise follows Leave call.
	LeaveAtOnce bool
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
type Wall string

// The walls of platforms: Meet.
const (
	NoWall       Wall = ""
	WallNotFound Wall = "not_found"
	WallSignIn   Wall = "sign_in"
	WallCaptcha  Wall = "captcha"
	WallBlocked  Wall = "blocked"
)

// Notice is a dialog that tells a guest of something going on.
type Notice string

// The notices of platforms: Meet.
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

var codeForm = regexp.MustCompile(`^[a-z]{3}-[a-z]{4}-[a-z]{3}$`)

func usualParticipants() []Participant {
	return []Participant{{Name: "Ada Quill", Beeps: true}, {Name: "Ben Okafor"}}
}

// complete fills in what the settings leave open.
func (s Settings) complete() Settings {
	if s.Code == "" {
		s.Code = randomCode()
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
	return s
}

// check tells everything that is wrong with completed settings.
func (s Settings) check() error {
	var wrong []error
	require := func(holds bool, format string, values ...any) {
		if !holds {
			wrong = append(wrong, fmt.Errorf(format, values...))
		}
	}
	require(codeForm.MatchString(s.Code), "code %q is not of the form abc-defg-hij", s.Code)
	require(len(s.Participants) <= largestRoster, "%d participants where %d are allowed", len(s.Participants), largestRoster)
	for _, participant := range s.Participants {
		wrong = append(wrong, participant.check())
	}
	require(s.AdmitAfter >= 0 && s.LobbyLimit > 0, "times must not be negative")
	require(slices.Contains([]Wall{NoWall, WallNotFound, WallSignIn, WallCaptcha, WallBlocked}, s.Wall), "unknown wall %q", s.Wall)
	for _, notice := range s.Notices {
		require(notice.known(), "unknown notice %q", notice)
	}
	require(slices.Contains([]string{"en", "de"}, s.Language), "unknown language %q", s.Language)
	require(utf8.RuneCountInString(s.JoinLabel) <= longestText, "join label longer than %d characters", longestText)
	for state, text := range s.Texts {
		require(slices.Contains(allStates, state), "text for unknown state %q", state)
		require(utf8.RuneCountInString(text) <= longestText, "text of %s longer than %d characters", state, longestText)
	}
	return errors.Join(wrong...)
}

func (p Participant) check() error {
	if length := utf8.RuneCountInString(p.Name); length < 1 || length > longestName {
		return fmt.Errorf("name of a participant has %d characters where 1 to %d are allowed", length, longestName)
	}
	return nil
}

func (n Notice) known() bool {
	return slices.Contains([]Notice{NoticeRecorded, NoticeTranscribed, NoticeGemini}, n)
}

func randomCode() string {
	code := []byte("aaa-aaaa-aaa")
	for i := range code {
		if code[i] != '-' {
			code[i] = byte('a' + rand.IntN(26))
		}
	}
	return string(code)
}
