package meeting

import (
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
)

// textPage returns a snapshot of a page that holds texts.
func textPage(texts ...string) Snapshot {
	return Snapshot{Outline: Outline{Headings: texts, Texts: texts}, Elements: map[string]VisibleElement{}, Texts: map[string]string{}}
}

// TestRejoinIsNoForm checks that the end's heading counts beside a button to join again, in any language, and that a form
// that came back does not count as the end, nor as the lobby.
func TestRejoinIsNoForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, label string
		shown       map[string]VisibleElement
		want        Screen
	}{
		"French":                    {"L'organisateur a mis fin à la réunion pour tout le monde", "Rejoindre", nil, Ended},
		"German":                    {"Der Organisator hat den Anruf beendet", "Teilnehmen", nil, Ended},
		"removed, in Spanish":       {"El anfitrión te ha expulsado de la reunión", "Participar", nil, Removed},
		"no words":                  {"Bis bald!", "Teilnehmen", nil, Unknown},
		"the form, with a name":     {"Standup", "Join", map[string]VisibleElement{nameInput: {Value: "Standin"}}, PreJoin},
		"the form, without a name":  {"Someone will let you in soon", "Join", map[string]VisibleElement{nameInput: {}}, PreJoin},
		"the switches of devices":   {"Standup", "Join", map[string]VisibleElement{microphoneOff: {}}, PreJoin},
		"an empty name in a lobby?": {"Please wait, the host will let you in soon", "", map[string]VisibleElement{nameInput: {}}, PreJoin},
	} {
		for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
			snapshot := textPage(c.text)
			if snapshot.Outline.Buttons = []OutlineControl{{Label: c.label}}; c.label != "" {
				snapshot.Elements[joinButton] = VisibleElement{Text: c.label}
			}
			for element, shown := range c.shown {
				snapshot.Elements[element] = shown
			}
			if found := siteOf(t, platform).profile.classify(snapshot, in); found.screen != c.want {
				t.Errorf("%s: %s on %s, by %+v, want %s", name, found.screen, platform, found.evidence, c.want)
			}
		}
	}
}

// TestWallsByForm checks that a form for an address or a code after Join is a wall in any words, and other forms are not.
func TestWallsByForm(t *testing.T) {
	t.Parallel()
	email, code := OutlineControl{Label: "Osoite", Type: "email"}, OutlineControl{Label: "Koodi", Type: "code"}
	for name, c := range map[string]struct {
		fields []OutlineControl
		shown  map[string]VisibleElement
		past   History
		want   Screen
	}{
		"an address after Join":     {[]OutlineControl{email}, nil, waiting, SignInWall},
		"a code after Join":         {[]OutlineControl{code}, nil, waiting, SignInWall},
		"another field":             {[]OutlineControl{{Label: "Haku", Type: "search"}}, nil, waiting, Unknown},
		"a filled address":          {[]OutlineControl{{Type: "email", Filled: true}}, nil, waiting, Unknown},
		"an address before Join":    {[]OutlineControl{email}, nil, History{}, Unknown},
		"an address beside a name":  {[]OutlineControl{email}, map[string]VisibleElement{nameInput: {Value: "Standin"}, joinButton: {}}, History{}, PreJoin},
		"an address that is needed": {[]OutlineControl{email}, map[string]VisibleElement{nameInput: {Value: "Standin"}, joinButton: {Disabled: true}}, History{}, SignInWall},
		"in the call":               {[]OutlineControl{email}, nil, in, Unknown},
	} {
		for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
			snapshot := textPage("Vahvista henkilöllisyytesi")
			snapshot.Outline.Fields = c.fields
			for element, shown := range c.shown {
				snapshot.Elements[element] = shown
			}
			if found := siteOf(t, platform).profile.classify(snapshot, c.past); found.screen != c.want {
				t.Errorf("%s: %s on %s, by %+v, want %s", name, found.screen, platform, found.evidence, c.want)
			}
		}
	}
}

// TestZoomCodes checks the error codes of Zoom's web client, which say more than the title.
func TestZoomCodes(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.ZoomWeb).profile
	for code, want := range map[string]job.FailureCode{
		"3,001": job.WaitingForHost, "3,008": job.WaitingForHost, "3,003": job.AuthFailure, "3,004": job.MeetingNotFound, "3,005": job.AuthFailure,
		"3,009": job.RemovedFromMeeting, "3,099": job.AuthFailure, "3,100": job.AuthFailure, "3,603": job.AuthFailure, "9,999": job.WaitingForHost,
	} {
		for _, form := range []string{code, strings.ReplaceAll(code, ",", ""), strings.ReplaceAll(code, ",", ".")} {
			text := "Jotain tapahtui (" + form + ")"
			snapshot := textPage(text)
			snapshot.Title = "Error - Zoom"
			for _, condition := range profile.textConditions() {
				if condition.matches(text) {
					snapshot.Texts[condition.key] = text
				}
			}
			found := profile.classify(snapshot, History{})
			if got, _, _ := found.screen.Failure(); got != want || found.reload != (want == job.WaitingForHost) {
				t.Errorf("%s is %s (reload %t), want %s", text, found.screen, found.reload, want)
			}
		}
	}
	snapshot := textPage("This meeting requires registration")
	snapshot.Title = "Error - Zoom"
	if found := profile.classify(snapshot, History{}); found.screen != SignInWall {
		t.Errorf("words beside the title: %s by %+v", found.screen, found.evidence)
	}
}

