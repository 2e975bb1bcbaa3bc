package meeting

import (
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
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
	if slices.Contains(elements, nameInput) {
		snapshot.Elements[nameInput] = VisibleElement{Value: "Standin"}
	}
	for _, text := range texts {
		known := false
		for _, rules := range profile.Screens {
			for _, rule := range rules {
				for _, condition := range rule.Text {
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

// in and waiting are histories of a visit.
var (
	in      = History{OwnName: "Standin", Requested: true, Admitted: true}
	waiting = History{OwnName: "Standin", Requested: true}
)

// withTiles returns a snapshot with the bot's own tile and tiles of others.
func withTiles(snapshot Snapshot, names ...string) Snapshot {
	snapshot.Tiles = []RosterEntry{markedAs("me", "Standin", "Standin")}
	for _, name := range names {
		snapshot.Tiles = append(snapshot.Tiles, shownAs(name, name))
	}
	return snapshot
}

// TestClassify classifies snapshots of Meet.
func TestClassify(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	call := []string{leaveButton, callControls, microphoneOff, cameraOff}
	for name, c := range map[string]struct {
		elements []string
		texts    []string
		past     History
		want     Screen
	}{
		"controls alone are no meeting":  {[]string{leaveButton, callControls}, nil, in, Unknown},
		"lobby with a tile":              {append(call, tile, selfName), []string{"Waiting for the host to let you in"}, waiting, Lobby},
		"lobby words in an open chat":    {append(call, tile, chatInput), []string{"Asking to be let in"}, in, InMeeting},
		"back in the lobby":              {call, []string{"Asking to be let in"}, in, Lobby},
		"a tile":                         {[]string{tile}, nil, in, InMeeting},
		"a tile without proof":           {[]string{tile, leaveButton}, nil, waiting, Unknown},
		"own name":                       {[]string{selfName}, nil, in, InMeeting},
		"captions":                       {[]string{captionsButton}, nil, in, InMeeting},
		"two weak controls":              {[]string{callControls, chatButton}, nil, in, InMeeting},
		"one weak control":               {[]string{chatButton}, nil, in, Unknown},
		"join button over a meeting":     {[]string{tile, joinButton, microphoneOff}, nil, in, PreJoin},
		"a button to join again":         {[]string{joinButton, returnHome}, []string{"The call ended"}, in, Ended},
		"only a button to join again":    {[]string{joinButton}, nil, in, Unknown},
		"left":                           {nil, []string{"You left the meeting"}, in, Ended},
		"only the way home, and no call": {[]string{returnHome}, nil, in, Ended},
		"the way home in a call":         {append(call, tile, returnHome), nil, in, InMeeting},
		"ended, but leaving is offered":  {append(call, tile), []string{"The call ended"}, in, InMeeting},
		"denied on the page of the blocked": {
			[]string{returnHome}, []string{"You can't join this video call", "Someone in the call denied your request to join"}, waiting, Denied,
		},
		"sign-in heading without the account": {[]string{nameInput, joinButton}, []string{"Sign in"}, History{}, PreJoin},
		"credentials changed":                 {nil, []string{"Your sign-in credentials might have changed"}, History{}, SignInWall},
		"captcha on the pre-join page":        {[]string{captcha, joinButton, nameInput}, nil, History{}, BotWall},
		"blocked, because it could not connect": {
			nil, []string{"You can't join this video call", "There is a problem connecting to this video call"}, waiting, CannotConnect,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := profile.classify(showing(t, profile, c.elements, c.texts...), c.past)
			if found.screen != c.want {
				t.Errorf("screen = %s by %q, want %s", found.screen, describeEvidence(found.evidence), c.want)
			}
			if found.screen != Unknown && totalWeight(found.evidence) < minWeight {
				t.Errorf("screen %s has too little evidence: %+v", found.screen, found.evidence)
			}
		})
	}
}

// TestAdmission checks that only proof that a lobby cannot show makes a call, and
// that a lobby's words anywhere on the page outweigh it.
func TestAdmission(t *testing.T) {
	t.Parallel()
	meet, teams, zoom := siteOf(t, job.Meet).profile, siteOf(t, job.Teams).profile, siteOf(t, job.ZoomWeb).profile
	with := func(past History, change func(*History)) History { change(&past); return past }
	alone := func(since time.Duration) History { return with(waiting, func(h *History) { h.AloneFor = since }) }
	media := func(snapshot Snapshot, tracks int) Snapshot { snapshot.Media = tracks; return snapshot }
	lobby := func(snapshot Snapshot, text string) Snapshot { snapshot.LobbyText = text; return snapshot }
	counted := func(snapshot Snapshot, label string) Snapshot {
		snapshot.Counts = append(snapshot.Counts, label)
		return snapshot
	}
	covered := func(snapshot Snapshot) Snapshot {
		snapshot.Over = &Dialog{Text: "Shared with Read AI", Marked: true, Buttons: []DialogButton{button("Leave"), button("Join now")}}
		return snapshot
	}
	disabled := func(snapshot Snapshot) Snapshot {
		snapshot.Elements[joinButton] = VisibleElement{Disabled: true}
		return snapshot
	}
	for name, c := range map[string]struct {
		profile  *Profile
		snapshot Snapshot
		past     History
		want     Screen
	}{
		"tiles and controls of a lobby": {
			meet, withTiles(showing(t, meet, []string{tile, selfName, leaveButton, callControls})), waiting, Unknown,
		},
		"others in the roster": {
			meet, withTiles(showing(t, meet, []string{tile, leaveButton, captionsButton}), "Ada"), waiting, InMeeting,
		},
		"others beside a lobby's controls": {
			meet, withTiles(showing(t, meet, []string{tile, leaveButton, callControls}), "Ada"), waiting, Unknown,
		},
		"others, and a lobby's words": {
			meet, lobby(withTiles(showing(t, meet, []string{tile, leaveButton, captionsButton}), "Ada"), "Asking to be let in"), waiting, Lobby,
		},
		"media": {meet, media(showing(t, meet, []string{leaveButton}), 2), waiting, InMeeting},
		"media, and a lobby's words": {
			meet, media(lobby(showing(t, meet, []string{tile, leaveButton}), "Asking to be let in"), 2), waiting, Lobby,
		},
		"media before the call": {meet, media(showing(t, meet, nil), 2), waiting, Unknown},
		"others under a dialog": {
			meet, covered(withTiles(showing(t, meet, []string{tile, leaveButton, captionsButton}), "Ada")), waiting, Unknown,
		},
		"media under a dialog": {meet, media(covered(showing(t, meet, []string{leaveButton})), 2), waiting, InMeeting},
		"more are counted than drawn": {
			meet, counted(withTiles(showing(t, meet, []string{leaveButton, chatButton})), "People - 12 joined"), waiting, InMeeting,
		},
		"alone at first": {
			meet, counted(withTiles(showing(t, meet, []string{tile, leaveButton, chatButton, captionsButton})), "People - 1 joined"), alone(0),
			Unknown,
		},
		"alone for some time": {
			meet, counted(withTiles(showing(t, meet, []string{tile, leaveButton, chatButton, captionsButton})), "People - 1 joined"),
			alone(aloneTime), InMeeting,
		},
		"a lobby's words during the call": {
			meet, lobby(withTiles(showing(t, meet, []string{tile, leaveButton}), "Ada"), "Asking to be let in"), in, InMeeting,
		},
		"moved back, with the own tile": {
			meet, lobby(withTiles(showing(t, meet, []string{tile, leaveButton})), "Asking to be let in"), in, Lobby,
		},
		"a lobby of unknown make": {meet, lobby(showing(t, meet, nil), "Asking to be let in"), waiting, Lobby},
		"Teams: lobby over the pre-join screen": {
			teams, disabled(lobby(showing(t, teams, []string{nameInput}), "Someone will let you in soon")), waiting, Lobby,
		},
		"Teams: join was just pressed": {teams, disabled(showing(t, teams, []string{nameInput})), waiting, PreJoin},
		"Teams: join stays disabled": {teams, disabled(showing(t, teams, []string{nameInput})), with(waiting, func(h *History) {
			h.JoinedFor = disabledJoinTime
		}), Lobby},
		"Teams: others beside the menu only": {
			teams, withTiles(showing(t, teams, []string{"stream", moreButton, leaveButton}), "Ada"), waiting, Unknown,
		},
		"Teams: a retry screen in a call":   {teams, showing(t, teams, []string{refusal, "raiseHand", leaveButton}), in, InMeeting},
		"Teams: end screen, never admitted": {teams, showing(t, teams, []string{"endScreen"}), waiting, Unknown},
		"Teams: end screen after the call":  {teams, showing(t, teams, []string{"endScreen"}), in, Ended},
		"Zoom: avatar in the waiting room":  {zoom, withTiles(showing(t, zoom, []string{"avatar", leaveButton})), waiting, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := c.profile.classify(c.snapshot, c.past); found.screen != c.want {
				t.Errorf("screen = %s by %q, want %s", found.screen, describeEvidence(found.evidence), c.want)
			}
		})
	}
}

// TestVisitState runs snapshots through an adapter.
func TestVisitState(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	meet := siteOf(t, job.Meet)
	step := func(s *site, after time.Duration, snapshot Snapshot, want, pending Screen) {
		t.Helper()
		now = now.Add(after)
		got := s.observe(snapshot, now)
		if got.Screen != want || got.Pending != pending {
			t.Errorf("screen = %s (pending %q) by %q, want %s (pending %q)", got.Screen, got.Pending, got.Evidence, want, pending)
		}
	}
	show := func(elements []string, texts ...string) Snapshot { return showing(t, meet.profile, elements, texts...) }
	alone := withTiles(show([]string{tile, leaveButton, chatButton, captionsButton}))
	step(meet, 0, show([]string{returnHome}), Unknown, "")
	step(meet, 0, alone, Unknown, "")
	step(meet, aloneTime, alone, InMeeting, "")
	step(meet, 0, show([]string{tile}), InMeeting, "")
	step(meet, 0, show(nil, "The call ended"), Unknown, Ended)
	step(meet, 0, show([]string{tile}), InMeeting, "") // it was not the end
	step(meet, 0, show([]string{returnHome}), Unknown, Ended)
	step(meet, 0, show(nil, "You've been removed from the meeting"), Unknown, Removed)
	step(meet, time.Second, show(nil, "You've been removed from the meeting"), Removed, "")

	// Zoom shows an unknown meeting and one that has not started alike.
	zoom := siteOf(t, job.ZoomWeb)
	invalid := showing(t, zoom.profile, nil, "This meeting link is invalid")
	step(zoom, 0, invalid, HostAbsent, "")
	for range int(reloadTimeout/reloadInterval) - 1 {
		now = now.Add(reloadInterval)
		if got := zoom.observe(invalid, now); got.Screen != HostAbsent || !got.Reload {
			t.Fatalf("after a reload the screen is %s, reload %t", got.Screen, got.Reload)
		}
		if got := zoom.observe(invalid, now); got.Reload {
			t.Fatal("the page is reloaded twice")
		}
	}
	step(zoom, reloadInterval, invalid, Unknown, NotFound)
	step(zoom, time.Second, invalid, NotFound, "")
	step(zoom, 0, showing(t, zoom.profile, []string{nameInput, joinButton}), PreJoin, "")
	step(zoom, 0, invalid, HostAbsent, "")
}

func TestClassifyByAddress(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	for want, snapshot := range map[Screen]Snapshot{
		SignInWall:    {Scheme: "https:", Host: "accounts.google.com"},
		CannotConnect: {Scheme: "chrome-error:", Host: "chromewebdata"},
		BotWall:       {Scheme: "https:", Host: meetHost, Status: 403},
		Unknown:       {Scheme: "https:", Host: "accounts.google.com.example.org"},
	} {
		if found := profile.classify(snapshot, History{}); found.screen != want {
			t.Errorf("%s//%s is %s by %q, want %s", snapshot.Scheme, snapshot.Host, found.screen, describeEvidence(found.evidence), want)
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
	_, detail, _ := Observation{Screen: NotFound, Evidence: `text "Check your meeting code"`}.Failure()
	if !strings.Contains(detail, "Check your meeting code") {
		t.Errorf("the detail %q does not contain the evidence", detail)
	}
}
