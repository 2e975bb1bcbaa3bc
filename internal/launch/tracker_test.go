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

// TestWatched: what a launcher of a remote engine knows, from looks that come
// late, twice, or not at all.
func TestWatched(t *testing.T) {
	t.Parallel()
	bot := launch.Key{JobID: uuid.New(), Attempt: 1}
	starting, running := launch.BotStatus{State: launch.Starting, Reason: "pulling"}, launch.BotStatus{State: launch.Running}
	gone := launch.BotStatus{State: launch.Gone, Reason: "exit code 1"}
	all := func(sight launch.BotStatus) map[launch.Key]launch.BotStatus {
		return map[launch.Key]launch.BotStatus{bot: sight}
	}
	none := map[launch.Key]launch.BotStatus{}
	for name, test := range map[string]struct {
		do    func(w *launch.Tracker)
		state launch.State
		why   string // part of it
		told  int    // how often it was told that something changed
	}{
		"never looked at": {func(*launch.Tracker) {}, launch.Unknown, "not been looked at", 0},
		"nothing there":   {func(w *launch.Tracker) { w.UpdateAll(none, w.Version()) }, launch.NotStarted, "", 0},
		"found":           {func(w *launch.Tracker) { w.UpdateAll(all(running), w.Version()) }, launch.Running, "", 1},
		"found twice": {func(w *launch.Tracker) {
			w.UpdateAll(all(running), w.Version())
			w.UpdateAll(all(running), w.Version())
		}, launch.Running, "", 1},
		"starts":                 {func(w *launch.Tracker) { w.UpdateAll(all(starting), w.Version()) }, launch.Starting, "pulling", 1},
		"starts, then runs":      {func(w *launch.Tracker) { w.UpdateAll(all(starting), w.Version()); w.Update(bot, running) }, launch.Running, "", 2},
		"ended while away":       {func(w *launch.Tracker) { w.UpdateAll(all(gone), w.Version()) }, launch.Gone, "exit code 1", 1},
		"engine away":            {func(w *launch.Tracker) { w.UpdateAll(all(running), w.Version()); w.Disconnected("cut") }, launch.Unknown, "cut", 1},
		"engine back":            {func(w *launch.Tracker) { w.Disconnected("cut"); w.UpdateAll(all(running), w.Version()) }, launch.Running, "", 1},
		"gone, then engine away": {func(w *launch.Tracker) { w.UpdateAll(all(gone), w.Version()); w.Disconnected("cut") }, launch.Gone, "exit code 1", 1},
		"removed by somebody":    {func(w *launch.Tracker) { w.UpdateAll(all(running), w.Version()); w.UpdateAll(none, w.Version()) }, launch.Gone, "not by Standin", 2},
		"gone stays gone":        {func(w *launch.Tracker) { w.UpdateAll(all(gone), w.Version()); w.Update(bot, running) }, launch.Gone, "exit code 1", 1},
		"first reason stays": {func(w *launch.Tracker) {
			w.UpdateAll(all(gone), w.Version())
			w.Update(bot, launch.BotStatus{State: launch.Gone, Reason: "other"})
		}, launch.Gone, "exit code 1", 1},
		"asked before the launch, answered after it": {func(w *launch.Tracker) {
			w.UpdateAll(none, w.Version())
			mark := w.Version()
			w.Launching(bot)
			w.Update(bot, running)
			w.UpdateAll(none, mark)
		}, launch.Running, "", 1},
		"asked before the launch, answered with its end": {func(w *launch.Tracker) {
			w.UpdateAll(none, w.Version())
			mark := w.Version()
			w.Launching(bot)
			w.Update(bot, starting)
			w.UpdateAll(all(gone), mark)
		}, launch.Gone, "exit code 1", 2},
		"a launch that failed": {func(w *launch.Tracker) {
			w.UpdateAll(none, w.Version())
			mark := w.Version()
			w.Launching(bot)
			w.LaunchFailed(bot)
			w.Update(bot, gone)              // an event that comes late
			w.UpdateAll(all(starting), mark) // an answer that comes late
			w.UpdateAll(none, w.Version())
		}, launch.NotStarted, "", 0},
		"a launch after one that failed": {func(w *launch.Tracker) {
			w.UpdateAll(none, w.Version())
			w.LaunchFailed(bot)
			w.Launching(bot)
			w.Update(bot, running)
		}, launch.Running, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told int
			w := launch.NewTracker(func(jobID uuid.UUID, attempt int) {
				if jobID != bot.JobID || attempt != bot.Attempt {
					t.Errorf("told of job %s, attempt %d", jobID, attempt)
				}
				told++
			}, time.Now)
			test.do(w)
			state, why := w.State(bot.JobID, bot.Attempt), w.Reason(bot.JobID, bot.Attempt)
			if state != test.state || !strings.Contains(why, test.why) || (test.why == "") != (why == "") || told != test.told {
				t.Errorf("it is %s because %q, told %d times; want %s, %q, %d", state, why, told, test.state, test.why, test.told)
			}
		})
	}
}

// TestWatchedForgets: what is long gone is forgotten, and nothing else.
func TestWatchedForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var told []string
	w := launch.NewTracker(func(id uuid.UUID, attempt int) { told = append(told, fmt.Sprint(attempt)) }, func() time.Time { return now })
	id := uuid.New()
	there := map[launch.Key]launch.BotStatus{{JobID: id, Attempt: 2}: {State: launch.Running}}
	w.UpdateAll(there, w.Version())
	w.Update(launch.Key{JobID: id, Attempt: 1}, launch.BotStatus{State: launch.Running})
	w.Update(launch.Key{JobID: id, Attempt: 1}, launch.BotStatus{State: launch.Gone, Reason: "exit code 1"})
	w.LaunchFailed(launch.Key{JobID: id, Attempt: 3})
	now = now.Add(59 * time.Minute)
	w.UpdateAll(there, w.Version())
	if state := w.State(id, 1); state != launch.Gone {
		t.Errorf("after an hour less a minute it is %s", state)
	}
	now = now.Add(2 * time.Minute)
	w.UpdateAll(there, w.Version())
	for attempt, want := range map[int]launch.State{1: launch.NotStarted, 2: launch.Running, 3: launch.NotStarted} {
		if state := w.State(id, attempt); state != want {
			t.Errorf("after an hour attempt %d is %s, want %s", attempt, state, want)
		}
	}
	if want := []string{"2", "1", "1"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}
