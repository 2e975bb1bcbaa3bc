package meeting

import (
	"testing"
	"time"
)

// TestJoining walks a join through snapshots of a page, each a moment later.
func TestJoining(t *testing.T) {
	t.Parallel()
	const name = "Standin"
	type moment struct {
		after  time.Duration
		screen Screen
		shows  map[string]Seen
		want   step
	}
	ready := func(changes map[string]Seen) map[string]Seen {
		all := map[string]Seen{nameInput: {Value: name}, joinButton: {}, microphoneOff: {}, cameraOff: {}}
		for element, seen := range changes {
			all[element] = seen
		}
		return all
	}
	wait := step{kind: stepWait}
	for story, moments := range map[string][]moment{
		"the usual way": {
			{0, Unknown, nil, wait},
			{0, PreJoin, map[string]Seen{nameInput: {}, joinButton: {Disabled: true}, microphoneOn: {}, cameraOn: {}}, step{stepType, nameInput}},
			{0, PreJoin, map[string]Seen{nameInput: {Value: name}, joinButton: {}, microphoneOn: {}, cameraOn: {}}, step{stepPress, microphoneOn}},
			{0, PreJoin, map[string]Seen{nameInput: {Value: name}, joinButton: {}, microphoneOff: {}, cameraOn: {}}, step{stepPress, cameraOn}},
			{0, PreJoin, ready(nil), wait},
			{quietTime, PreJoin, ready(nil), step{stepPress, joinButton}},
			{0, Unknown, nil, step{kind: stepDone}},
		},
		"devices come on late": {
			{0, PreJoin, ready(nil), wait},
			{quietTime / 2, PreJoin, ready(map[string]Seen{microphoneOn: {}, microphoneOff: {}}), step{stepPress, microphoneOn}},
		},
		"signed in, without a name field": {
			{0, PreJoin, map[string]Seen{joinButton: {}}, wait},
			{settleTime, PreJoin, map[string]Seen{joinButton: {}}, step{stepPress, joinButton}},
			{0, PreJoin, map[string]Seen{joinButton: {}}, wait},
			{pressAgainTime, PreJoin, map[string]Seen{joinButton: {}}, step{stepPress, joinButton}},
			{0, Lobby, nil, step{kind: stepDone}},
		},
		"dialogs come first": {
			{0, PreJoin, ready(map[string]Seen{withoutDevices: {}}), step{stepPress, withoutDevices}},
			{0, PreJoin, ready(map[string]Seen{dismissTip: {}}), step{stepPress, dismissTip}},
		},
		"a dialog that does not go is not pressed for ever": {
			{0, PreJoin, ready(map[string]Seen{dismissTip: {}}), step{stepPress, dismissTip}},
			{0, PreJoin, ready(map[string]Seen{dismissTip: {}}), step{stepPress, dismissTip}},
			{0, PreJoin, ready(map[string]Seen{dismissTip: {}}), step{stepPress, dismissTip}},
			{0, PreJoin, ready(map[string]Seen{dismissTip: {}}), wait},
			{settleTime, PreJoin, ready(map[string]Seen{dismissTip: {}}), step{stepPress, joinButton}},
		},
		"never under another name": {
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Guest"}}), step{stepType, nameInput}},
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Guest"}}), step{stepType, nameInput}},
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Guest"}}), step{stepType, nameInput}},
			{time.Minute, PreJoin, ready(map[string]Seen{nameInput: {Value: "Guest"}}), wait},
		},
		"a field with a limit of its own": {
			{0, PreJoin, ready(map[string]Seen{nameInput: {}}), step{stepType, nameInput}},
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Stand"}}), step{stepType, nameInput}},
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Stand"}}), wait},
			{quietTime, PreJoin, ready(map[string]Seen{nameInput: {Value: "Stand"}}), step{stepPress, joinButton}},
		},
		"something unknown lies over the button": {
			{0, PreJoin, ready(map[string]Seen{joinButton: {Covered: true}}), wait},
			{settleTime, PreJoin, ready(map[string]Seen{joinButton: {Covered: true}}), wait},
			{coveredTime, PreJoin, ready(map[string]Seen{joinButton: {Covered: true}}), step{stepPress, joinButton}},
		},
		"a field without invisible characters": {
			{0, PreJoin, ready(map[string]Seen{nameInput: {Value: "Stan\u200Ddin"}}), wait},
			{quietTime, PreJoin, ready(map[string]Seen{nameInput: {Value: "Stan\u200Ddin"}}), step{stepPress, joinButton}},
		},
		"in the meeting already": {{0, InMeeting, nil, step{kind: stepDone}}},
		"the host is absent":     {{0, HostAbsent, nil, step{kind: stepDone}}},
		"no way in":              {{0, SignInWall, nil, step{kind: stepStop}}},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			progress, now := newJoining(name), time.Unix(0, 0)
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
