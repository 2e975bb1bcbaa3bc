package docker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"standin/internal/launch"
	"standin/internal/launch/docker"
)

// onFake is a house on a fake engine of its own.
func onFake(t *testing.T, change ...func(*docker.Settings)) (*house, *fakeEngine) {
	t.Helper()
	engine := newFakeEngine(t)
	return newHouse(t, "tcp://"+engine.server.Listener.Addr().String(), change...), engine
}

// only returns the one container that an engine has.
func (e *fakeEngine) only(t *testing.T) *fakeContainer {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.containers) != 1 {
		t.Fatalf("the engine has %d containers, want one", len(e.containers))
	}
	for _, c := range e.containers {
		return c
	}
	return nil
}

func (e *fakeEngine) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.containers)
}

// TestContainer: a bot's container has what a bot needs and nothing else, and
// nothing secret is to be seen on it.
func TestContainer(t *testing.T) {
	t.Parallel()
	h, engine := onFake(t, func(s *docker.Settings) {
		s.Instance, s.Network, s.Hosts, s.Seccomp = "i1", "bots", []string{"host.docker.internal:host-gateway"}, `{"defaultAction":"SCMP_ACT_ALLOW"}`
		s.Bot = launch.BotSettings{SignIn: "/srv/sign-in", ZoomSDK: launch.ZoomSDK{Dir: "/srv/zoom", Key: "sdk key", Secret: "sdk secret"}}
	})
	a := assignment()
	h.launch(t, a)
	c := engine.only(t)
	shown, err := json.Marshal(c.request)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{secretToken, "9a55", "sdk secret"} { // 9a55 is the meeting's passcode
		if strings.Contains(string(shown)+c.name, secret) {
			t.Errorf("%q is to be seen on the container: %s", secret, shown)
		}
	}
	if want := fmt.Sprintf("standin-i1-%s-1", a.JobID); c.name != want {
		t.Errorf("it is called %s, want %s", c.name, want)
	}
	for name, want := range map[string]string{"standin.instance": "i1", "standin.job": a.JobID.String(), "standin.attempt": "1"} {
		if got := c.request.Labels[name]; got != want {
			t.Errorf("the label %s is %q, want %q", name, got, want)
		}
	}
	host := c.request.HostConfig
	for what, right := range map[string]bool{
		"user":               c.request.User == "10001:10001",
		"capabilities":       slices.Equal(host.CapDrop, []string{"ALL"}) && len(host.CapAdd) == 0 && !host.Privileged,
		"privileges":         slices.Contains(host.SecurityOpt, "no-new-privileges:true"),
		"seccomp":            slices.Contains(host.SecurityOpt, `seccomp={"defaultAction":"SCMP_ACT_ALLOW"}`),
		"root file system":   host.ReadonlyRootfs && strings.Contains(host.Tmpfs["/tmp"], "nosuid,nodev"),
		"memory":             host.Memory == 64<<20 && host.MemorySwap == host.Memory,
		"CPUs":               host.NanoCPUs == 1e9,
		"processes":          host.PidsLimit != nil && *host.PidsLimit == 64,
		"/dev/shm":           host.ShmSize == 16<<20,
		"network":            host.NetworkMode == "bots" && slices.Equal(host.ExtraHosts, []string{"host.docker.internal:host-gateway"}),
		"init":               host.Init != nil && *host.Init,
		"no second life":     host.RestartPolicy.Name == container.RestartPolicyDisabled && !host.AutoRemove,
		"mounts":             len(host.Mounts) == 3 && host.Mounts[1].ReadOnly && host.Mounts[2].ReadOnly,
		"host's name spaces": host.PidMode == "" && host.IpcMode == "" && host.UTSMode == "" && host.UsernsMode == "",
	} {
		if !right {
			t.Errorf("the container is not right in its %s: %s", what, shown)
		}
	}
	folder := fmt.Sprintf("/var/spool/standin/%s-1", a.JobID)
	task := c.files[folder+"/task"]
	if !strings.HasPrefix(task, "600 10001:10001 ") || !strings.Contains(task, secretToken) || !strings.Contains(task, `"STANDIN_BOT_DIR":"`+folder+`"`) {
		t.Errorf("the bot's task is %q", task)
	}
	if !slices.Contains(c.request.Env, launch.EnvTask+"="+folder+"/task") {
		t.Errorf("the bot is not told of its task: %q", c.request.Env)
	}
}

