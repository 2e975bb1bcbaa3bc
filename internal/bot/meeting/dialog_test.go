package meeting

import (
	"testing"
	"time"
)

// button returns a button of a dialog.
func button(label string) DialogButton { return DialogButton{Label: label} }

// corner returns an icon in the corner of a dialog.
func corner(label string) DialogButton { return DialogButton{Label: label, Icon: true, Corner: true} }

// TestSafestButton checks which button closes a dialog with unknown words.
func TestSafestButton(t *testing.T) {
	t.Parallel()
	link := DialogButton{Label: "OK", Link: true}
	for name, c := range map[string]struct {
		text    string
		buttons []DialogButton
		layer   bool // not marked as a dialog
		stage   stage
		want    string
	}{
		"close by its label":           {"Try our new look", []DialogButton{button("Try it"), button("Close")}, false, inCall, "Close"},
		"close before acknowledging":   {"News", []DialogButton{button("OK"), corner("Schließen")}, false, inCall, "Schließen"},
		"acknowledge before declining": {"News", []DialogButton{button("Cancel"), button("Got it")}, false, inCall, "Got it"},
		"terms are agreed to": {
			"By joining you agree to our terms", []DialogButton{button("Cancel"), button("Agree")}, false, inCall, "Agree",
		},
		"terms in the lobby": {
			"Terms of Example Inc.", []DialogButton{button("Cancel"), button("I agree")}, false, inLobby, "I agree",
		},
		"terms with a corner": {
			"Nutzungsbedingungen", []DialogButton{corner("Schließen"), button("Zustimmen")}, false, inCall, "Zustimmen",
		},
		"decline": {
			"Turn on effects?", []DialogButton{button("Turn on"), button("Not now")}, false, inCall, "Not now",
		},
		"an icon in the corner":       {"何か", []DialogButton{button("何"), corner("?")}, false, inCall, "?"},
		"the only button":             {"Uusi ilme", []DialogButton{button("Selvä")}, false, inCall, "Selvä"},
		"of two unknown buttons none": {"Uusi ilme", []DialogButton{button("Selvä"), button("Kokeile")}, false, inCall, ""},
		"the microphone stays off": {
			"Do you want people to hear you in the meeting?", []DialogButton{button("Use microphone"), button("Continue without microphone")}, false,
			beforeEntry, "Continue without microphone",
		},
		"the microphone stays off, in Polish": {
			"Czy inni mają Cię słyszeć?", []DialogButton{button("Użyj mikrofonu"), button("Kontynuuj bez mikrofonu")}, false, inLobby,
			"Kontynuuj bez mikrofonu",
		},
		"the microphone is not now": {
			"Do you want people to hear you in the meeting?", []DialogButton{button("Use microphone"), button("Not now")}, false, beforeEntry,
			"Not now",
		},
		"no panelist": {
			"The host would like to promote you to a panelist", []DialogButton{button("Join as panelist"), button("Stay as attendee")}, false,
			inCall, "Stay as attendee",
		},
		"a panelist by accepting": {
			"The host would like to promote you to a panelist", []DialogButton{button("Accept"), button("Stay as attendee")}, false,
			inCall, "Stay as attendee",
		},
		"never to leave":                   {"Still there?", []DialogButton{button("Leave")}, false, inCall, ""},
		"never into another call":          {"Join the other call?", []DialogButton{button("Switch here")}, false, inCall, ""},
		"never to sign in":                 {"Welcome", []DialogButton{button("Sign in")}, false, inCall, ""},
		"never to another page":            {"Welcome", []DialogButton{link}, false, inCall, ""},
		"never the switch of a microphone": {"You are muted", []DialogButton{button("Unmute"), button("Dismiss")}, false, inCall, "Dismiss"},
		"disabled": {
			"News", []DialogButton{{Label: "Close", Disabled: true}, {Label: "OK", Covered: true}}, false, inCall, "",
		},
		"a recording notice is accepted": {
			"This video call is being recorded", []DialogButton{button("Leave call"), corner("Close"), button("Join now")}, false, inCall,
			"Join now",
		},
		"in German": {
			"Dieser Anruf wird aufgezeichnet", []DialogButton{corner("Schließen"), button("Verlassen"), button("Verstanden")}, false, inCall,
			"Verstanden",
		},
		"a recording notice is never closed": {
			"This meeting is being recorded", []DialogButton{button("Leave"), button("Close")}, false, inCall, "",
		},
		"cancel would end the wait":     {"Connecting", []DialogButton{button("Cancel")}, false, inLobby, ""},
		"the dialog of the lobby stays": {"Someone will let you in soon", []DialogButton{button("Close")}, false, inLobby, ""},
		"terms are not refused before entry": {
			"Example Inc.", []DialogButton{button("Cancel"), button("Proceed")}, false, beforeEntry, "Proceed",
		},
		"not before the button works": {
			"Terms of Example Inc.", []DialogButton{button("Decline"), {Label: "Continue", Disabled: true}}, false, beforeEntry, "",
		},
		"to wait in the lobby": {
			"No one has let you in yet", []DialogButton{button("Leave"), button("Keep waiting")}, false, inLobby, "Keep waiting",
		},
		"in German before entry": {"Hinweis", []DialogButton{button("Ablehnen"), button("Ja")}, false, beforeEntry, "Ja"},
		"no program is opened before entry": {
			"Better in the app", []DialogButton{button("Open app"), button("Cancel")}, false, beforeEntry, "Cancel",
		},
		"a gate before admission": {"Shared with Read AI", []DialogButton{button("Leave"), button("Join now")}, false, inLobby, "Join now"},
		"no gate before Join":     {"Shared with Read AI", []DialogButton{button("Leave"), button("Join now")}, false, beforeEntry, ""},
		"a gate's button does not work yet": {
			"Shared with Read AI", []DialogButton{button("Leave"), {Label: "Join now", Disabled: true}}, false, inCall, "",
		},
		"never from another device": {
			"You're in this call on another device", []DialogButton{button("Leave"), button("Join now")}, false, inCall, "",
		},
		"never one of two calls":              {"Which one?", []DialogButton{button("Leave"), button("Join"), button("Join now")}, false, inCall, ""},
		"to stay, in unknown words":           {"Allein", []DialogButton{button("Verlassen"), button("Bin da")}, false, inCall, "Bin da"},
		"a layer is closed by its label":      {"News", []DialogButton{button("Got it")}, true, inCall, "Got it"},
		"a layer is not closed by its corner": {"Ada", []DialogButton{corner("pin")}, true, inCall, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if index := safestButton(Dialog{Text: c.text, Marked: !c.layer, Buttons: c.buttons}, c.stage); index != noButton {
				got = c.buttons[index].Label
			}
			if got != c.want {
				t.Errorf("the safest button is %q, want %q", got, c.want)
			}
		})
	}
	for _, agree := range knownWords().Dialogs.Agree { // in every language
		for _, stage := range []stage{beforeEntry, inLobby, inCall} {
			terms := Dialog{Text: "Example Inc.", Marked: true, Buttons: []DialogButton{button("Cancel"), button(agree)}}
			if got := safestButton(terms, stage); got != 1 {
				t.Errorf("terms with %q are answered by button %d", agree, got)
			}
		}
	}
}

