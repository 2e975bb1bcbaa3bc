package dispatch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/dispatch"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
)

// become has an engine tell what a bot is.
func (b *bots) become(jobID uuid.UUID, attempt int, state launch.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[key(jobID, attempt)] = state
}

// untilWaiting waits until somebody has looked at a job whose bot starts, and
// waits for its engine.
func (w *world) untilWaiting(t *testing.T, id uuid.UUID) job.Record {
	t.Helper()
	return w.until(t, id, "waiting for the engine", func(r job.Record) bool {
		return r.Attempts == 1 && r.LaunchedAt.IsZero() && r.WakeAt.Equal(r.AttemptStartedAt.Add(dispatch.DefaultTimeouts().Launch))
	})
}

// TestStartingBot: an engine that has a bot to start is waited for, and the bot
// is taken up when it runs. It is not launched a second time, whoever looks.
func TestStartingBot(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*dispatch.Settings){
		"the node that launched it":       nil, // it does not die
		"that node, come back":            node("a", 4),
		"another node of the same engine": node("b", 4),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, w *world) {
				w.bots.starts = true
				d, stop := w.run(t, node("a", 4))
				id := w.create(t, time.Time{})
				w.untilWaiting(t, id)
				if again != nil {
					stop()
					w.clock.set(w.clock.Now().Add(dispatch.DefaultLease))
					d, _ = w.run(t, again)
					d.BotExited(t.Context(), id) // it is looked at, and its bot still starts
					w.untilWaiting(t, id)
				}
				w.bots.become(id, 0, launch.Running)
				d.BotExited(t.Context(), id) // an engine tells every change in this way
				r := w.untilStarted(t, id, 0)
				if done := w.bots.done(); r.Attempts != 1 || r.Node != "a" || !slices.Equal(done, []string{"launch 0"}) {
					t.Errorf("the job: %+v after %v", r, done)
				}
				w.tell(t, id, 0, job.BotInMeeting, "")
			})
		})
	}
}

// TestNodeDiesBeforeItNotesTheStart: a bot that its engine was given, and of
// which nothing was written down, is found by whoever looks next, and not
// launched a second time.
func TestNodeDiesBeforeItNotesTheStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		again func(*dispatch.Settings)
		later bool // only when the lease has run out
	}{
		"the node comes back":             {node("a", 4), false},
		"another node of the same engine": {node("b", 4), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, w *world) {
				w.bots.block()
				_, stop := w.run(t, node("a", 4))
				id := w.create(t, time.Time{})
				<-w.bots.entered
				stop() // in the middle of the call to the engine
				left := w.record(t, id)
				if left.Lease == "" || !left.LaunchedAt.IsZero() || left.Status != job.Dispatching {
					t.Fatalf("it left: %+v", left)
				}
				w.bots.become(id, 0, launch.Starting) // the engine had heard it
				d, _ := w.run(t, test.again)
				if test.later {
					w.at(left.WakeAt)
				}
				w.untilWaiting(t, id)
				w.bots.become(id, 0, launch.Running)
				d.BotExited(t.Context(), id)
				if r := w.untilStarted(t, id, 0); r.Attempts != 1 || len(w.bots.done()) != 0 {
					t.Errorf("the job: %+v after %v", r, w.bots.done())
				}
			})
		})
	}
}

// TestStartingBotOfAnotherEngine: nobody can tell what became of a bot whose
// node is gone and whose engine nobody else knows. Another attempt is sent; the
// first one's bot is not taken up when its node is back, and leaves when it is
// heard.
func TestStartingBotOfAnotherEngine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.bots.starts = true
		_, stop := w.run(t, node("a", 4))
		id := w.create(t, time.Time{})
		w.untilWaiting(t, id)
		stop()

		w.clock.set(w.clock.Now().Add(dispatch.DefaultLease))
		others := newBots()
		b, _ := w.run(t, node("b", 4), func(s *dispatch.Settings) { s.Launcher = others })
		b.BotExited(t.Context(), id)
		if r := w.untilStarted(t, id, 1); r.Node != "b" || len(others.launches(id)) != 1 {
			t.Errorf("the job: %+v after %v", r, others.done())
		}
		w.bots.become(id, 0, launch.Running) // at last
		a, _ := w.run(t, node("a", 4))
		a.BotExited(t.Context(), id)
		w.tell(t, id, 1, job.BotInMeeting, "")
		r := w.until(t, id, "in its meeting", func(r job.Record) bool { return r.Status == job.InMeeting })
		answer, err := w.jobs.Heartbeat(t.Context(), ingest.Heartbeat{JobID: id.String(), Attempt: 0}, 0)
		if err != nil || len(answer.Commands) != 1 || answer.Commands[0].Kind != ingest.LeaveCall {
			t.Errorf("the first bot is told %+v (%v)", answer, err)
		}
		if r.Attempt != 1 || r.Node != "b" || len(w.bots.launches(id)) != 1 || len(others.launches(id)) != 1 {
			t.Errorf("the job: %+v after %v and %v", r, w.bots.done(), others.done())
		}
	})
}

// TestBotThatNeverStarts is given up when its time is over, with what the
// engine says, and ended.
func TestBotThatNeverStarts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.bots.starts, w.bots.why = true, "no such image"
		w.run(t, node("a", 4))
		id := w.create(t, time.Time{})
		w.at(w.untilWaiting(t, id).WakeAt)
		r := w.untilLetGo(t, id)
		if r.FailureCode != job.DispatchTimeout || !strings.Contains(r.FailureDetail, "no such image") || r.Attempts != 1 {
			t.Errorf("the job: %+v", r.State)
		}
		if done := w.bots.done(); len(done) < 2 || done[0] != "launch 0" || done[1] != "stop 0" || w.bots.State(id, 0) == launch.Running {
			t.Errorf("the bot: %v", done)
		}
	})
}
