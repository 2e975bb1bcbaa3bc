package meeting

import (
	"slices"
	"strings"
	"testing"

	"standin/internal/job"
)

// Elements of Meet's profile that only its rules use.
const (
	tile             = "tile"
	selfName         = "selfName"
	captionsButton   = "captionsButton"
	callControls     = "callControls"
	participantLabel = "participantLabel"
	returnHome       = "returnHome"
)

// showing returns a snapshot with visible elements and texts. A text meets every
// condition of the profile that names it.
func showing(t *testing.T, profile *Profile, elements []string, texts ...string) Snapshot {
	t.Helper()
	snapshot := Snapshot{Scheme: "https:", Host: meetHost, Elements: map[string]VisibleElement{}, Texts: map[string]string{}}
	for _, name := range elements {
		if _, known := profile.Elements[name]; !known {
			t.Fatalf("the profile has no element %q", name)
		}
		snapshot.Elements[name] = VisibleElement{}
	}
	for _, text := range texts {
		known := false
		for _, signs := range profile.Screens {
			for _, sign := range signs {
				for _, condition := range sign.Text {
					if slices.Contains(slices.Concat(condition.Equals, condition.StartsWith, condition.Contains), text) {
						snapshot.Texts[condition.key] = text
						known = true
					}
				}
			}
		}
		if !known {
			t.Fatalf("the profile does not know the text %q", text)
		}
	}
	return snapshot
}

func TestClassify(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	call := []string{leaveButton, callControls, microphoneOff, cameraOff}
	for name, c := range map[string]struct {
		elements []string
		texts    []string
		want     Screen
	}{
		"nothing":                               {nil, nil, Unknown},
		"controls alone are no meeting":         {[]string{leaveButton, callControls}, nil, Unknown},
		"devices alone are nothing":             {[]string{microphoneOff, cameraOff}, nil, Unknown},
		"pre-join":                              {[]string{nameInput, joinButton}, nil, PreJoin},
		"signed-in pre-join":                    {[]string{joinButton}, nil, PreJoin},
		"lobby that looks like a meeting":       {append(call, participantLabel), []string{"Asking to be let in"}, Lobby},
		"lobby with a tile":                     {append(call, tile, selfName), []string{"Waiting for the host to let you in"}, Lobby},
		"host absent":                           {call, []string{"Waiting for the host to join"}, HostAbsent},
		"lobby words in an open chat":           {append(call, tile, chatInput), []string{"Asking to be let in"}, InMeeting},
		"a tile":                                {[]string{tile}, nil, InMeeting},
		"own name":                              {[]string{selfName}, nil, InMeeting},
		"captions":                              {[]string{captionsButton}, nil, InMeeting},
		"two weak signs":                        {[]string{callControls, chatButton}, nil, InMeeting},
		"one weak sign":                         {[]string{chatButton}, nil, Unknown},
		"join button over a meeting":            {[]string{tile, joinButton}, nil, PreJoin},
		"removed":                               {[]string{returnHome}, []string{"You've been removed from the meeting"}, Removed},
		"ended":                                 {[]string{returnHome}, []string{"The call ended"}, Ended},
		"left":                                  {nil, []string{"You left the meeting"}, Ended},
		"only the way home":                     {[]string{returnHome}, nil, Ended},
		"ended, but leaving is offered":         {append(call, tile), []string{"The call ended"}, InMeeting},
		"denied":                                {[]string{returnHome}, []string{"Someone in the call denied your request to join"}, Denied},
		"denied on the page of the blocked":     {[]string{returnHome}, []string{"You can't join this video call", "Someone in the call denied your request to join"}, Denied},
		"lobby timed out":                       {[]string{returnHome}, []string{"No one responded to your request to join the call"}, LobbyTimedOut},
		"not found":                             {[]string{returnHome}, []string{"Check your meeting code"}, NotFound},
		"denial read out in a meeting":          {[]string{tile}, []string{"Someone in the call denied your request to join"}, InMeeting},
		"sign-in heading without the account":   {[]string{nameInput, joinButton}, []string{"Sign in"}, PreJoin},
		"account without the sign-in heading":   {nil, []string{"your Google Account"}, Unknown},
		"sign-in":                               {nil, []string{"Sign in", "your Google Account"}, SignInWall},
		"captcha":                               {[]string{captcha}, nil, BotWall},
		"captcha on the pre-join page":          {[]string{captcha, joinButton, nameInput}, nil, BotWall},
		"blocked":                               {[]string{returnHome}, []string{"You can't join this video call"}, BotWall},
		"cannot connect":                        {[]string{returnHome}, []string{"There is a problem connecting to this video call"}, CannotConnect},
		"blocked, because it could not connect": {nil, []string{"You can't join this video call", "There is a problem connecting to this video call"}, CannotConnect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen, evidence := profile.Classify(showing(t, profile, c.elements, c.texts...))
			if screen != c.want {
				t.Errorf("screen = %s by %q, want %s", screen, evidence, c.want)
			}
			if (screen == Unknown) != (evidence == "") {
				t.Errorf("screen %s has evidence %q", screen, evidence)
			}
		})
	}
}

func TestClassifyByAddress(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	for want, snapshot := range map[Screen]Snapshot{
		SignInWall:    {Scheme: "https:", Host: "accounts.google.com"},
		CannotConnect: {Scheme: "chrome-error:", Host: "chromewebdata"},
		Unknown:       {Scheme: "https:", Host: "accounts.google.com.example.org"},
	} {
		if screen, evidence := profile.Classify(snapshot); screen != want {
			t.Errorf("%s//%s is %s by %q, want %s", snapshot.Scheme, snapshot.Host, screen, evidence, want)
		}
	}
}

// TestFailure checks the failure code of each screen; see docs/platforms.md.
func TestFailure(t *testing.T) {
	t.Parallel()
	codes := map[Screen]job.FailureCode{
		HostAbsent:    job.WaitingForHost,
		Lobby:         job.LobbyTimeout,
		LobbyTimedOut: job.LobbyTimeout,
		Denied:        job.HostDeniedAdmission,
		NotFound:      job.MeetingNotFound,
		SignInWall:    job.AuthFailure,
		BotWall:       job.AuthFailure,
		Removed:       job.RemovedFromMeeting,
		Ended:         job.MeetingEnded,
		CannotConnect: job.NetworkLoss,
		PreJoin:       job.InternalError,
		Reconnecting:  job.NetworkLoss,
		Unknown:       job.InternalError,
		InMeeting:     "",
	}
	for _, screen := range append(Screens(), Unknown) {
		want, listed := codes[screen]
		if !listed {
			t.Errorf("the test says nothing of %s", screen)
		}
		code, detail, ok := screen.Failure()
		if code != want || ok != (want != "") || ok == (detail == "") {
			t.Errorf("%s fails with %q, %q, %t; want %q", screen, code, detail, ok, want)
		}
	}
	for screen, wall := range map[Screen]string{SignInWall: "Sign-in wall", BotWall: "Bot wall"} {
		if _, detail, _ := screen.Failure(); !strings.Contains(detail, wall) {
			t.Errorf("the detail of %s, %q, does not name the wall", screen, detail)
		}
	}
	_, detail, _ := Observation{Screen: NotFound, Evidence: `text "Check your meeting code"`}.Failure()
	if !strings.Contains(detail, "Check your meeting code") {
		t.Errorf("the detail %q does not contain the evidence", detail)
	}
}
