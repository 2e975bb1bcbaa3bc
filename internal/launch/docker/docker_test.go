package docker_test

import (
	"context"
	"strings"
	"testing"

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
	h.RemoteLauncher, h.launcher = launcher, launcher
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
	t.Cleanup(func() { h.End(t, a) })
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// Run waits until a bot runs.
func (h *harness) Run(t *testing.T, a launch.Assignment) { t.Helper(); h.Expect(t, a, launch.Running) }

// Fail does nothing: a bot of the command fail ends by itself.
func (h *harness) Fail(*testing.T, launch.Assignment) {}

// End stops a bot.
func (h *harness) End(t *testing.T, a launch.Assignment) {
	t.Helper()
	if err := h.Stop(context.Background(), a.JobID, a.Attempt); err != nil {
		t.Error(err)
	}
}

// everyEngine runs the tests that any engine must pass.
func everyEngine(t *testing.T, host string) {
	launchtest.Run(t, func(t *testing.T, change ...func(*launch.RemoteSettings)) launchtest.Bots {
		return newHarness(t, host, func(s *docker.Settings) {
			for _, fn := range change {
				fn(&s.RemoteSettings)
			}
		})
	}, "exit code 3", "the browser is missing")
	for name, test := range map[string]func(*testing.T, string){
		"exit reasons": testExitReasons,
		"stubborn bot": testStubborn,
		"check":        testCheck,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, host)
		})
	}
}

func TestFakeEngine(t *testing.T) {
	t.Parallel()
	everyEngine(t, "tcp://"+newFakeEngine(t).Listener.Addr().String())
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
