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
	starting, running := launch.Sight{State: launch.Starting, Why: "pulling"}, launch.Sight{State: launch.Running}
	gone := launch.Sight{State: launch.Gone, Why: "exit code 1"}
	all := func(sight launch.Sight) map[launch.Key]launch.Sight { return map[launch.Key]launch.Sight{bot: sight} }
	none := map[launch.Key]launch.Sight{}
	for name, test := range map[string]struct {
		do    func(w *launch.Watched)
		state launch.State
		why   string // part of it
		told  int    // how often it was told that something changed
	}{
		"never looked at":        {func(*launch.Watched) {}, launch.Unknown, "not been looked at", 0},
		"nothing there":          {func(w *launch.Watched) { w.SawAll(none, w.Mark()) }, launch.NotStarted, "", 0},
		"found":                  {func(w *launch.Watched) { w.SawAll(all(running), w.Mark()) }, launch.Running, "", 1},
		"found twice":            {func(w *launch.Watched) { w.SawAll(all(running), w.Mark()); w.SawAll(all(running), w.Mark()) }, launch.Running, "", 1},
		"starts":                 {func(w *launch.Watched) { w.SawAll(all(starting), w.Mark()) }, launch.Starting, "pulling", 1},
		"starts, then runs":      {func(w *launch.Watched) { w.SawAll(all(starting), w.Mark()); w.Saw(bot, running) }, launch.Running, "", 2},
		"ended while away":       {func(w *launch.Watched) { w.SawAll(all(gone), w.Mark()) }, launch.Gone, "exit code 1", 1},
		"engine away":            {func(w *launch.Watched) { w.SawAll(all(running), w.Mark()); w.Lost("cut") }, launch.Unknown, "cut", 1},
		"engine back":            {func(w *launch.Watched) { w.Lost("cut"); w.SawAll(all(running), w.Mark()) }, launch.Running, "", 1},
		"gone, then engine away": {func(w *launch.Watched) { w.SawAll(all(gone), w.Mark()); w.Lost("cut") }, launch.Gone, "exit code 1", 1},
		"removed by somebody":    {func(w *launch.Watched) { w.SawAll(all(running), w.Mark()); w.SawAll(none, w.Mark()) }, launch.Gone, "not by Standin", 2},
		"gone stays gone":        {func(w *launch.Watched) { w.SawAll(all(gone), w.Mark()); w.Saw(bot, running) }, launch.Gone, "exit code 1", 1},
		"first reason stays": {func(w *launch.Watched) {
			w.SawAll(all(gone), w.Mark())
			w.Saw(bot, launch.Sight{State: launch.Gone, Why: "other"})
		}, launch.Gone, "exit code 1", 1},
		"asked before the launch, answered after it": {func(w *launch.Watched) {
			w.SawAll(none, w.Mark())
			mark := w.Mark()
			w.Begun(bot)
			w.Saw(bot, running)
			w.SawAll(none, mark)
		}, launch.Running, "", 1},
		"asked before the launch, answered with its end": {func(w *launch.Watched) {
			w.SawAll(none, w.Mark())
			mark := w.Mark()
			w.Begun(bot)
			w.Saw(bot, starting)
			w.SawAll(all(gone), mark)
		}, launch.Gone, "exit code 1", 2},
		"a launch that failed": {func(w *launch.Watched) {
			w.SawAll(none, w.Mark())
			mark := w.Mark()
			w.Begun(bot)
			w.Failed(bot)
			w.Saw(bot, gone)              // an event that comes late
			w.SawAll(all(starting), mark) // an answer that comes late
			w.SawAll(none, w.Mark())
		}, launch.NotStarted, "", 0},
		"a launch after one that failed": {func(w *launch.Watched) {
			w.SawAll(none, w.Mark())
			w.Failed(bot)
			w.Begun(bot)
			w.Saw(bot, running)
		}, launch.Running, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told int
			w := launch.NewWatched(func(jobID uuid.UUID, attempt int) {
				if jobID != bot.JobID || attempt != bot.Attempt {
					t.Errorf("told of job %s, attempt %d", jobID, attempt)
				}
				told++
			}, time.Now)
			test.do(w)
			state, why := w.State(bot.JobID, bot.Attempt), w.Why(bot.JobID, bot.Attempt)
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
	w := launch.NewWatched(func(id uuid.UUID, attempt int) { told = append(told, fmt.Sprint(attempt)) }, func() time.Time { return now })
	id := uuid.New()
	there := map[launch.Key]launch.Sight{{JobID: id, Attempt: 2}: {State: launch.Running}}
	w.SawAll(there, w.Mark())
	w.Saw(launch.Key{JobID: id, Attempt: 1}, launch.Sight{State: launch.Running})
	w.Saw(launch.Key{JobID: id, Attempt: 1}, launch.Sight{State: launch.Gone, Why: "exit code 1"})
	w.Failed(launch.Key{JobID: id, Attempt: 3})
	now = now.Add(59 * time.Minute)
	w.SawAll(there, w.Mark())
	if state := w.State(id, 1); state != launch.Gone {
		t.Errorf("after an hour less a minute it is %s", state)
	}
	now = now.Add(2 * time.Minute)
	w.SawAll(there, w.Mark())
	for attempt, want := range map[int]launch.State{1: launch.NotStarted, 2: launch.Running, 3: launch.NotStarted} {
		if state := w.State(id, attempt); state != want {
			t.Errorf("after an hour attempt %d is %s, want %s", attempt, state, want)
		}
	}
	if want := []string{"2", "1", "1"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}
