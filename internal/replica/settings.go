package replica

import (
	"context"
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
	// Platform is the platform. The default is Meet.
	Platform Platform
	// Code is the meeting's code: "abc-defg-hij" on Meet, 12 to 15 digits on Teams, 9
	// to 11 on Zoom. The default is random.
	Code string
	// Participants are the initial participants. If nil, there are two, the first of
	// whom beeps.
	Participants []Participant
	// NoLobby admits guests at once.
	NoLobby bool
	// AdmitAfter admits each guest after this time in the lobby; 0 means never.
	AdmitAfter time.Duration
	// HostAbsent makes guests wait for HostArrives before the lobby.
	HostAbsent bool
	// Refusal is a page that is shown instead of the meeting.
	Refusal Refusal
	// SignInCookie ignores RefusalSignIn for browsers with the cookie
	// session=signed-in.
	SignInCookie bool
	// Passcode is required to join. Meeting.URL contains it; a page without it in the
	// URL asks for it. Teams and Zoom only.
	Passcode string
	// Texts replaces the text of a state. The default is the text of the page.
	Texts map[State]string
	// JoinLabel replaces the label of the join button.
	JoinLabel string
	// Language is the language of the page, "en" or "de", unless the browser asks for
	// one of them. The default is "en".
	Language string
	// NoLauncher skips the launcher page of Teams and Zoom.
	NoLauncher bool
	// CookieBanner covers the launcher until it is answered.
	CookieBanner bool
	// Framed embeds Zoom's web client in a frame.
	Framed bool
	// DeviceDialog makes Meet's and Zoom's pre-join page show "Continue without
	// microphone and camera" even if the browser granted them.
	DeviceDialog bool
	// Audio is whether Zoom's page plays the participants' audio without more ado.
	Audio Audio
	// Video is whether the page keeps showing the participants' video.
	Video Video
	// DevicesBeforeJoin and DevicesAfterJoin make Teams show "Continue without audio
	// or video", before or after Join now, even if the browser granted them.
	// Otherwise it is shown, before, only if the browser did not.
	DevicesBeforeJoin bool
	DevicesAfterJoin  bool
	// Notices are shown to each guest after admission until they are accepted.
	Notices []Notice
	// SFU carries the media instead of the replica; may be nil.
	SFU *SFU
	// NoMedia keeps all media from the page.
	NoMedia bool
	// NoTips disables the tip that is shown after admission.
	NoTips bool
	// LeaveAtOnce disables the confirmation after the leave button of Meet and Zoom.
	LeaveAtOnce bool
	// PageDelay delays the first screen of the page.
	PageDelay time.Duration
	// NeverLoads makes the request for the meeting's document hang.
	NeverLoads bool
	// Relay lets guests see and hear one another, and tells who of them speaks.
	Relay bool
	// HostKey makes guests who know it hosts, who need no admission and decide about the others'.
	HostKey string
	// Recognize returns the words of a guest's utterance, an Ogg file, for the captions; may be nil.
	Recognize func(ctx context.Context, path string) (string, error)
	// Renamed replaces labels of the page, by their English texts.
	Renamed map[string]string
	// Hostile makes the page attack the network (see hostile.go).
	Hostile bool
}

// Participant is a simulated participant.
type Participant struct {
	Name string
	// Beeps adds a beep and a flash at the start of each full second.
	Beeps bool
	// Muted disables audio, CameraOff video.
	Muted     bool
	CameraOff bool
	// Presenting shows slides beside the video: the one with the number, or changing numbers for 0.
	Presenting bool
	Slide      int
	// Film names a person of Conversation whose video and voice the participant has: ada, ben or callum.
	Film string
}

// Audio is when a page plays audio.
type Audio string

// The page plays audio from the start, after "Join Audio by Computer", or never,
// although it offers that. It receives audio in any case.
const (
	AudioFromStart Audio = ""
	AudioOnRequest Audio = "on_request"
	NoAudio        Audio = "never"
)

// Video is whether a page keeps showing the video that it receives.
type Video string

// The page shows video, or pauses it at its first frame until it is played, or for good.
// It receives video in any case.
const (
	VideoPlays  Video = ""
	VideoPaused Video = "paused"
	VideoStuck  Video = "stuck"
)

