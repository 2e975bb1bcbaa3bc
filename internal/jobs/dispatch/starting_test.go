package dispatch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
)

// untilWaiting waits until a dispatcher has checked a job whose bot is starting and
// waits for the engine.
func (h *harness) untilWaiting(t *testing.T, id uuid.UUID) job.Record {
	t.Helper()
	return h.until(t, id, "waiting for the engine", func(r job.Record) bool {
		return r.Attempts == 1 && r.LaunchedAt.IsZero() &&
			slices.Contains([]time.Duration{20 * time.Second, dispatch.DefaultTimeouts().Launch}, r.WakeAt.Sub(r.AttemptStartedAt))
	})
}

// TestStartingBotIsAwaited checks that dispatchers wait for an engine that is
// starting a bot, do not launch the bot again, and adopt it when it runs.
func TestStartingBotIsAwaited(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*dispatch.Settings){
		"the node that launched it":       nil, // it does not crash
		"the same node, restarted":        node("a", 4),
		"another node of the same engine": node("b", 4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.bots.starts = true
			d, stop := h.run(t, node("a", 4))
			id := h.create(t, time.Time{})
			h.untilWaiting(t, id)
			if again != nil {
				stop()
				h.clock.Advance(dispatch.DefaultLease)
				d, _ = h.run(t, again)
				d.BotStateChanged(t.Context(), id) // the bot is still starting
				h.untilWaiting(t, id)
			}
			h.bots.setState(id, 0, launch.Running)
			d.BotStateChanged(t.Context(), id) // an engine reports every change this way
			r := h.untilLaunched(t, id, 0)
			if done := h.bots.done(); r.Attempts != 1 || r.Node != "a" || !slices.Equal(done, []string{"launch 0"}) {
				t.Errorf("job %+v after %v", r, done)
			}
			h.sendEvent(t, id, 0, job.BotInMeeting, "")
		})
	}
}

// TestNodeCrashesBeforeRecordingLaunch checks that a bot whose launch was not
// recorded is found by the next dispatcher and not launched again.
func TestNodeCrashesBeforeRecordingLaunch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again func(*dispatch.Settings)
		later bool // claimed only after the lease has expired
	}{
		"the node restarts":               {node("a", 4), false},
		"another node of the same engine": {node("b", 4), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.bots.block()
			_, stop := h.run(t, node("a", 4))
			id := h.create(t, time.Time{})
			<-h.bots.entered
			stop() // in the middle of the call to the engine
			left := h.Record(t, id)
			if left.Lease == "" || !left.LaunchedAt.IsZero() || left.Status != job.Dispatching {
				t.Fatalf("after the crash: %+v", left)
			}
			h.bots.setState(id, 0, launch.Starting) // the engine received the call
			d, _ := h.run(t, test.again)
			if test.later {
				h.at(left.WakeAt)
			}
			h.untilWaiting(t, id)
			h.bots.setState(id, 0, launch.Running)
			d.BotStateChanged(t.Context(), id)
			if r := h.untilLaunched(t, id, 0); r.Attempts != 1 || len(h.bots.done()) != 0 {
				t.Errorf("job %+v after %v", r, h.bots.done())
			}
		})
	}
}

// TestStartingBotOfOtherNode checks that a new attempt is started if the node of a
// starting bot is gone and no other node can reach its engine. The first bot is
// not adopted when its node restarts, and its next heartbeat is answered with a
// leave command.
func TestStartingBotOfOtherNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.bots.starts = true
		_, stop := h.run(t, node("a", 4))
		id := h.create(t, time.Time{})
		h.untilWaiting(t, id)
		stop()

		h.clock.Advance(dispatch.DefaultLease)
		others := newBots()
		b, _ := h.run(t, node("b", 4), func(s *dispatch.Settings) { s.Launcher = others })
		b.BotStateChanged(t.Context(), id)
		if r := h.untilLaunched(t, id, 1); r.Node != "b" || len(others.launches(id)) != 1 {
			t.Errorf("job %+v after %v", r, others.done())
		}
		h.bots.setState(id, 0, launch.Running) // the first bot runs
		a, _ := h.run(t, node("a", 4))
		a.BotStateChanged(t.Context(), id)
		h.sendEvent(t, id, 1, job.BotInMeeting, "")
		r := h.until(t, id, "in its meeting", func(r job.Record) bool { return r.Status == job.InMeeting })
		h.checkStale(t, id, 0)
		if r.Attempt != 1 || r.Node != "b" || len(h.bots.launches(id)) != 1 || len(others.launches(id)) != 1 {
			t.Errorf("job %+v after %v and %v", r, h.bots.done(), others.done())
		}
	})
}

// TestBotThatNeverStarts checks that a bot that does not start in time is stopped
// and that the timeline, soon, and the failure detail contain the engine's reason.
func TestBotThatNeverStarts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.bots.starts, h.bots.reason = true, "no such image"
	h.run(t, node("a", 4))
	id := h.create(t, time.Time{})
	first := h.untilWaiting(t, id).WakeAt
	h.at(first)
	r := h.until(t, id, "reported", func(r job.Record) bool { return r.WakeAt.After(first) })
	entries, err := h.Store.Timeline(t.Context(), id)
	if last := entries[len(entries)-1]; err != nil || last.Kind != lifecycle.LaunchFailed ||
		!strings.Contains(string(last.Data), "no such image") {
		t.Errorf("the timeline ends with %+v (%v)", last, err)
	}
	h.at(r.WakeAt)
	r = h.untilCleanedUp(t, id)
	if r.FailureCode != job.DispatchTimeout || !strings.Contains(r.FailureDetail, "no such image") || r.Attempts != 1 {
		t.Errorf("job %+v", r.State)
	}
	if done := h.bots.done(); len(done) < 2 || done[0] != "launch 0" || done[1] != "stop 0" || h.bots.State(id, 0) == launch.Running {
		t.Errorf("bot calls %v", done)
	}
}