// TestGate checks that a gate is opened in every language, at once, and that its text is on record.
func TestGate(t *testing.T) {
	t.Parallel()
	for language, labels := range map[string][2]string{
		"ar": {"مغادرة", "الانضمام الآن"}, "de": {"Verlassen", "Jetzt teilnehmen"}, "en": {"Leave", "Join now"}, "es": {"Salir", "Unirse ahora"},
		"fr": {"Quitter", "Participer maintenant"}, "he": {"יציאה", "הצטרפות"}, "hi": {"छोड़ें", "अभी शामिल हों"}, "it": {"Esci", "Partecipa ora"},
		"ja": {"退出", "今すぐ参加"}, "ko": {"나가기", "지금 참여"}, "nl": {"Verlaten", "Nu deelnemen"}, "pl": {"Wyjdź", "Dołącz teraz"},
		"pt": {"Sair", "Participar agora"}, "tr": {"Ayrıl", "Şimdi katıl"}, "zh-CN": {"离开", "立即加入"}, "zh-TW": {"離開", "立即參加"},
	} {
		gate := &Dialog{Text: "Read AI", Marked: true, Buttons: []DialogButton{button(labels[0]), button(labels[1])}}
		var state dialogState
		snapshot := Snapshot{Over: gate, Elements: map[string]VisibleElement{joinInDialog: {}}}
		state.next(snapshot, inCall, time.Unix(0, 0))
		action := state.next(snapshot, inCall, time.Unix(0, 0).Add(dialogTime))
		if action == nil || action.Button != 1 {
			t.Errorf("%s: %+v", language, action)
		}
		seen := Observation{Screen: InMeeting, CloseDialog: action, Captured: &CapturedSnapshot{Snapshot: snapshot}}
		before := Observation{Screen: InMeeting, Captured: seen.Captured}.Decision(time.Now())
		accepted := seen.Decision(time.Now())
		if accepted.Accepted != "Read AI" || accepted.SameAs(before) || !before.SameAs(accepted) || !accepted.SameAs(accepted) {
			t.Errorf("%s: accepted %+v after %+v", language, accepted, before)
		}
	}
}

