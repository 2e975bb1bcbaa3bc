package dispatch_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
)

// prelaunch is how long before joinAt the dispatchers of these tests launch bots.
const prelaunch = 30 * time.Second

// early makes a dispatcher launch bots before joinAt.
func early(s *dispatch.Settings) { s.Prelaunch = dispatch.Prelaunch(prelaunch) }

// createEarly creates a job whose bot is launched as soon as a dispatcher runs.
func (h *harness) createEarly(t *testing.T) uuid.UUID {
	t.Helper()
	return h.create(t, h.clock.Now().Add(prelaunch/2))
}

// untilPrelaunched waits until the bot of an attempt was launched before joinAt, and
// checks that nothing shows it.
func (h *harness) untilPrelaunched(t *testing.T, id uuid.UUID, attempt int) job.Record {
	t.Helper()
	r := h.until(t, id, "prelaunched", func(r job.Record) bool {
		return r.Prelaunch == job.Prelaunched && r.Attempt == attempt && !r.LaunchedAt.IsZero()
	})
	h.checkHidden(t, id)
	if r.WakeAt.After(r.JoinAt) {
		t.Errorf("the job is looked at %s after joinAt", r.WakeAt.Sub(r.JoinAt))
	}
	return r
}

// checkHidden checks that a job whose joinAt has not come shows no bot.
func (h *harness) checkHidden(t *testing.T, id uuid.UUID) {
	t.Helper()
	r := h.Record(t, id)
	if r.Status != job.Scheduled && r.Status != job.Cancelled || r.Attempts != 0 || !r.StartedAt.IsZero() {
		t.Errorf("before joinAt the job is %+v", r.State)
	}
	for _, e := range h.Entries(t, id) {
		if e.Kind != lifecycle.JobChanged && e.Kind != job.CancelRequested {
			t.Errorf("before joinAt the timeline has %s %s", e.Kind, e.Data)
		}
	}
	if events := h.eventNames(t, id); len(events) > 0 && !slices.Equal(events, []string{"cancelled"}) {
		t.Errorf("webhooks before joinAt: %v", events)
	}
}

// kinds returns the kinds of a job's timeline entries.
func (h *harness) kinds(t *testing.T, id uuid.UUID) (kinds []job.Trigger) {
	t.Helper()
	for _, e := range h.Entries(t, id) {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// TestPrelaunch checks that the bot is launched before joinAt by the measured start
// time, with joinAt in its assignment, and that the job's first attempt starts with
// it at joinAt.
func TestPrelaunch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		joinAt := h.clock.Now().Add(time.Hour)
		id := h.create(t, joinAt)
		later := h.create(t, joinAt.Add(time.Minute))
		d, _ := h.run(t, node("a", 4), func(s *dispatch.Settings) { s.Prelaunch = dispatch.AutoPrelaunch })
		for _, took := range []time.Duration{3, 4, 60, 3, 3, 5, 4, 3, 3, 4} { // one outlier
			d.RecordStart(took * time.Second)
		}
		h.at(joinAt.Add(-6 * time.Second))
		h.launched(t) // the dispatcher has checked the other jobs
		if r := h.Record(t, id); r.Prelaunch != job.NotPrelaunched {
			t.Errorf("prelaunched too early: %+v", r)
		}
		h.at(joinAt.Add(-5 * time.Second))
		h.untilPrelaunched(t, id, 0)
		if launches := h.bots.launches(id); len(launches) != 1 || !launches[0].JoinAt.Equal(joinAt) {
			t.Errorf("launches %+v", launches)
		}
		h.at(joinAt)
		r := h.until(t, id, "dispatching", func(r job.Record) bool { return r.Status == job.Dispatching })
		if r.Attempts != 1 || r.Attempt != 0 || r.Prelaunch != job.NotPrelaunched || !r.AttemptStartedAt.Equal(joinAt) ||
			!r.LaunchedAt.Before(joinAt) || len(h.bots.launches(id)) != 1 || len(h.bots.done()) != 2 {
			t.Errorf("at joinAt: %+v after %v", r, h.bots.done())
		}
		if events := h.eventNames(t, id); !slices.Equal(events, []string{"dispatching"}) {
			t.Errorf("webhooks %v", events)
		}
		if entries := h.Entries(t, id); len(entries) != 2 || string(entries[0].Data) != `{"node":"a"}` ||
			string(entries[1].Data) != `{"lateMs":0,"node":"a"}` {
			t.Errorf("timeline %+v", entries)
		}
		if h.Record(t, later).Prelaunch != job.NotPrelaunched {
			t.Error("the later job was prelaunched")
		}
	})
}

