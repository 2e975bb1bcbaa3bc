package meeting

import (
	"testing"
	"time"
)

// showingElements returns a snapshot with visible and hidden elements.
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

// TestLeaveSteps runs the steps of leaving, snapshot by snapshot.
func TestLeaveSteps(t *testing.T) {
	t.Parallel()
	type moment struct {
		after    time.Duration
		screen   Screen
		snapshot Snapshot
		want     step
	}
	wait, reveal, done := step{kind: stepWait}, step{kind: stepReveal}, step{kind: stepDone}
	leave, confirm := step{kind: stepPress, element: leaveButton}, step{kind: stepPress, element: confirmLeave}
	in := showingElements([]string{leaveButton})
	hidden := showingElements(nil, leaveButton)
	gone := showingElements(nil)
	for name, moments := range map[string][]moment{
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
			{pressTimeout, InMeeting, in, leave},
			{0, InMeeting, showingElements([]string{confirmLeave}), confirm},
		},
		"from under a hidden toolbar": {
			{0, InMeeting, hidden, reveal},
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
			{pressTimeout, Unknown, hidden, reveal},
			{0, InMeeting, in, leave},
		},
		"a meeting without its button is not out": {
			{0, InMeeting, in, leave},
			{0, InMeeting, gone, wait},
			{goneTime, InMeeting, gone, wait},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var progress leaveSteps
			now := time.Unix(0, 0)
			for i, moment := range moments {
				now = now.Add(moment.after)
				if got := progress.next(moment.snapshot, moment.screen, now); got != moment.want {
					t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
				}
			}
		})
	}
}

// TestPinSteps runs the steps of pinning, snapshot by snapshot.
func TestPinSteps(t *testing.T) {
	t.Parallel()
	type moment struct {
		after    time.Duration
		controls []string
		item     bool // the menu's item is visible
		found    bool
		want     step
	}
	wait, reveal, done, stop := step{kind: stepWait}, step{kind: stepReveal}, step{kind: stepDone}, step{kind: stepFail}
	for name, moments := range map[string][]moment{
		"a button that turns into its opposite": {
			{0, nil, false, true, reveal},
			{0, []string{controlPin}, false, true, step{kind: stepPress, element: controlPin}},
			{0, []string{controlPinned}, false, true, done},
		},
		"a button that does not take is not pressed twice": {
			{0, []string{controlPin}, false, true, step{kind: stepPress, element: controlPin}},
			{pressTimeout, []string{controlPin}, false, true, wait},
			{pinTimeout, []string{controlPin}, false, true, stop},
		},
		"a menu": {
			{0, []string{controlMenu}, false, true, step{kind: stepPress, element: controlMenu}},
			{0, []string{controlMenu}, false, true, wait},
			{pressTimeout, []string{controlMenu}, true, true, step{kind: stepPress, element: pinItem}},
			{pressTimeout, []string{controlMenu}, false, true, done},
		},
		"pinned already": {{0, []string{controlPinned}, false, true, done}},
		"nobody": {
			{0, nil, false, false, wait},
			{absentTimeout, nil, false, false, stop},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			progress := pinSteps{startedAt: now}
			for i, moment := range moments {
				now = now.Add(moment.after)
				var visible []string
				if moment.item {
					visible = []string{pinItem}
				}
				if got := progress.next(showingElements(visible), RosterEntry{Controls: moment.controls}, moment.found, now); got != moment.want {
					t.Fatalf("at moment %d the step is %+v, want %+v", i, got, moment.want)
				}
			}
		})
	}
}
