package meeting

import (
	"strings"
	"testing"
	"time"
)

// TestJoinSteps runs joins, snapshot by snapshot.
func TestJoinSteps(t *testing.T) {
	t.Parallel()
	const name = "Standin"
	type moment struct {
		after  time.Duration
		screen Screen
		shows  map[string]VisibleElement
		want   step
	}
	ready := func(changes map[string]VisibleElement) map[string]VisibleElement {
		all := map[string]VisibleElement{nameInput: {Value: name}, joinButton: {}, microphoneOff: {}, cameraOff: {}}
		for element, seen := range changes {
			all[element] = seen
		}
		return all
	}
	wait := step{kind: stepWait}
	const passcode = "k3Yq7a"
	asked := map[string]VisibleElement{passcodeInput: {}}
	given := map[string]VisibleElement{passcodeInput: {Value: passcode}, passcodeSubmit: {}}
	typed := step{kind: stepType, element: passcodeInput, text: passcode}
	for title, moments := range map[string][]moment{
		"the usual way": {
			{0, Unknown, nil, wait},
			{0, PreJoin, map[string]VisibleElement{
				nameInput: {}, joinButton: {Disabled: true}, microphoneOn: {}, cameraOn: {},
			}, step{kind: stepType, element: nameInput, text: name}},
			{0, PreJoin, map[string]VisibleElement{
				nameInput: {Value: name}, joinButton: {}, microphoneOn: {}, cameraOn: {},
			}, step{kind: stepPress, element: microphoneOn}},
			{0, PreJoin, map[string]VisibleElement{
				nameInput: {Value: name}, joinButton: {}, microphoneOff: {}, cameraOn: {},
			}, step{kind: stepPress, element: cameraOn}},
			{0, PreJoin, ready(nil), wait},
			{quietTime, PreJoin, ready(nil), step{kind: stepPress, element: joinButton}},
			{0, Unknown, nil, wait},
			{arriveTime, Unknown, nil, step{kind: stepDone}},
		},
		"devices come on late": {
			{0, PreJoin, ready(nil), wait},
			{quietTime / 2, PreJoin, ready(map[string]VisibleElement{microphoneOn: {}, microphoneOff: {}}), step{
				kind: stepPress, element: microphoneOn,
			}},
		},
		"signed in, without a name field": {
			{0, PreJoin, map[string]VisibleElement{joinButton: {}}, wait},
			{settleTime, PreJoin, map[string]VisibleElement{joinButton: {}}, step{kind: stepPress, element: joinButton}},
			{0, PreJoin, map[string]VisibleElement{joinButton: {}}, wait},
			{pressAgainTime, PreJoin, map[string]VisibleElement{joinButton: {}}, step{kind: stepPress, element: joinButton}},
			{pressAgainTime, PreJoin, map[string]VisibleElement{joinButton: {}}, step{kind: stepClick, element: joinButton}},
			{0, Lobby, nil, step{kind: stepDone}},
		},
		"dialogs come first": {
			{0, PreJoin, ready(map[string]VisibleElement{withoutDevices: {}}), step{kind: stepPress, element: withoutDevices}},
			{0, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), step{kind: stepPress, element: dismissTip}},
		},
		"a dialog that does not go is not pressed for ever": {
			{0, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), step{kind: stepPress, element: dismissTip}},
			{0, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), step{kind: stepPress, element: dismissTip}},
			{0, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), step{kind: stepPress, element: dismissTip}},
			{0, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), wait},
			{settleTime, PreJoin, ready(map[string]VisibleElement{dismissTip: {}}), step{kind: stepPress, element: joinButton}},
		},
		"never under another name": {
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Guest"}}), step{kind: stepType, element: nameInput, text: name}},
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Guest"}}), step{kind: stepType, element: nameInput, text: name}},
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Guest"}}), step{kind: stepType, element: nameInput, text: name}},
			{time.Minute, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Guest"}}), step{
				kind: stepType, element: nameInput, text: name,
			}},
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Guest"}}), wait},
		},
		"a field with a limit of its own": {
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {}}), step{kind: stepType, element: nameInput, text: name}},
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Stand"}}), step{kind: stepType, element: nameInput, text: name}},
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Stand"}}), wait},
			{quietTime, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Stand"}}), step{kind: stepPress, element: joinButton}},
		},
		"something unknown lies over the button": {
			{0, PreJoin, ready(map[string]VisibleElement{joinButton: {Covered: true}}), wait},
			{settleTime, PreJoin, ready(map[string]VisibleElement{joinButton: {Covered: true}}), wait},
			{coveredTime, PreJoin, ready(map[string]VisibleElement{joinButton: {Covered: true}}), step{kind: stepClick, element: joinButton}},
		},
		"a field without invisible characters": {
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Stan\u200Ddin"}}), wait},
			{quietTime, PreJoin, ready(map[string]VisibleElement{nameInput: {Value: "Stan\u200Ddin"}}), step{kind: stepPress, element: joinButton}},
		},
		"a launcher that first tries the program": {
			{0, PreJoin, map[string]VisibleElement{launchApp: {}}, step{kind: stepPress, element: launchApp}},
			{0, PreJoin, map[string]VisibleElement{launchApp: {}}, wait},
			{0, PreJoin, map[string]VisibleElement{launchApp: {}, useBrowser: {}}, step{kind: stepPress, element: useBrowser}},
			{0, PreJoin, map[string]VisibleElement{launchApp: {}, useBrowser: {}}, wait},
			{pressAgainTime, PreJoin, map[string]VisibleElement{launchApp: {}, useBrowser: {}}, step{kind: stepPress, element: useBrowser}},
			{0, PreJoin, ready(map[string]VisibleElement{useBrowser: {}}), wait},
			{quietTime, PreJoin, ready(map[string]VisibleElement{useBrowser: {}}), step{kind: stepPress, element: joinButton}},
		},
		"sound is chosen": {
			{0, PreJoin, ready(map[string]VisibleElement{computerAudio: {}}), step{kind: stepPress, element: computerAudio}},
			{quietTime, PreJoin, ready(nil), step{kind: stepPress, element: joinButton}},
		},
		"a dialog after the join button": {
			{0, PreJoin, ready(nil), wait},
			{quietTime, PreJoin, ready(nil), step{kind: stepPress, element: joinButton}},
			{0, Unknown, map[string]VisibleElement{withoutDevices: {}}, step{kind: stepPress, element: withoutDevices}},
			{0, Unknown, nil, wait},
			{0, Lobby, nil, step{kind: stepDone}},
		},
		"passcode beside the name": {
			{0, PreJoin, ready(map[string]VisibleElement{passcodeInput: {}}), typed},
			{0, PreJoin, ready(map[string]VisibleElement{joinButton: {Disabled: true}, passcodeInput: {Value: passcode}}), wait},
		},
		"passcode as a step of its own": {
			{0, PreJoin, asked, typed},
			{0, PreJoin, map[string]VisibleElement{passcodeInput: {Value: passcode}}, step{kind: stepEnter}},
			{0, PreJoin, given, wait},
			{pressAgainTime, PreJoin, given, step{kind: stepPress, element: passcodeSubmit}},
		},
		"unknown passcode": {
			{0, PreJoin, asked, wait},
			{settleTime, PreJoin, asked, step{kind: stepFail, evidence: "the page asks for a passcode, and the meeting's address carries none"}},
		},
		"unknown passcode that the page fills in": {
			{0, PreJoin, ready(map[string]VisibleElement{nameInput: {}, passcodeInput: {Value: "hidden"}}), step{
				kind: stepType, element: nameInput, text: name,
			}},
		},
		"the connection is lost meanwhile": {{0, Reconnecting, ready(nil), wait}},
		"in the meeting already":           {{0, InMeeting, nil, step{kind: stepDone}}},
		"the host is absent":               {{0, HostAbsent, nil, step{kind: stepDone}}},
		"no way in":                        {{0, SignInWall, nil, step{kind: stepFail}}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			progress, now := newJoinSteps(name, ""), time.Unix(0, 0)
			if strings.HasPrefix(title, "passcode") {
				progress = newJoinSteps(name, passcode)
			}
			for i, moment := range moments {
				now = now.Add(moment.after)
				got := progress.next(Snapshot{Elements: moment.shows}, moment.screen, now)
				if got != moment.want {
					t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
				}
			}
		})
	}
}