// TestPulls: an image that is missing is pulled, once, and what goes wrong
// with it is told in the registry's words.
func TestPulls(t *testing.T) {
	t.Parallel()
	const other = "registry.test/bots:2"
	lines := func(lines ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { io.WriteString(w, strings.Join(lines, "\n")+"\n") }
	}
	for name, test := range map[string]struct {
		policy docker.Pull
		answer func(http.ResponseWriter)
		words  string
	}{
		"error within the stream": {docker.PullMissing, lines(
			`{"status":"Pulling from bots","id":"2"}`,
			`{"errorDetail":{"message":"manifest for registry.test/bots:2 not found: manifest unknown"},"error":"manifest unknown"}`),
			"pull the bots' image registry.test/bots:2: the Docker engine says: manifest for registry.test/bots:2 not found"},
		"refused at once": {docker.PullMissing, func(w http.ResponseWriter) {
			say(w, http.StatusNotFound, "pull access denied for registry.test/bots, repository does not exist or may require 'docker login'")
		}, "the Docker engine says: pull access denied"},
		"registry away": {docker.PullAlways, func(w http.ResponseWriter) {
			say(w, http.StatusInternalServerError, "Get \"https://registry.test/v2/\": dial tcp: lookup registry.test: no such host")
		}, "no such host"},
		"stream breaks off": {docker.PullMissing, func(w http.ResponseWriter) {
			io.WriteString(w, `{"status":"Downloading","progress`)
		}, "unexpected EOF"},
		"never": {docker.PullNever, lines(), "No such image: registry.test/bots:2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := newFakeEngine(t)
			engine.pulling = test.answer
			h := newHouse(t, "tcp://"+engine.server.Listener.Addr().String(), func(s *docker.Settings) { s.Image, s.Pull = other, test.policy })
			a := assignment()
			err := h.Launch(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Fatalf("the launch ended with %v, want %q", err, test.words)
			}
			h.expect(t, a, launch.NotStarted)
		})
	}
}

// TestSlowPull: launches do not wait for ever for an image, tell how far it
// is, and share one pull.
func TestSlowPull(t *testing.T) {
	t.Parallel()
	const other = "registry.test/bots:3"
	engine := newFakeEngine(t)
	release, began := make(chan struct{}), make(chan struct{})
	engine.pulling = func(w http.ResponseWriter) {
		io.WriteString(w, `{"status":"Downloading","id":"a","progressDetail":{"current":104857600,"total":524288000}}`+"\n")
		w.(http.Flusher).Flush()
		close(began)
		<-release
		engine.have(other)
		io.WriteString(w, `{"status":"Pull complete"}`+"\n")
	}
	h := newHouse(t, "tcp://"+engine.server.Listener.Addr().String(), func(s *docker.Settings) {
		s.Image, s.PullWait = other, 200*time.Millisecond
	})
	<-began
	err := h.Launch(t.Context(), assignment())
	for err == nil || !strings.Contains(err.Error(), "is still being pulled, 100 of 500 MB so far") {
		if err == nil || !strings.Contains(err.Error(), "0 of 0 MB") { // not yet read
			t.Fatalf("the launch ended with %v", err)
		}
		err = h.Launch(t.Context(), assignment())
	}
	close(release)
	var launches sync.WaitGroup
	for range 10 {
		launches.Go(func() {
			a := assignment()
			for deadline := time.Now().Add(patience); ; {
				err := h.Launch(t.Context(), a)
				if err == nil {
					h.expect(t, a, launch.Running)
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("with the image there: %v", err)
					return
				}
			}
		})
	}
	launches.Wait()
	if engine.pulls != 1 {
		t.Errorf("it was pulled %d times", engine.pulls)
	}
}

// TestUnstartable: a container that cannot be started is told of and removed.
func TestUnstartable(t *testing.T) {
	t.Parallel()
	h, engine := onFake(t, does("unstartable"))
	a := assignment()
	for range 2 {
		err := h.Launch(t.Context(), a)
		if err == nil || !strings.Contains(err.Error(), "start the bot's container: the Docker engine says: failed to create task") {
			t.Fatalf("the launch ended with %v", err)
		}
		if n := engine.count(); n != 0 {
			t.Errorf("%d containers are left", n)
		}
		h.expect(t, a, launch.NotStarted)
	}
}

