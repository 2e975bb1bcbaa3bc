package simulator_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
	"standin/internal/launch/manual"
	"standin/internal/launch/simulator"
)

// newTestSimulator returns a simulator and a function that makes assignments
// for it, of jobs that the dispatcher ignores.
func newTestSimulator(t *testing.T, maxBots int) (*simulator.Launcher, func() launch.Assignment, <-chan uuid.UUID) {
	t.Helper()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	exits := make(chan uuid.UUID, 10)
	s := simulator.New(simulator.Settings{
		Service: e.jobs, Uploads: e.storage, MaxBots: maxBots, Log: slog.New(slog.DiscardHandler),
		OnExit: func(jobID uuid.UUID, _ int) { exits <- jobID },
	})
	t.Cleanup(s.Close)
	assign := func() launch.Assignment {
		j := e.create(t, nil, func(n *lifecycle.NewJob) { n.JoinAt = time.Now().Add(time.Hour) })
		return launch.Assignment{
			JobID: j.ID, Mode: job.Test, AutoLeave: j.AutoLeave,
			Metadata: json.RawMessage(`{"simulate": {"outcome": "slow_meeting", "seconds": 3600}}`),
		}
	}
	return s, assign, exits
}

func expectState(t *testing.T, l launch.Launcher, id uuid.UUID, want launch.State) {
	t.Helper()
	if got := l.State(id, 0); got != want {
		t.Errorf("the bot is %q, want %q", got, want)
	}
}

func TestBotLifecycle(t *testing.T) {
	t.Parallel()
	s, assign, exits := newTestSimulator(t, 0)
	a := assign()
	expectState(t, s, a.JobID, launch.NotStarted)
	if err := s.Stop(t.Context(), a.JobID, 0); err != nil {
		t.Errorf("a bot that never ran cannot be stopped: %v", err)
	}
	for range 2 { // a bot that runs is not started again
		if err := s.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	expectState(t, s, a.JobID, launch.Running)
	if err := s.Stop(t.Context(), a.JobID, 0); err != nil {
		t.Fatal(err)
	}
	expectState(t, s, a.JobID, launch.Gone)
	if id := <-exits; id != a.JobID {
		t.Errorf("OnExit(%s) was called", id)
	}
	select {
	case id := <-exits:
		t.Errorf("OnExit(%s) was called again", id)
	default:
	}
}

func TestMaxBots(t *testing.T) {
	t.Parallel()
	s, assign, exits := newTestSimulator(t, 1)
	first, second := assign(), assign()
	if err := s.Launch(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(t.Context(), second); err == nil {
		t.Error("a second bot was started")
	}
	expectState(t, s, second.JobID, launch.NotStarted)
	if err := s.Stop(t.Context(), first.JobID, 0); err != nil {
		t.Fatal(err)
	}
	<-exits
	if err := s.Launch(t.Context(), second); err != nil {
		t.Errorf("there is room, and yet: %v", err)
	}
}

func TestBotOfMissingJobEnds(t *testing.T) {
	t.Parallel()
	s, assign, exits := newTestSimulator(t, 0)
	a := assign()
	a.JobID = uuid.New()
	if err := s.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	<-exits
	expectState(t, s, a.JobID, launch.Gone)
}

func TestCloseEndsAllBots(t *testing.T) {
	t.Parallel()
	s, assign, exits := newTestSimulator(t, 0)
	a, late := assign(), assign()
	if err := s.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.Close()
	<-exits
	expectState(t, s, a.JobID, launch.Gone)
	if err := s.Launch(t.Context(), late); err == nil {
		t.Error("a closed simulator starts bots")
	}
}

// The router sends live jobs to the operator's launcher, and asks it about
// bots that are not in the simulator.
func TestRouter(t *testing.T) {
	t.Parallel()
	s, assign, _ := newTestSimulator(t, 0)
	router := simulator.Router{Test: s, Live: manual.Launcher{}}
	a := assign()
	expectState(t, router, a.JobID, launch.Unknown) // as Manual says
	live := a
	live.Mode = job.Live
	if err := router.Launch(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	expectState(t, s, a.JobID, launch.NotStarted)
	if err := router.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	expectState(t, router, a.JobID, launch.Running)
	if err := router.Stop(t.Context(), a.JobID, 0); err != nil {
		t.Fatal(err)
	}
	expectState(t, router, a.JobID, launch.Gone)
}
