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
	all := func(snapshot launch.BotStatus) map[launch.Key]launch.BotStatus {
		return map[launch.Key]launch.BotStatus{bot: snapshot}
	}
	none := map[launch.Key]launch.BotStatus{}
	for name, test := range map[string]struct {
		do      func(tr *launch.Tracker)
		state   launch.State
		reason  string // part of it
		changes int    // calls of OnChange
	}{
		"never queried": {func(*launch.Tracker) {}, launch.Unknown, "not been queried", 0},
		"empty list":    {func(tr *launch.Tracker) { tr.UpdateAll(none, tr.Version()) }, launch.NotStarted, "", 0},
		"listed":        {func(tr *launch.Tracker) { tr.UpdateAll(all(running), tr.Version()) }, launch.Running, "", 1},
		"listed twice": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(running), tr.Version())
			tr.UpdateAll(all(running), tr.Version())
		}, launch.Running, "", 1},
		"starts": {func(tr *launch.Tracker) { tr.UpdateAll(all(starting), tr.Version()) }, launch.Starting, "pulling", 1},
		"starts, then runs": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(starting), tr.Version())
			tr.Update(bot, running)
		}, launch.Running, "", 2},
		"ended while disconnected": {func(tr *launch.Tracker) { tr.UpdateAll(all(gone), tr.Version()) }, launch.Gone, "exit code 1", 1},
		"disconnected": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(running), tr.Version())
			tr.Disconnected("cut")
		}, launch.Unknown, "cut", 1},
		"reconnected": {func(tr *launch.Tracker) {
			tr.Disconnected("cut")
			tr.UpdateAll(all(running), tr.Version())
		}, launch.Running, "", 1},
		"gone, then disconnected": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(gone), tr.Version())
			tr.Disconnected("cut")
		}, launch.Gone, "exit code 1", 1},
		"removed by others": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(running), tr.Version())
			tr.UpdateAll(none, tr.Version())
		}, launch.Gone, "not by Standin", 2},
		"gone stays gone": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(gone), tr.Version())
			tr.Update(bot, running)
		}, launch.Gone, "exit code 1", 1},
		"first reason stays": {func(tr *launch.Tracker) {
			tr.UpdateAll(all(gone), tr.Version())
			tr.Update(bot, launch.BotStatus{State: launch.Gone, Reason: "other"})
		}, launch.Gone, "exit code 1", 1},
		"list requested before the launch and received after it": {func(tr *launch.Tracker) {
			tr.UpdateAll(none, tr.Version())
			version := tr.Version()
			tr.Launching(bot)
			tr.Update(bot, running)
			tr.UpdateAll(none, version)
		}, launch.Running, "", 1},
		"list requested before the launch and received after the end": {func(tr *launch.Tracker) {
			tr.UpdateAll(none, tr.Version())
			version := tr.Version()
			tr.Launching(bot)
			tr.Update(bot, starting)
			tr.UpdateAll(all(gone), version)
		}, launch.Gone, "exit code 1", 2},
		"failed launch": {func(tr *launch.Tracker) {
			tr.UpdateAll(none, tr.Version())
			version := tr.Version()
			tr.Launching(bot)
			tr.LaunchFailed(bot)
			tr.Update(bot, gone)                 // a late event
			tr.UpdateAll(all(starting), version) // a late list
			tr.UpdateAll(none, tr.Version())
		}, launch.NotStarted, "", 0},
		"launch after a failed one": {func(tr *launch.Tracker) {
			tr.UpdateAll(none, tr.Version())
			tr.LaunchFailed(bot)
			tr.Launching(bot)
			tr.Update(bot, running)
		}, launch.Running, "", 1},
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
			test.do(tr)
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