// Refusal is a page that is shown instead of the meeting.
type Refusal string

// The refusals. RefusalNotFound is an invalid link on Zoom, and RefusalBlocked a
// failed connection on Teams.
const (
	NoRefusal       Refusal = ""
	RefusalNotFound Refusal = "not_found"
	RefusalSignIn   Refusal = "sign_in"
	RefusalCaptcha  Refusal = "captcha"
	RefusalBlocked  Refusal = "blocked"
)

// Notice informs a guest, for example about a recording.
type Notice string

// The notices. NoticeGemini and NoticeShared exist on Meet only. The page receives no media until
// NoticeShared is accepted: another notetaker would get the guest's.
const (
	NoticeRecorded    Notice = "recorded"
	NoticeTranscribed Notice = "transcribed"
	NoticeGemini      Notice = "gemini"
	NoticeShared      Notice = "shared"
)

const (
	maxParticipants = 16 // simulated participants
	maxNameLen      = 100
	maxTextLen      = 200
)

// passcodePattern allows characters that need no encoding in URLs.
var passcodePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)

// complete returns the settings with defaults.
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
		s.Participants = []Participant{{Name: "Ada Quill", Beeps: true}, {Name: "Ben Okafor"}}
	}
	if s.Language == "" {
		s.Language = "en"
	}
	return s, platform, s.check(platform)
}

// check returns all errors of complete settings.
func (s Settings) check(platform traits) error {
	var errs []error
	require := func(ok bool, format string, values ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, values...))
		}
	}
	require(platform.codeForm.MatchString(s.Code), "code %q does not have the form %s", s.Code, platform.codeExample)
	require(len(s.Participants) <= maxParticipants, "%d participants where %d are allowed", len(s.Participants), maxParticipants)
	for _, participant := range s.Participants {
		errs = append(errs, participant.check())
	}
	require(s.AdmitAfter >= 0 && s.PageDelay >= 0, "durations must not be negative")
	require(slices.Contains([]Refusal{
		NoRefusal, RefusalNotFound, RefusalSignIn, RefusalCaptcha, RefusalBlocked,
	}, s.Refusal), "unknown refusal %q", s.Refusal)
	for _, notice := range s.Notices {
		require(slices.Contains(platform.notices, notice), "unknown notice %q", notice)
	}
	require(slices.Contains([]string{"en", "de"}, s.Language), "unknown language %q", s.Language)
	require(utf8.RuneCountInString(s.JoinLabel) <= maxTextLen, "join label longer than %d characters", maxTextLen)
	for state, text := range s.Texts {
		require(slices.Contains(allStates, state), "text for unknown state %q", state)
		require(utf8.RuneCountInString(text) <= maxTextLen, "text of %s longer than %d characters", state, maxTextLen)
	}
	// Settings that the platform does not support are errors.
	require(platform.passcodes || s.Passcode == "", "%s has no passcodes", s.Platform)
	require(passcodePattern.MatchString(s.Passcode), "passcode %q does not consist of up to 64 letters, digits and . _ -", s.Passcode)
	require(platform.launcher || !s.NoLauncher && !s.CookieBanner, "%s has no launcher", s.Platform)
	require(platform.frame || !s.Framed, "%s has no frame", s.Platform)
	require(s.Platform == Zoom || s.Audio == AudioFromStart, "only Zoom offers to join audio")
	require(slices.Contains([]Video{VideoPlays, VideoPaused, VideoStuck}, s.Video), "unknown video %q", s.Video)
	require(platform.lateDevices || !s.DevicesBeforeJoin && !s.DevicesAfterJoin, "%s uses DeviceDialog", s.Platform)
	require(!platform.lateDevices || !s.DeviceDialog, "%s uses DevicesBeforeJoin and DevicesAfterJoin", s.Platform)
	return errors.Join(errs...)
}

func (p Participant) check() error {
	if length := utf8.RuneCountInString(p.Name); length < 1 || length > maxNameLen {
		return fmt.Errorf("name of a participant has %d characters, want 1 to %d", length, maxNameLen)
	}
	return nil
}
