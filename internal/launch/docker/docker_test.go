package docker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/testing/launchtest"
)

const image = "localhost/standin-testbot:1"

// harness is a Docker launcher under test.
type harness struct {
	launchtest.Harness
	launcher *docker.Launcher
}

func newHarness(t *testing.T, host string, change ...func(*docker.Settings)) *harness {
	t.Helper()
	h := new(harness)
	settings := docker.Settings{
		RemoteSettings: h.Settings(image), Host: host, Network: "none",
	}
	settings.Seccomp, settings.CPULimit, settings.MemoryLimit = docker.EngineSeccomp, resource.MustParse("1"), resource.MustParse("64Mi")
	settings.Command = []string{"/testbot", "run"}
	for _, fn := range change {
		fn(&settings)
	}
	launcher, err := docker.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	h.Launcher, h.launcher = launcher, launcher
	t.Cleanup(launcher.Close)
	return h
}

// behavior sets the behavior of the bots; see testbot.
func behavior(name string) func(*docker.Settings) {
	return func(s *docker.Settings) { s.Command = []string{"/testbot", name} }
}

// instance sets the instance.
func instance(name string) func(*docker.Settings) {
	return func(s *docker.Settings) { s.Instance = name }
}

// launch starts a bot and stops it when the test ends.
func (h *harness) launch(t *testing.T, a launch.Assignment) {
	t.Helper()
	t.Cleanup(func() {
		if err := h.Stop(context.Background(), a.JobID, a.Attempt); err != nil {
			t.Error(err)
		}
	})
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// everyEngine runs the tests that any engine must pass.
func everyEngine(t *testing.T, host string) {
	for name, test := range map[string]func(*testing.T, string){
		"launch and stop":   testLaunchAndStop,
		"exit reasons":      testExitReasons,
		"stubborn bot":      testStubborn,
		"duplicate launch":  testDuplicate,
		"restart":           testRestart,
		"removed by others": testRemovedByOthers,
		"clean-up":          testCleanUp,
		"unknown bot":       testUnknown,
		"check":             testCheck,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, host)
		})
	}
}

func TestFakeEngine(t *testing.T) {
	t.Parallel()
	everyEngine(t, "tcp://"+newFakeEngine(t).server.Listener.Addr().String())
}

// testLaunchAndStop: a bot runs after Launch and is gone after Stop.
func testLaunchAndStop(t *testing.T, host string) {
	h, a := newHarness(t, host), launchtest.Assignment()
	h.launch(t, a)
	h.Expect(t, a, launch.Running)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, a, launch.Gone)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if state := h.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("the next attempt is %s", state)
	}
}

// testExitReasons: the reason says how a bot ended, without secrets.
func testExitReasons(t *testing.T, host string) {
	for name, words := range map[string][]string{
		"finish": {"exit code 0"},
		"fail":   {"exit code 3", "its log ends: in the meeting as Standin", "the browser is missing"},
		"eat":    {"out of memory"}, // not every engine reports the cause
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHarness(t, host, behavior(name)), launchtest.Assignment()
			h.launch(t, a)
			h.Expect(t, a, launch.Gone, words...)
			if reason := h.Reason(a.JobID, a.Attempt); strings.Contains(reason, launchtest.Token) {
				t.Errorf("the reason shows the token: %s", reason)
			}
		})
	}
}

// testStubborn: a bot that does not leave is killed.
func testStubborn(t *testing.T, host string) {
	h, a := newHarness(t, host, behavior("stubborn")), launchtest.Assignment()
	h.launch(t, a)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, a, launch.Gone)
}

// testDuplicate: repeated launches of an attempt, by one or two services, use the
// same container, even after it has ended.
func testDuplicate(t *testing.T, host string) {
	name := launchtest.NewInstance()
	one, two, a := newHarness(t, host, instance(name)), newHarness(t, host, instance(name)), launchtest.Assignment()
	one.launch(t, a)
	for _, h := range []*harness{one, two} {
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.Expect(t, a, launch.Running)
	}
	if err := two.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	one.Expect(t, a, launch.Gone)

	ended := launchtest.Assignment()
	finished := newHarness(t, host, behavior("finish"))
	finished.launch(t, ended)
	finished.Expect(t, ended, launch.Gone)
	if err := finished.Launch(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	finished.Expect(t, ended, launch.Gone, "exit code 0")
}

// testRestart: a new launcher recognizes running bots and reads the results of
// ended ones.
func testRestart(t *testing.T, host string) {
	name := launchtest.NewInstance()
	running, failed, other := launchtest.Assignment(), launchtest.Assignment(), launchtest.Assignment()
	first := newHarness(t, host, instance(name))
	first.launch(t, running)
	first.launcher.Close()
	second := newHarness(t, host, instance(name), behavior("fail"))
	second.launch(t, failed)
	second.launcher.Close()
	newHarness(t, host).launch(t, other) // of another instance

	h := newHarness(t, host, instance(name))
	h.Expect(t, running, launch.Running)
	h.Expect(t, failed, launch.Gone, "exit code 3", "the browser is missing")
	if state := h.State(other.JobID, other.Attempt); state != launch.NotStarted {
		t.Errorf("a bot of another instance is %s", state)
	}
}

// testRemovedByOthers: a bot whose container was removed is gone.
func testRemovedByOthers(t *testing.T, host string) {
	name := launchtest.NewInstance()
	h, other, a := newHarness(t, host, instance(name)), newHarness(t, host, instance(name)), launchtest.Assignment()
	h.launch(t, a)
	other.Expect(t, a, launch.Running)
	if err := other.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, a, launch.Gone)
}

// testCleanUp: containers of attempts that are over are removed, and no others.
func testCleanUp(t *testing.T, host string) {
	name := launchtest.NewInstance()
	wanted, over := launchtest.Assignment(), launchtest.Assignment()
	first := newHarness(t, host, instance(name))
	first.launch(t, wanted)
	first.launch(t, over)
	first.Expect(t, over, launch.Running)
	newHarness(t, host, instance(name), func(s *docker.Settings) {
		s.IsWanted = func(_ context.Context, jobID uuid.UUID, _ int) (bool, error) { return jobID == wanted.JobID, nil }
	})
	first.Expect(t, over, launch.Gone)
	first.Expect(t, wanted, launch.Running)
}

// testUnknown: Stop of a bot that was never started does nothing.
func testUnknown(t *testing.T, host string) {
	h, a := newHarness(t, host), launchtest.Assignment()
	h.Expect(t, a, launch.NotStarted)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Error(err)
	}
}