// TestDialogState checks that an unknown dialog is closed after a while, a few
// times, the last time by the Escape key, and that a known one is left alone.
func TestDialogState(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	unknown := Snapshot{Over: &Dialog{Text: "Uusi ilme", Marked: true, Buttons: []DialogButton{button("Selvä")}}}
	var state dialogState
	if action := state.next(unknown, inCall, now); action != nil {
		t.Errorf("closed at once by %+v", action)
	}
	for try := range maxDialogTries + 1 {
		now = now.Add(dialogTime)
		action := state.next(unknown, inCall, now)
		want := &DialogAction{Label: "Selvä"}
		switch try {
		case maxDialogTries - 1:
			want = &DialogAction{Button: noButton}
		case maxDialogTries:
			want = nil
		}
		if (action == nil) != (want == nil) || action != nil && *action != *want {
			t.Errorf("try %d: %+v, want %+v", try, action, want)
		}
		if again := state.next(unknown, inCall, now); again != nil {
			t.Errorf("try %d is made twice", try)
		}
	}
	state, now = dialogState{}, time.Unix(0, 0)
	for _, text := range []string{"This call ends in 1:59", "This call ends in 1:58", "This call ends in 1:57"} { // the dialog counts down
		if action := state.next(Snapshot{Over: &Dialog{
			Text: text, Marked: true, Buttons: []DialogButton{button("Stay in the call")},
		}}, inCall, now); (action != nil) != (text == "This call ends in 1:57") {
			t.Errorf("%s: %+v", text, action)
		}
		now = now.Add(time.Second)
	}
	terms := Snapshot{Over: &Dialog{
		Text: "Terms", Marked: true, Unchecked: true, Buttons: []DialogButton{button("Decline"), {Label: "Continue", Disabled: true}},
	}}
	state.next(terms, beforeEntry, now)
	if action := state.next(terms, beforeEntry, now.Add(dialogTime)); action == nil || action.Button != boxToCheck {
		t.Errorf("terms with a box to check: %+v", action)
	}
	known := unknown
	known.Elements = map[string]VisibleElement{acceptNotice: {}}
	state = dialogState{}
	for after, closes := range map[time.Duration]bool{0: false, dialogTime: false, knownDialogTime: true} {
		state.tries, state.text, state.since = 0, unknown.Over.Text, now
		if action := state.next(known, inCall, now.Add(after)); (action != nil) != closes {
			t.Errorf("a dialog that the profile knows, after %s: %+v", after, action)
		}
	}
	known.Elements = map[string]VisibleElement{requestPermission: {}}
	if action := state.next(known, inCall, now.Add(time.Hour)); action != nil {
		t.Errorf("the request for permission is closed by %+v", action)
	}
}