// TestJoinStepsInNewDocuments checks that a page which loads again in the middle is
// filled in again, also when the first document used up the tries.
func TestJoinStepsInNewDocuments(t *testing.T) {
	t.Parallel()
	progress, now := newJoinSteps("Standin", ""), time.Unix(0, 0)
	wiped := Snapshot{Document: 1, Elements: map[string]VisibleElement{nameInput: {}, joinButton: {}}}
	typed := step{kind: stepType, element: nameInput, text: "Standin"}
	for range maxTries {
		if got := progress.next(wiped, PreJoin, now); got != typed {
			t.Fatalf("the step is %+v, want %+v", got, typed)
		}
	}
	wiped.Document = 2
	for range maxTries {
		if got := progress.next(wiped, PreJoin, now); got != typed {
			t.Fatalf("in the next document the step is %+v, want %+v", got, typed)
		}
	}
}

// TestRefusedPasscode checks that a passcode which the page does not take ends the visit,
// whatever the words of the page.
func TestRefusedPasscode(t *testing.T) {
	t.Parallel()
	const passcode = "k3Yq7a"
	for name, field := range map[string]Snapshot{
		"in a step of its own":   {Elements: map[string]VisibleElement{passcodeInput: {Value: passcode}, passcodeSubmit: {}}},
		"beside the join button": {Elements: map[string]VisibleElement{passcodeInput: {Value: passcode}, joinButton: {}}},
	} {
		progress, at, presses := newJoinSteps("Standin", passcode), time.Unix(0, 0), 0
		got := progress.next(field, PreJoin, at)
		for ; got.kind != stepFail && presses < 20; presses++ {
			at = at.Add(pressAgainTime)
			got = progress.next(field, PreJoin, at)
		}
		if got.kind != stepFail || got.evidence == "" || presses <= maxTries {
			t.Errorf("%s: after %d more steps the step is %+v", name, presses, got)
		}
	}
}
