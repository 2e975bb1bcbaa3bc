package meeting

import (
	"testing"
	"time"
)

// showingElements makes a snapshot with elements in sight, and others hidden.
func showingElements(visible []string, hidden ...string) Snapshot {
	snapshot := Snapshot{Elements: map[string]VisibleElement{}, Hidden: map[string]int{}}
	for _, element := range visible {
		snapshot.Elements[element] = VisibleElement{}
	}
	for _, element := range hidden {
		snapshot.Hidden[element] = 0
	}
	return snapshot
}

// TestLeavingSteps walks out of meetings, look by look.
func TestLeavingSteps(t *testing.T) {
	t.Parallel()
	type moment struct {
		after    time.Duration
		screen   Screen
		snapshot Snapshot
		want     step
	}
	wait, wake, done := step{kind: stepWait}, step{kind: stepWake}, step{kind: stepDone}
	leave, confirm := step{kind: stepPress, element: leaveButton}, step{kind: stepPress, element: confirmLeave}
	in := showingElements([]string{leaveButton})
	hidden := showingElements(nil, leaveButton)
	gone := showingElements(nil)
	for story, moments := range map[string][]moment{
		"out already": {{0, Removed, gone, done}},
		"a page that says so": {
			{0, InMeeting, in, leave},
			{0, Ended, gone, done},
		},
		"with a confirmation": {
			{0, InMeeting, in, leave},
			{0, InMeeting, in, wait},
			{0, InMeeting, showingElements([]string{leaveButton, confirmLeave}), confirm},
			{0, Ended, gone, done},
		},
		"a confirmation that comes late": {
			{0, InMeeting, in, leave},
			{pressedTime, InMeeting, in, leave},
			{0, InMeeting, showingElements([]string{confirmLeave}), confirm},
		},
		"from under a hidden toolbar": {
			{0, InMeeting, hidden, wake},
			{0, InMeeting, in, leave},
		},
		"a page that says nothing": {
			{0, InMeeting, in, leave},
			{0, Unknown, gone, wait},
			{goneTime, Unknown, gone, done},
		},
		"a toolbar that hides itself is not out": {
			{0, InMeeting, in, leave},
			{0, Unknown, hidden, wait},
			{goneTime, Unknown, hidden, wait},
			{pressedTime, Unknown, hidden, wake},
			{0, InMeeting, in, leave},
		},
		"a meeting without its button is not out": {
			{0, InMeeting, in, leave},
			{0, InMeeting, gone, wait},
			{goneTime, InMeeting, gone, wait},
		},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			var way leaving
			now := time.Unix(0, 0)
			for i, moment := range moments {
				now = now.Add(moment.after)
				if got := way.next(moment.snapshot, moment.screen, now); got != moment.want {
					t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
				}
			}
		})
	}
}

// TestPinningSteps walks to a pinned participant, look by look.
func TestPinningSteps(t *testing.T) {
	t.Parallel()
	type moment struct {
		after  time.Duration
		offers []string
		item   bool // the menu's item is in sight
		found  bool
		want   step
	}
	wait, wake, done, stop := step{kind: stepWait}, step{kind: stepWake}, step{kind: stepDone}, step{kind: stepStop}
	for story, moments := range map[string][]moment{
		"a button that turns into its opposite": {
			{0, nil, false, true, wake},
			{0, []string{offerPin}, false, true, step{kind: stepPress, element: offerPin}},
			{0, []string{offerPinned}, false, true, done},
		},
		"a button that does not take is not pressed twice": {
			{0, []string{offerPin}, false, true, step{kind: stepPress, element: offerPin}},
			{pressedTime, []string{offerPin}, false, true, wait},
			{pinTakenTime, []string{offerPin}, false, true, stop},
		},
		"a menu": {
			{0, []string{offerMenu}, false, true, step{kind: stepPress, element: offerMenu}},
			{0, []string{offerMenu}, false, true, wait},
			{pressedTime, []string{offerMenu}, true, true, step{kind: stepPress, element: pinItem}},
			{pressedTime, []string{offerMenu}, false, true, done},
		},
		"pinned already": {{0, []string{offerPinned}, false, true, done}},
		"nobody": {
			{0, nil, false, false, wait},
			{absentTime, nil, false, false, stop},
		},
	} {
		t.Run(story, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			way := pinning{since: now}
			for i, moment := range moments {
				now = now.Add(moment.after)
				var visible []string
				if moment.item {
					visible = []string{pinItem}
				}
				if got := way.next(showingElements(visible), RosterEntry{Offers: moment.offers}, moment.found, now); got != moment.want {
					t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
				}
			}
		})
	}
}