// TestChangeWithdrawsPrelaunchedBot checks that each change of a job stops its
// prelaunched bot, whose token is void from then on, and that another bot is launched
// as the job says now.
func TestChangeWithdrawsPrelaunchedBot(t *testing.T) {
	t.Parallel()
	name := "Grace's stand-in"
	for field, change := range map[string]func(job.Record) lifecycle.Patch{
		"joinAt": func(r job.Record) lifecycle.Patch {
			sooner := r.JoinAt.Add(-time.Second)
			return lifecycle.Patch{JoinAt: &sooner}
		},
		"displayName": func(job.Record) lifecycle.Patch { return lifecycle.Patch{DisplayName: &name} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.run(t, node("a", 1), early)
			id := h.createEarly(t)
			before := h.untilPrelaunched(t, id, 0)
			changed, err := h.Patch(t.Context(), h.Caller, id, change(before))
			if err != nil || changed.Status != job.Scheduled {
				t.Fatalf("patched to %s (%v)", changed.Status, err)
			}
			h.untilPrelaunched(t, id, 1)
			if done := h.bots.done(); !slices.Equal(done, []string{"launch 0", "stop 0", "launch 1"}) {
				t.Errorf("bots %v", done)
			}
			a := h.bots.launches(id)[1]
			if !a.JoinAt.Equal(changed.JoinAt) || a.DisplayName != changed.DisplayName || a.AutoLeave != changed.AutoLeave ||
				a.Token == h.bots.launches(id)[0].Token {
				t.Errorf("the second bot got %+v", a)
			}
			h.checkVoid(t, id, 0)
			h.at(changed.JoinAt)
			r := h.until(t, id, "dispatching", func(r job.Record) bool { return r.Status == job.Dispatching })
			if r.Attempts != 1 || r.Attempt != 1 || len(h.bots.launches(id)) != 2 {
				t.Errorf("at joinAt: %+v", r)
			}
			h.sendEvent(t, id, 1, job.BotJoined, "")
		})
	}
}

// checkVoid checks that a withdrawn bot is told to leave and changes nothing.
func (h *harness) checkVoid(t *testing.T, id uuid.UUID, attempt int) {
	t.Helper()
	entries := len(h.kinds(t, id))
	answer, err := h.Ingest(t.Context(), ingest.Simulated(id, attempt), ingest.Event{Kind: job.BotExited, EmittedAt: h.clock.Now()})
	if err != nil || answer.Applied || answer.Reason != job.StaleAttempt || len(answer.Commands) != 1 ||
		answer.Commands[0].Kind != ingest.LeaveCall {
		t.Errorf("response to an event of a withdrawn bot: %+v (%v)", answer, err)
	}
	h.checkStale(t, id, attempt)
	if now := len(h.kinds(t, id)); now != entries {
		t.Errorf("the withdrawn bot added %d entries to the timeline", now-entries)
	}
}

// TestMovedAwayPrelaunch checks that a job that is moved to a later time has no bot
// until shortly before then.
func TestMovedAwayPrelaunch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		h.run(t, node("a", 1), early)
		id := h.createEarly(t)
		h.untilPrelaunched(t, id, 0)
		joinAt := h.clock.Now().Add(time.Hour)
		h.move(t, id, joinAt)
		r := h.until(t, id, "waiting", func(r job.Record) bool { return r.Prelaunch == job.NotPrelaunched })
		if !r.WakeAt.Equal(joinAt) || r.Node != "" || h.bots.State(id, 0) != launch.Gone {
			t.Errorf("job %+v", r)
		}
		h.checkHidden(t, id)
		h.launched(t) // its slot is free again
		h.at(joinAt.Add(-prelaunch))
		if r := h.Record(t, id); r.Prelaunch != job.NotPrelaunched { // the only slot is in use
			t.Errorf("job %+v", r)
		}
	})
}

// TestCancelStopsPrelaunchedBot checks that the bot of a job that is cancelled before
// joinAt is stopped.
func TestCancelStopsPrelaunchedBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t, node("a", 1), early)
	id := h.createEarly(t)
	h.untilPrelaunched(t, id, 0)
	h.cancel(t, id)
	if r := h.untilCleanedUp(t, id); r.Status != job.Cancelled || r.Prelaunch != job.NotPrelaunched || h.bots.State(id, 0) != launch.Gone {
		t.Errorf("job %+v", r)
	}
	h.checkHidden(t, id)
	h.checkVoid(t, id, 0)
	h.launched(t) // its slot is free again
}

