package docker_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/mount"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/launch/docker"
)

const (
	image       = "localhost/standin-testbot:1"
	secretToken = "5ec2e7"
	patience    = 60 * time.Second
)

func mountedAt(target string) func(mount.Mount) bool {
	return func(m mount.Mount) bool { return m.Target == target && m.Type == mount.TypeVolume }
}

// house is a launcher, and what it tells of its bots.
type house struct {
	*docker.Launcher
	changes chan launch.Key
}

func newHouse(t *testing.T, host string, change ...func(*docker.Settings)) *house {
	t.Helper()
	h := &house{changes: make(chan launch.Key, 1000)}
	settings := docker.Settings{
		Host: host, Instance: "it" + uuid.NewString()[:8], Image: image, Pull: docker.PullMissing, User: "10001:10001",
		Command: []string{"/testbot", "run"}, Network: "none",
		Limits:    docker.Limits{CPUs: 1, MemoryBytes: 64 << 20, Processes: 64, ShmBytes: 16 << 20, TmpBytes: 16 << 20},
		LeaveTime: 2 * time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnChange: func(jobID uuid.UUID, attempt int) { h.changes <- launch.Key{JobID: jobID, Attempt: attempt} },
	}
	for _, fn := range change {
		fn(&settings)
	}
	launcher, err := docker.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	h.Launcher = launcher
	t.Cleanup(launcher.Close)
	return h
}

// does says what the bots of a house do.
func does(what string) func(*docker.Settings) {
	return func(s *docker.Settings) { s.Command = []string{"/testbot", what} }
}

// instance gives a house the name of another's.
func instance(name string) func(*docker.Settings) {
	return func(s *docker.Settings) { s.Instance = name }
}

func assignment() launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 1, Token: secretToken, ServiceURL: "http://standin:8080", Platform: job.Meet,
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=9a55", DisplayName: "Standin", AutoLeave: job.DefaultAutoLeave(),
	}
}

// launch starts a bot that is ended with the test.
func (h *house) launch(t *testing.T, a launch.Assignment) {
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

// expect waits until a bot is in a state for a reason with the words.
func (h *house) expect(t *testing.T, a launch.Assignment, want launch.State, words ...string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		state, why := h.State(a.JobID, a.Attempt), h.Reason(a.JobID, a.Attempt)
		right := state == want
		for _, word := range words {
			right = right && strings.Contains(why, word)
		}
		if right {
			return
		}
		select {
		case <-h.changes:
		case <-time.After(20 * time.Millisecond): // losing sight of the engine is no change of a bot
		case <-deadline:
			t.Fatalf("the bot is %s (%s), want %s (%s)", state, why, want, words)
		}
	}
}

// everyEngine runs tests that hold on any engine.
func everyEngine(t *testing.T, host string) {
	for name, test := range map[string]func(*testing.T, string){
		"life of a bot":     testLife,
		"ends":              testEnds,
		"stubborn bot":      testStubborn,
		"duplicate launch":  testDuplicate,
		"found again":       testFoundAgain,
		"removed by others": testRemovedByOthers,
		"reaped":            testReaped,
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

// testLife: a bot is started, seen, stopped and gone, with nothing left.
func testLife(t *testing.T, host string) {
	h, a := newHouse(t, host), assignment()
	h.launch(t, a)
	h.expect(t, a, launch.Running)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.expect(t, a, launch.Gone)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	if state := h.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("the next attempt is %s", state)
	}
}

// testEnds: what became of a bot is told in words that people understand.
func testEnds(t *testing.T, host string) {
	for what, words := range map[string][]string{
		"finish": {"exit code 0"},
		"fail":   {"exit code 3", "its log ends: in the meeting as Standin", "the browser is missing"},
		"eat":    {"out of memory"}, // not every engine says that it was the container's
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h, a := newHouse(t, host, does(what)), assignment()
			h.launch(t, a)
			h.expect(t, a, launch.Gone, words...)
			if why := h.Reason(a.JobID, a.Attempt); strings.Contains(why, secretToken) {
				t.Errorf("it shows the token: %s", why)
			}
		})
	}
}

// testStubborn: a bot that does not leave is killed.
func testStubborn(t *testing.T, host string) {
	h, a := newHouse(t, host, does("stubborn")), assignment()
	h.launch(t, a)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.expect(t, a, launch.Gone)
}

// testDuplicate: an attempt has one container, however often it is launched,
// and by whichever service; a launch that comes after its end starts nothing.
func testDuplicate(t *testing.T, host string) {
	name := "it" + uuid.NewString()[:8]
	one, two, a := newHouse(t, host, instance(name)), newHouse(t, host, instance(name)), assignment()
	one.launch(t, a)
	for _, h := range []*house{one, two} {
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.expect(t, a, launch.Running)
	}
	if err := two.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	one.expect(t, a, launch.Gone)

	ended := assignment()
	brief := newHouse(t, host, does("finish"))
	brief.launch(t, ended)
	brief.expect(t, ended, launch.Gone)
	if err := brief.Launch(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	brief.expect(t, ended, launch.Gone, "exit code 0")
}

// testFoundAgain: bots outlive the service; the next one knows those that run
// and what became of those that do not.
func testFoundAgain(t *testing.T, host string) {
	name := "it" + uuid.NewString()[:8]
	running, failed, stranger := assignment(), assignment(), assignment()
	first := newHouse(t, host, instance(name))
	first.launch(t, running)
	first.Close()
	second := newHouse(t, host, instance(name), does("fail"))
	second.launch(t, failed)
	second.Close()
	newHouse(t, host).launch(t, stranger) // another instance's

	h := newHouse(t, host, instance(name))
	h.expect(t, running, launch.Running)
	h.expect(t, failed, launch.Gone, "exit code 3", "the browser is missing")
	if state := h.State(stranger.JobID, stranger.Attempt); state != launch.NotStarted {
		t.Errorf("a bot of another instance is %s", state)
	}
}

// testRemovedByOthers: a bot whose container somebody removes is gone.
func testRemovedByOthers(t *testing.T, host string) {
	name := "it" + uuid.NewString()[:8]
	h, other, a := newHouse(t, host, instance(name)), newHouse(t, host, instance(name)), assignment()
	h.launch(t, a)
	other.expect(t, a, launch.Running)
	if err := other.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	h.expect(t, a, launch.Gone)
}

// testReaped: containers of attempts that are over are removed, whether they
// run or not, and no others.
func testReaped(t *testing.T, host string) {
	name := "it" + uuid.NewString()[:8]
	wanted, over := assignment(), assignment()
	first := newHouse(t, host, instance(name))
	first.launch(t, wanted)
	first.launch(t, over)
	first.expect(t, over, launch.Running)
	newHouse(t, host, instance(name), func(s *docker.Settings) {
		s.IsWanted = func(_ context.Context, jobID uuid.UUID, _ int) (bool, error) { return jobID == wanted.JobID, nil }
	})
	first.expect(t, over, launch.Gone)
	first.expect(t, wanted, launch.Running)
}

// testUnknown: a bot that was never started is stopped without ado.
func testUnknown(t *testing.T, host string) {
	h, a := newHouse(t, host), assignment()
	h.expect(t, a, launch.NotStarted)
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Error(err)
	}
}