// TestEndByStructure checks that a dialog that stays over a call whose connections the page has closed is an end after a while, and
// only then.
func TestEndByStructure(t *testing.T) {
	t.Parallel()
	over := &Dialog{Text: "Jotain tapahtui", Marked: true, Buttons: []DialogButton{button("OK")}}
	for name, c := range map[string]struct {
		opened bool
		open   int
		over   *Dialog
		after  time.Duration
		want   Screen
	}{
		"a dialog that stays":    {true, 0, over, closedTime, Ended},
		"not yet":                {true, 0, over, closedTime - time.Second, InMeeting},
		"a lost connection":      {true, 1, over, closedTime, InMeeting},
		"no dialog":              {true, 0, nil, closedTime, InMeeting},
		"there was never a call": {false, 0, over, closedTime, InMeeting},
	} {
		var visit visitState
		profile, now := siteOf(t, job.ZoomWeb).profile, time.Unix(0, 0)
		visit.resume(in, now)
		call := Snapshot{Elements: map[string]VisibleElement{"avatar": {}, peopleButton: {}, leaveButton: {}}, Tiles: []RosterEntry{shownAs("a", "Ada")}}
		if c.opened {
			call.Open, call.Media = 1, 1
		}
		visit.observe(profile, call, now)
		call.Open, call.Media, call.Over = c.open, 0, c.over
		visit.observe(profile, call, now)
		seen := visit.observe(profile, call, now.Add(c.after))
		if seen.Pending != "" {
			seen = visit.observe(profile, call, now.Add(c.after+2*ConfirmTime))
		}
		if seen.Screen != c.want {
			t.Errorf("%s: %s by %s, want %s", name, seen.Screen, seen.Evidence, c.want)
		}
	}
}

// TestLobbyByCancel checks that a page that only offers to cancel is a lobby, in any words, and is left by that button.
func TestLobbyByCancel(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Teams).profile
	snapshot := textPage("Organisaation säännöt koskevat sinua")
	snapshot.Elements[leaveButton] = VisibleElement{Text: "Cancel"}
	past := History{Requested: true, RequestedFor: waitTime}
	if found := profile.classify(snapshot, past); found.screen != Lobby {
		t.Errorf("%s by %+v", found.screen, found.evidence)
	}
	var leaving leaveSteps
	if next := leaving.next(snapshot, Lobby, time.Unix(0, 0)); next.kind != stepPress || next.element != leaveButton {
		t.Errorf("%+v", next)
	}
}

// TestDevicePresses checks that the button of a device is pressed three times in a call, and not at all if it contradicts itself.
func TestDevicePresses(t *testing.T) {
	t.Parallel()
	snapshot := Snapshot{Elements: map[string]VisibleElement{microphoneOn: {}, cameraOn: {Contradicted: true}}}
	var kept keptDevices
	kept.reset()
	for press := range 2 * maxTries {
		pressed := kept.without(pendingActions(snapshot, InMeeting))
		if want := press < maxTries; len(pressed) == 1 != want || want && !kept.press(pressed[0]) {
			t.Errorf("press %d: %q", press, pressed)
		}
	}
	if kept.press(microphoneOn) || !kept.press(joinButton) {
		t.Error("a press too many, or too few")
	}
}

// TestRemovalNames checks that the reason of a removal says who removed the bot, where the page says it.
func TestRemovalNames(t *testing.T) {
	t.Parallel()
	snapshot := textPage("Ada Lovelace removed you from the meeting")
	dialog := showing(t, siteOf(t, job.ZoomWeb).profile, nil, "You have been removed")
	dialog.Over = &Dialog{Text: "You have been removed. Ada Lovelace has removed you from this meeting."}
	for platform, snapshot := range map[job.Platform]Snapshot{job.Teams: snapshot, job.ZoomWeb: dialog} {
		found := siteOf(t, platform).profile.classify(snapshot, in)
		_, detail, _ := Observation{Screen: found.screen, Evidence: describeEvidence(found.evidence)}.Failure()
		if found.screen != Removed || !strings.Contains(detail, "Ada Lovelace") {
			t.Errorf("%s: %s: %s", platform, found.screen, detail)
		}
	}
}