// TestPrelaunchedBotWaits checks that a bot gets no commands and may report nothing
// before joinAt, and that its first event at joinAt starts the attempt when no
// dispatcher has done so.
func TestPrelaunchedBotWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		_, stop := h.run(t, node("a", 1), early)
		id := h.createEarly(t)
		r := h.untilPrelaunched(t, id, 0)
		if _, err := h.QueueCommand(t.Context(), h.Caller, id, ingest.RequestRecordingPermission, nil); err != nil {
			t.Fatal(err)
		}
		stop()
		beat := func() ingest.HeartbeatResponse {
			t.Helper()
			answer, err := h.Heartbeat(t.Context(), ingest.Simulated(id, 0), ingest.Heartbeat{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		if answer := beat(); answer.Status != job.Scheduled || len(answer.Commands) != 0 || h.Record(t, id).HeartbeatAt.IsZero() {
			t.Errorf("response before joinAt: %+v", answer)
		}
		h.clock.Set(r.JoinAt.Add(-time.Millisecond))
		for _, kind := range job.BotTriggers() {
			_, err := h.Ingest(t.Context(), ingest.Simulated(id, 0), ingest.Event{
				Kind: kind, EmittedAt: h.clock.Now(), Data: json.RawMessage(`{"failureCode":"internal_error"}`),
			})
			if !job.ErrorIs(err, job.TooEarly) {
				t.Errorf("%s before joinAt: %v", kind, err)
			}
		}
		if kinds := h.kinds(t, id); !slices.Equal(kinds, []job.Trigger{lifecycle.CommandQueued}) || len(h.eventNames(t, id)) > 0 {
			t.Errorf("before joinAt: %v and webhooks %v", kinds, h.eventNames(t, id))
		}
		h.clock.Set(r.JoinAt)
		h.sendEvent(t, id, 0, job.BotJoined, "")
		if r := h.Record(t, id); r.Status != job.Joining || r.Attempts != 1 || r.Attempt != 0 || r.Prelaunch != job.NotPrelaunched ||
			r.Node != "a" {
			t.Errorf("at joinAt: %+v", r)
		}
		want := []job.Trigger{lifecycle.CommandQueued, job.AttemptStarted, lifecycle.BotLaunched, job.BotJoined}
		if kinds, events := h.kinds(t, id), h.eventNames(t, id); !slices.Equal(kinds, want) ||
			!slices.Equal(events, []string{"dispatching", "joining"}) {
			t.Errorf("at joinAt: %v and webhooks %v", kinds, events)
		}
		if answer := beat(); len(answer.Commands) != 1 {
			t.Errorf("response at joinAt: %+v", answer)
		}
	})
}

// TestPrelaunchedBotFails checks that a bot that fails before joinAt does not show,
// and that another one is launched at joinAt.
func TestPrelaunchedBotFails(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(t *testing.T, h *harness, d *dispatch.Dispatcher, id uuid.UUID){
		"it exits": func(t *testing.T, h *harness, d *dispatch.Dispatcher, id uuid.UUID) {
			h.untilPrelaunched(t, id, 0)
			h.lose(t, d, id, 0)
		},
		"it sends no heartbeat": func(t *testing.T, h *harness, _ *dispatch.Dispatcher, id uuid.UUID) {
			r := h.untilPrelaunched(t, id, 0)
			h.at(r.LaunchedAt.Add(prelaunch / 3))
		},
		"it is never started": func(t *testing.T, h *harness, d *dispatch.Dispatcher, id uuid.UUID) {
			h.until(t, id, "starting", func(r job.Record) bool { return r.Prelaunch == job.Prelaunched })
			h.lose(t, d, id, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.bots.starts = name == "it is never started"
			d, _ := h.run(t, node("a", 1), early, func(s *dispatch.Settings) { s.Timeouts.FirstHeartbeat = prelaunch / 3 })
			id := h.createEarly(t)
			fail(t, h, d, id)
			r := h.until(t, id, "without a bot", func(r job.Record) bool { return r.Prelaunch == job.PrelaunchSkipped })
			if !r.WakeAt.Equal(r.JoinAt) || r.Node != "" {
				t.Errorf("job %+v", r)
			}
			h.checkHidden(t, id)
			h.checkVoid(t, id, 0)
			h.bots.mu.Lock()
			h.bots.starts = false
			h.bots.mu.Unlock()
			h.at(r.JoinAt)
			if r := h.untilLaunched(t, id, 1); r.Attempts != 1 || r.Prelaunch != job.NotPrelaunched {
				t.Errorf("job %+v", r)
			}
			if events := h.eventNames(t, id); !slices.Equal(events, []string{"dispatching"}) {
				t.Errorf("webhooks %v", events)
			}
		})
	}
}