// TestAwayDuringLaunch: wherever the engine goes away during a launch, the
// launch says so, and the next one ends with one bot.
func TestAwayDuringLaunch(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"/create", "/archive", "/start"} {
		for _, done := range []bool{false, true} { // the engine did what it was asked, and was not heard
			t.Run(fmt.Sprintf("%s done %v", step[1:], done), func(t *testing.T) {
				t.Parallel()
				h, engine := onFake(t)
				a := assignment()
				h.expect(t, a, launch.NotStarted) // it is watched
				var lost atomic.Bool
				engine.lay(func(w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, "/containers"+step) || (strings.HasSuffix(r.URL.Path, step) && step != "/create") {
						lost.Store(true)
						if done {
							engine.routes().ServeHTTP(discard{header: http.Header{}}, strip(r))
						}
					}
					if lost.Load() {
						panic(http.ErrAbortHandler)
					}
					return false
				})
				err := h.Launch(t.Context(), a)
				if err == nil {
					t.Fatal("the launch succeeded without an engine")
				}
				engine.lay(nil)
				h.launch(t, a)
				h.expect(t, a, launch.Running)
				if c := engine.only(t); !c.state.Running {
					t.Error("the container does not run")
				}
			})
		}
	}
}

// strip makes a request's path what the engine's routes know.
func strip(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/v1.44")
	return r
}

// discard is an answer that is never heard.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// TestEngineAway: while the engine cannot be seen, bots are unknown, and it is
// said why; what happened meanwhile is known when it is back.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	h, engine := onFake(t)
	lives, dies := assignment(), assignment()
	h.launch(t, lives)
	h.launch(t, dies)
	engine.lay(func(w http.ResponseWriter, _ *http.Request) bool {
		say(w, http.StatusServiceUnavailable, "the daemon is shutting down")
		return true
	})
	engine.cut()
	h.expect(t, lives, launch.Unknown, "cannot be seen since")
	if err := h.Stop(t.Context(), lives.JobID, lives.Attempt); err == nil {
		t.Error("a bot was stopped without an engine")
	}
	engine.mu.Lock()
	for _, c := range engine.containers {
		if strings.Contains(c.name, dies.JobID.String()) {
			c.write(2, "panic: out of luck\n")
			engine.die(c, 2, false)
		}
	}
	engine.mu.Unlock()
	engine.lay(nil)
	h.expect(t, lives, launch.Running)
	h.expect(t, dies, launch.Gone, "exit code 2", "out of luck")
}

// TestNameTaken: a container of somebody else's with a bot's name is left
// alone, and told of.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	h, engine := onFake(t, instance("i1"))
	a := assignment()
	name := fmt.Sprintf("standin-i1-%s-1", a.JobID)
	engine.mu.Lock()
	engine.containers[name] = &fakeContainer{id: "foreign", name: name, request: container.CreateRequest{
		Config: &container.Config{Cmd: []string{"run"}}, HostConfig: &container.HostConfig{},
	}, state: container.State{Status: container.StateRunning, Running: true}}
	engine.mu.Unlock()
	err := h.Launch(t.Context(), a)
	if err == nil || !strings.Contains(err.Error(), "is none of this service's bots") {
		t.Errorf("the launch ended with %v", err)
	}
	if c := engine.only(t); !c.state.Running {
		t.Error("the container of somebody else was ended")
	}
}

// TestNoEngine: a service starts without its engine, and says what is missing
// when a bot is to be sent.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	h, a := newHouse(t, "unix://"+t.TempDir()+"/none.sock"), assignment()
	h.expect(t, a, launch.Unknown, "cannot be seen since")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.Launch(ctx, a); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the launch ended with %v", err)
	}
}

// TestSettings: what cannot be is told before anything is started.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*docker.Settings)
		words  string
	}{
		"image":        {func(s *docker.Settings) { s.Image = "No Such" }, "image"},
		"root":         {func(s *docker.Settings) { s.User = "0:0" }, "never as root"},
		"user by name": {func(s *docker.Settings) { s.User = "standin" }, "in numbers"},
		"user in part": {func(s *docker.Settings) { s.User = "10001:10001x" }, "in numbers"},
		"pull":         {func(s *docker.Settings) { s.Pull = "sometimes" }, "sometimes"},
		"instance":     {func(s *docker.Settings) { s.Instance = "" }, "instance"},
		"host":         {func(s *docker.Settings) { s.Host = "nowhere" }, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := docker.Settings{Instance: "i1", Image: image, User: "10001:10001"}
			test.change(&settings)
			launcher, err := docker.New(settings)
			if err == nil {
				launcher.Close()
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("it says %q, want %q", err, test.words)
			}
		})
	}
}
