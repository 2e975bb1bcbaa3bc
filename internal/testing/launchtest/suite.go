package launchtest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"standin/internal/launch"
)

// Bots is a launcher under test, with what the test does as the engine of its bots.
type Bots interface {
	launch.RemoteLauncher
	Expect(t *testing.T, a launch.Assignment, want launch.State, words ...string)
	Run(t *testing.T, a launch.Assignment)  // waits until a bot runs
	Fail(t *testing.T, a launch.Assignment) // lets a bot of the command fail end
	End(t *testing.T, a launch.Assignment)  // stops a bot
}

// Open returns a launcher with changed settings.
type Open func(t *testing.T, change ...func(*launch.RemoteSettings)) Bots

// Run runs the tests that every remote launcher must pass. Reasons of failed bots
// contain the words.
func Run(t *testing.T, open Open, words ...string) {
	for name, test := range map[string]func(*testing.T, Open, []string){
		"launch and stop":  testLaunchAndStop,
		"duplicate launch": testDuplicate,
		"restart":          testRestart,
		"clean-up":         testCleanUp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open, words)
		})
	}
}

// start launches a bot and stops it when the test ends.
func start(t *testing.T, b Bots, a launch.Assignment) {
	t.Helper()
	t.Cleanup(func() { b.End(t, a) })
	if err := b.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// instance sets the instance.
func instance(name string) func(*launch.RemoteSettings) {
	return func(s *launch.RemoteSettings) { s.Instance = name }
}

// fails sets the command of a bot that fails.
func fails(s *launch.RemoteSettings) { s.Command = []string{"/testbot", "fail"} }

// testLaunchAndStop: a bot runs after Launch and is gone after Stop. Stop of a bot
// that was never started, or that was stopped, does nothing.
func testLaunchAndStop(t *testing.T, open Open, _ []string) {
	b, a := open(t), Assignment()
	b.Expect(t, a, launch.NotStarted)
	b.End(t, a)
	start(t, b, a)
	b.Run(t, a)
	b.End(t, a)
	b.Expect(t, a, launch.Gone)
	b.End(t, a)
	if state := b.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("the next attempt is %s", state)
	}
}

// testDuplicate: repeated launches of an attempt, by one or two services, use the
// same bot, even after it has ended. It is gone for both when one has stopped it.
func testDuplicate(t *testing.T, open Open, words []string) {
	name := instance(NewInstance())
	one, two, a, failed := open(t, name, fails), open(t, name), Assignment(), Assignment()
	start(t, two, a)
	two.Run(t, a)
	for _, b := range []Bots{one, two} {
		if err := b.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		b.Expect(t, a, launch.Running)
	}
	two.End(t, a)
	one.Expect(t, a, launch.Gone)

	start(t, one, failed)
	one.Fail(t, failed)
	for _, b := range []Bots{one, two} {
		b.Expect(t, failed, launch.Gone, words...)
		if err := b.Launch(t.Context(), failed); err != nil {
			t.Fatal(err)
		}
		b.Expect(t, failed, launch.Gone, words...)
	}
}

// testRestart: a new launcher recognizes running bots and reads the results of
// ended ones.
func testRestart(t *testing.T, open Open, words []string) {
	name := instance(NewInstance())
	running, failed, other := Assignment(), Assignment(), Assignment()
	first, second := open(t, name), open(t, name, fails)
	start(t, first, running)
	first.Run(t, running)
	start(t, second, failed)
	first.Close()
	second.Close()
	second.Fail(t, failed)
	start(t, open(t), other) // of another instance

	b := open(t, name)
	b.Expect(t, running, launch.Running)
	b.Expect(t, failed, launch.Gone, words...)
	if state := b.State(other.JobID, other.Attempt); state != launch.NotStarted {
		t.Errorf("a bot of another instance is %s", state)
	}
}

// testCleanUp: bots of attempts that are over are removed, and no others.
func testCleanUp(t *testing.T, open Open, _ []string) {
	name := instance(NewInstance())
	wanted, over := Assignment(), Assignment()
	first := open(t, name)
	start(t, first, wanted)
	start(t, first, over)
	first.Run(t, wanted)
	open(t, name, func(s *launch.RemoteSettings) {
		s.IsWanted = func(_ context.Context, jobID uuid.UUID, _ int) (bool, error) { return jobID == wanted.JobID, nil }
	})
	first.Expect(t, over, launch.Gone)
	first.Expect(t, wanted, launch.Running)
}