// TestStoppedPrelaunchedBot checks that a prelaunched bot that is stopped at joinAt,
// because it was silent, cannot report that as the end of the job.
func TestStoppedPrelaunchedBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.reportStops(t)
	h.run(t, node("a", 1), early, func(s *dispatch.Settings) { s.Timeouts.FirstHeartbeat = prelaunch })
	id := h.createEarly(t)
	r := h.untilPrelaunched(t, id, 0)
	h.at(r.LaunchedAt.Add(2 * prelaunch)) // past joinAt
	if r := h.untilLaunched(t, id, 1); r.Attempts != 1 || r.Status != job.Dispatching {
		t.Errorf("job %+v", r)
	}
}

// TestFailedPrelaunchIsRetried checks that a launch that fails before joinAt is
// retried before and after it.
func TestFailedPrelaunchIsRetried(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.bots.fail(errors.New("no Chromium here"))
	h.run(t, node("a", 1), early)
	id := h.createEarly(t)
	for failures := 1; ; failures++ {
		r := h.until(t, id, "tried", func(r job.Record) bool { return r.LaunchFailures == failures })
		if r.Status != job.Scheduled {
			break
		}
		h.checkHidden(t, id)
		if r.WakeAt.After(r.JoinAt) {
			t.Errorf("the job is looked at %s after joinAt", r.WakeAt.Sub(r.JoinAt))
		}
		h.at(r.WakeAt)
	}
	h.bots.fail(nil)
	h.at(h.Record(t, id).WakeAt)
	if r := h.untilLaunched(t, id, 0); r.Status != job.Dispatching || r.Attempts != 1 {
		t.Errorf("job %+v", r)
	}
}

// TestChangeDuringPrelaunch checks that a bot is stopped whose job changes while it is
// being launched.
func TestChangeDuringPrelaunch(t *testing.T) {
	t.Parallel()
	for _, starts := range []bool{false, true} {
		h := newHarness(t)
		h.bots.starts = starts
		release := h.bots.block()
		h.run(t, node("a", 1), early)
		id := h.createEarly(t)
		<-h.bots.entered
		joinAt := h.clock.Now().Add(time.Hour)
		h.move(t, id, joinAt)
		close(release)
		r := h.until(t, id, "waiting", func(r job.Record) bool { return r.Prelaunch == job.NotPrelaunched && r.Attempt == 1 })
		if !r.WakeAt.Equal(joinAt) || !r.LaunchedAt.IsZero() {
			t.Errorf("job %+v", r)
		}
		if done := h.bots.done(); done[0] != "launch 0" || done[len(done)-1] != "stop 0" {
			t.Errorf("bots %v", done)
		}
		h.checkHidden(t, id)
	}
}

// TestPrelaunchAndRestart checks that a node that restarts finds its prelaunched bots,
// launches those that it had not, and stops those of changed jobs.
func TestPrelaunchAndRestart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		_, stop := h.run(t, node("a", 3), early)
		kept, changed := h.createEarly(t), h.createEarly(t)
		h.untilPrelaunched(t, kept, 0)
		h.untilPrelaunched(t, changed, 0)
		release := h.bots.block()
		unlaunched := h.createEarly(t)
		h.until(t, kept, "launched", func(job.Record) bool { return len(h.bots.entered) == 3 })
		stop()
		close(release)
		if r := h.Record(t, unlaunched); r.Prelaunch != job.Prelaunched || !r.LaunchedAt.IsZero() || r.Lease == "" {
			t.Fatalf("after the crash: %+v", r)
		}
		joinAt := h.clock.Now().Add(time.Hour)
		h.move(t, changed, joinAt)

		capacity := dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 3})
		h.run(t, node("a", 3), early, func(s *dispatch.Settings) { s.Capacity = capacity })
		h.until(t, changed, "without a bot", func(r job.Record) bool { return r.Prelaunch == job.NotPrelaunched })
		h.untilPrelaunched(t, unlaunched, 0)
		h.untilPrelaunched(t, kept, 0)
		if capacity.Used() != 2 || len(h.bots.launches(kept)) != 1 || h.bots.State(changed, 0) != launch.Gone {
			t.Errorf("%d slots in use after %v", capacity.Used(), h.bots.done())
		}
		h.at(h.Record(t, kept).JoinAt)
		for _, id := range []uuid.UUID{kept, unlaunched} {
			r := h.until(t, id, "dispatching", func(r job.Record) bool { return r.Status == job.Dispatching })
			if r.Attempts != 1 || r.Attempt != 0 || len(h.bots.launches(id)) != 1 {
				t.Errorf("job %+v", r)
			}
		}
	})
}

