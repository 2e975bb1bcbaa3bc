package launch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/launch"
)

// TestTracker: lists and events may be late, repeated or missing.
func TestTracker(t *testing.T) {
	t.Parallel()
	bot := launch.Key{JobID: uuid.New(), Attempt: 1}
	starting, running := launch.BotStatus{State: launch.Starting, Reason: "pulling"}, launch.BotStatus{State: launch.Running}
	gone := launch.BotStatus{State: launch.Gone, Reason: "exit code 1"}
	type step func(tr *launch.Tracker, version *uint64)
	listed := func(found []launch.BotStatus) map[launch.Key]launch.BotStatus {
		all := map[launch.Key]launch.BotStatus{}
		for _, status := range found {
			all[bot] = status
		}
		return all
	}
	list := func(found ...launch.BotStatus) step {
		return func(tr *launch.Tracker, _ *uint64) { tr.UpdateAll(listed(found), tr.Version()) }
	}
	request := func(tr *launch.Tracker, version *uint64) { *version = tr.Version() } // a list, which comes late
	late := func(found ...launch.BotStatus) step {
		return func(tr *launch.Tracker, version *uint64) { tr.UpdateAll(listed(found), *version) }
	}
	event := func(status launch.BotStatus) step {
		return func(tr *launch.Tracker, _ *uint64) { tr.Update(bot, status) }
	}
	launching := func(tr *launch.Tracker, _ *uint64) { tr.Launching(bot) }
	failed := func(tr *launch.Tracker, _ *uint64) { tr.LaunchFailed(bot) }
	cut := func(tr *launch.Tracker, _ *uint64) { tr.Disconnected("cut") }
	for name, test := range map[string]struct {
		steps   []step
		state   launch.State
		reason  string // part of it
		changes int    // calls of OnChange
	}{
		"never queried":            {nil, launch.Unknown, "not been queried", 0},
		"empty list":               {[]step{list()}, launch.NotStarted, "", 0},
		"listed":                   {[]step{list(running)}, launch.Running, "", 1},
		"listed twice":             {[]step{list(running), list(running)}, launch.Running, "", 1},
		"starts":                   {[]step{list(starting)}, launch.Starting, "pulling", 1},
		"starts, then runs":        {[]step{list(starting), event(running)}, launch.Running, "", 2},
		"ended while disconnected": {[]step{list(gone)}, launch.Gone, "exit code 1", 1},
		"disconnected":             {[]step{list(running), cut}, launch.Unknown, "cut", 1},
		"reconnected":              {[]step{cut, list(running)}, launch.Running, "", 1},
		"gone, then disconnected":  {[]step{list(gone), cut}, launch.Gone, "exit code 1", 1},
		"removed by others":        {[]step{list(running), list()}, launch.Gone, "not by Standin", 2},
		"gone stays gone":          {[]step{list(gone), event(running)}, launch.Gone, "exit code 1", 1},
		"first reason stays": {
			[]step{list(gone), event(launch.BotStatus{State: launch.Gone, Reason: "other"})}, launch.Gone, "exit code 1", 1,
		},
		"list requested before the launch and received after it": {
			[]step{list(), request, launching, event(running), late()}, launch.Running, "", 1,
		},
		"list requested before the launch and received after the end": {
			[]step{list(), request, launching, event(starting), late(gone)}, launch.Gone, "exit code 1", 2,
		},
		"failed launch, with a late event and a late list": {
			[]step{list(), request, launching, failed, event(gone), late(starting), list()}, launch.NotStarted, "", 0,
		},
		"listed before it may start": {
			[]step{list(), launching, event(starting), list(launch.BotStatus{State: launch.NotStarted})}, launch.Starting, "pulling", 1,
		},
		"interrupted launch":        {[]step{list(launch.BotStatus{State: launch.NotStarted})}, launch.NotStarted, "", 0},
		"launch after a failed one": {[]step{list(), failed, launching, event(running)}, launch.Running, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes int
			tr := launch.NewTracker(func(jobID uuid.UUID, attempt int) {
				if jobID != bot.JobID || attempt != bot.Attempt {
					t.Errorf("OnChange was called for job %s, attempt %d", jobID, attempt)
				}
				changes++
			}, time.Now)
			var version uint64
			for _, step := range test.steps {
				step(tr, &version)
			}
			state, reason := tr.State(bot.JobID, bot.Attempt), tr.Reason(bot.JobID, bot.Attempt)
			if state != test.state || !strings.Contains(reason, test.reason) || (test.reason == "") != (reason == "") || changes != test.changes {
				t.Errorf("the bot is %s (%s) after %d changes; want %s (%s) after %d", state, reason, changes, test.state, test.reason, test.changes)
			}
		})
	}
}

// TestTrackerForgetsOldBots: an ended bot that the engine no longer lists is
// forgotten after an hour.
func TestTrackerForgetsOldBots(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var changes []string
	tr := launch.NewTracker(func(id uuid.UUID, attempt int) {
		changes = append(changes, fmt.Sprint(attempt))
	}, func() time.Time { return now })
	id := uuid.New()
	listed := map[launch.Key]launch.BotStatus{{JobID: id, Attempt: 2}: {State: launch.Running}}
	tr.UpdateAll(listed, tr.Version())
	tr.Update(launch.Key{JobID: id, Attempt: 1}, launch.BotStatus{State: launch.Running})
	tr.Update(launch.Key{JobID: id, Attempt: 1}, launch.BotStatus{State: launch.Gone, Reason: "exit code 1"})
	tr.LaunchFailed(launch.Key{JobID: id, Attempt: 3})
	now = now.Add(59 * time.Minute)
	tr.UpdateAll(listed, tr.Version())
	if state := tr.State(id, 1); state != launch.Gone {
		t.Errorf("after an hour less a minute it is %s", state)
	}
	now = now.Add(2 * time.Minute)
	tr.UpdateAll(listed, tr.Version())
	for attempt, want := range map[int]launch.State{1: launch.NotStarted, 2: launch.Running, 3: launch.NotStarted} {
		if state := tr.State(id, attempt); state != want {
			t.Errorf("after an hour attempt %d is %s, want %s", attempt, state, want)
		}
	}
	if want := []string{"2", "1", "1"}; !slices.Equal(changes, want) {
		t.Errorf("changes of attempts %v, want %v", changes, want)
	}
}