// TestPrelaunchAndLostNode checks what happens to a prelaunched bot whose node is gone
// at joinAt: it is used while it sends heartbeats, and replaced when it was not
// launched.
func TestPrelaunchAndLostNode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		_, stop := h.run(t, node("a", 3), early)
		alive, silent := h.createEarly(t), h.createEarly(t)
		h.untilPrelaunched(t, alive, 0)
		h.untilPrelaunched(t, silent, 0)
		h.bots.block()
		unlaunched := h.createEarly(t)
		h.until(t, alive, "launched", func(job.Record) bool { return len(h.bots.entered) == 3 })
		stop()

		h.clock.Advance(time.Minute)
		h.beat(t, alive, ingest.Stats{})
		others := newBots()
		h.run(t, node("b", 3), early, func(s *dispatch.Settings) { s.Launcher = others })
		r := h.until(t, alive, "dispatching", func(r job.Record) bool { return r.Status == job.Dispatching })
		if r.Attempt != 0 || r.Node != "a" || len(others.launches(alive)) != 0 {
			t.Errorf("job with a bot that sends heartbeats: %+v", r)
		}
		if r := h.untilLaunched(t, unlaunched, 1); r.Attempts != 1 || r.Node != "b" {
			t.Errorf("job whose bot was not launched: %+v", r)
		}
		h.at(h.clock.Now().Add(dispatch.DefaultTimeouts().FirstHeartbeat))
		if r := h.untilLaunched(t, silent, 1); r.Node != "b" {
			t.Errorf("job with a silent bot: %+v", r)
		}
		h.checkStale(t, silent, 0)
	})
}

// move changes the joinAt of a job.
func (h *harness) move(t *testing.T, id uuid.UUID, joinAt time.Time) {
	t.Helper()
	if _, err := h.Patch(t.Context(), h.Caller, id, lifecycle.Patch{JoinAt: &joinAt}); err != nil {
		t.Fatal(err)
	}
}

// checkStale checks that a bot of a job is told to leave.
func (h *harness) checkStale(t *testing.T, id uuid.UUID, attempt int) {
	t.Helper()
	answer, err := h.Heartbeat(t.Context(), ingest.Simulated(id, attempt), ingest.Heartbeat{}, 0)
	if err != nil || len(answer.Commands) != 1 || answer.Commands[0].Kind != ingest.LeaveCall {
		t.Errorf("response to a heartbeat of an old bot: %+v (%v)", answer, err)
	}
}

// TestPrelaunchUsesCapacity checks that a prelaunched bot uses its slot, and counts
// for its consumer's limit.
func TestPrelaunchUsesCapacity(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*dispatch.Settings){
		"of the node":     func(s *dispatch.Settings) { s.Capacity = dispatch.NewCapacity(dispatch.CapacitySettings{MaxBots: 1}) },
		"of the consumer": func(s *dispatch.Settings) { s.MaxBotsPerConsumer = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, h *harness) {
				h.run(t, early, limit)
				first := h.createEarly(t)
				h.untilPrelaunched(t, first, 0)
				second := h.createEarly(t)
				due := h.create(t, time.Time{})
				h.untilPending(t, due)
				h.cancel(t, first)
				h.untilLaunched(t, due, 0)
				if r := h.Record(t, second); r.Prelaunch != job.NotPrelaunched || r.Status != job.Scheduled {
					t.Errorf("job %+v", r)
				}
			})
		})
	}
}

// TestPrelaunchIsSkipped checks that a job that can have no bot waits for joinAt and
// fails then.
func TestPrelaunchIsSkipped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.run(t, early)
	for platform, link := range map[job.Platform]string{job.Meet: "https://meet.google.com/new", job.ZoomSDK: "https://zoom.us/j/123456789"} {
		j := h.NewJob(t, func(r *lifecycle.NewJob) {
			r.MeetingURL, r.Platform, r.JoinAt = link, platform, h.clock.Now().Add(prelaunch/2)
		})
		r := h.until(t, j.ID, "skipped", func(r job.Record) bool { return r.Prelaunch == job.PrelaunchSkipped })
		h.checkHidden(t, j.ID)
		h.at(r.JoinAt)
		if r := h.untilCleanedUp(t, j.ID); r.Status != job.Failed || !r.StatusSince.Equal(r.JoinAt) || len(h.bots.launches(j.ID)) > 0 ||
			strings.Contains(r.FailureDetail, "prelaunch") {
			t.Errorf("job %+v", r)
		}
	}
}
