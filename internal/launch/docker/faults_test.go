package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"standin/deploy"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/testing/launchtest"
)

// newFakeHarness returns a harness with its own fake engine.
func newFakeHarness(t *testing.T, change ...func(*docker.Settings)) (*harness, *fakeEngine) {
	t.Helper()
	engine := newFakeEngine(t)
	return newHarness(t, "tcp://"+engine.Listener.Addr().String(), change...), engine
}

// only returns the only container of the engine.
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

// TestContainer: a bot's container has the required restrictions and shows no
// secrets.
func TestContainer(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "seccomp.json")
	if err := os.WriteFile(profile, []byte(`{"defaultAction":"SCMP_ACT_ALLOW"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h, engine := newFakeHarness(t, func(s *docker.Settings) {
		s.Instance, s.Network, s.ExtraHosts, s.Seccomp = "i1", "bots", []string{"host.docker.internal:host-gateway"}, profile
		s.Bot = launch.BotSettings{Profiles: "/srv/profiles"}
	})
	a := launchtest.Assignment()
	h.launch(t, a)
	c := engine.only(t)
	shown, err := json.Marshal(c.request)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{launchtest.Token, launchtest.Passcode, launchtest.Signature} { // 9a55 is the meeting's passcode
		if strings.Contains(string(shown)+c.name, secret) {
			t.Errorf("%q shows on the container: %s", secret, shown)
		}
	}
	if want := fmt.Sprintf("standin-i1-%s-1", a.JobID); c.name != want {
		t.Errorf("the name is %s, want %s", c.name, want)
	}
	for name, want := range map[string]string{"standin.instance": "i1", "standin.job": a.JobID.String(), "standin.attempt": "1"} {
		if got := c.request.Labels[name]; got != want {
			t.Errorf("the label %s is %q, want %q", name, got, want)
		}
	}
	host := c.request.HostConfig
	for aspect, ok := range map[string]bool{
		"user":               c.request.User == "10001:10001",
		"capabilities":       slices.Equal(host.CapDrop, []string{"ALL"}) && len(host.CapAdd) == 0 && !host.Privileged,
		"privileges":         slices.Contains(host.SecurityOpt, "no-new-privileges:true"),
		"seccomp":            slices.Contains(host.SecurityOpt, `seccomp={"defaultAction":"SCMP_ACT_ALLOW"}`),
		"root file system":   host.ReadonlyRootfs && strings.Contains(host.Tmpfs["/tmp"], "nosuid,nodev"),
		"memory":             host.Memory == 64<<20 && host.MemorySwap == host.Memory,
		"CPUs":               host.NanoCPUs == 1e9,
		"processes":          host.PidsLimit != nil && *host.PidsLimit == 1024,
		"/dev/shm":           host.ShmSize == 1<<30,
		"network":            host.NetworkMode == "bots" && slices.Equal(host.ExtraHosts, []string{"host.docker.internal:host-gateway"}),
		"init":               host.Init != nil && *host.Init,
		"restart policy":     host.RestartPolicy.Name == container.RestartPolicyDisabled && !host.AutoRemove,
		"mounts":             len(host.Mounts) == 2 && host.Mounts[1].ReadOnly,
		"host's name spaces": host.PidMode == "" && host.IpcMode == "" && host.UTSMode == "" && host.UsernsMode == "",
	} {
		if !ok {
			t.Errorf("wrong %s: %s", aspect, shown)
		}
	}
	folder := fmt.Sprintf("/var/spool/standin/%s-1", a.JobID)
	config := c.files[folder+"/config.json"]
	if !strings.HasPrefix(config, "600 10001:10001 ") || !strings.Contains(config, launchtest.Token) ||
		!strings.Contains(config, `"dir":"`+folder+`"`) {
		t.Errorf("the bot's configuration is %q", config)
	}
	if want := []string{"/testbot", "run", "--config", folder + "/config.json"}; !slices.Equal(c.request.Cmd, want) {
		t.Errorf("the command is %q, want %q", c.request.Cmd, want)
	}
}

// TestBotThatReadsTheSpoolOfAnother: with a named volume too, each bot has its own.
func TestBotThatReadsTheSpoolOfAnother(t *testing.T) {
	t.Parallel()
	h, engine := newFakeHarness(t, func(s *docker.Settings) { s.Volume = "spools" })
	for range 2 {
		h.launch(t, launchtest.Assignment())
	}
	engine.mu.Lock()
	defer engine.mu.Unlock()
	volumes := map[string]bool{}
	for _, c := range engine.containers {
		volumes[c.request.HostConfig.Mounts[0].Source] = true
	}
	if len(volumes) != 2 || volumes["spools"] {
		t.Errorf("two bots have the volumes %v", volumes)
	}
}

// TestPullErrors: a failed pull is reported with the registry's message.
func TestPullErrors(t *testing.T) {
	t.Parallel()
	const other = "registry.test/bots:2"
	lines := func(lines ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { io.WriteString(w, strings.Join(lines, "\n")+"\n") }
	}
	for name, test := range map[string]struct {
		policy launch.Pull
		answer func(http.ResponseWriter)
		words  string
	}{
		"error within the stream": {launch.PullMissing, lines(
			`{"status":"Pulling from bots","id":"2"}`,
			`{"errorDetail":{"message":"manifest for registry.test/bots:2 not found: manifest unknown"},"error":"manifest unknown"}`),
			"pull the bots' image registry.test/bots:2: the Docker engine says: manifest for registry.test/bots:2 not found"},
		"refused at once": {launch.PullMissing, func(w http.ResponseWriter) {
			respondError(w, http.StatusNotFound,
				"pull access denied for registry.test/bots, repository does not exist or may require 'docker login'")
		}, "the Docker engine says: pull access denied"},
		"registry unreachable": {launch.PullAlways, func(w http.ResponseWriter) {
			respondError(w, http.StatusInternalServerError, "Get \"https://registry.test/v2/\": dial tcp: lookup registry.test: no such host")
		}, "no such host"},
		"stream cut": {launch.PullMissing, func(w http.ResponseWriter) {
			io.WriteString(w, `{"status":"Downloading","progress`)
		}, "unexpected EOF"},
		"never": {launch.PullNever, lines(), "No such image: registry.test/bots:2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := newFakeEngine(t)
			engine.pulling = test.answer
			h := newHarness(t, "tcp://"+engine.Listener.Addr().String(), func(s *docker.Settings) { s.Image, s.Pull = other, test.policy })
			a := launchtest.Assignment()
			err := h.Launch(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), test.words) {
				t.Fatalf("the launch ended with %v, want %q", err, test.words)
			}
			h.Expect(t, a, launch.NotStarted)
		})
	}
}

// TestSlowPull: launches time out with the progress of the pull, and share one
// pull.
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
		engine.addImage(other)
		io.WriteString(w, `{"status":"Pull complete"}`+"\n")
	}
	h := newHarness(t, "tcp://"+engine.Listener.Addr().String(), func(s *docker.Settings) {
		s.Image, s.PullWait = other, 200*time.Millisecond
	})
	<-began
	err := h.Launch(t.Context(), launchtest.Assignment())
	for err == nil || !strings.Contains(err.Error(), "is still being pulled, 100 of 500 MB so far") {
		if err == nil || !strings.Contains(err.Error(), "0 of 0 MB") { // progress not read yet
			t.Fatalf("the launch ended with %v", err)
		}
		err = h.Launch(t.Context(), launchtest.Assignment())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Launch(ctx, launchtest.Assignment()); !errors.Is(err, context.Canceled) {
		t.Errorf("the canceled launch ended with %v", err)
	}
	close(release)
	var launches sync.WaitGroup
	for range 10 {
		launches.Go(func() {
			a := launchtest.Assignment()
			for deadline := time.Now().Add(launchtest.Timeout); ; {
				err := h.Launch(t.Context(), a)
				if err == nil {
					h.Expect(t, a, launch.Running)
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("after the pull: %v", err)
					return
				}
			}
		})
	}
	launches.Wait()
	if engine.pulls != 1 {
		t.Errorf("the image was pulled %d times", engine.pulls)
	}
}

// TestUnstartable: a container that cannot be started is removed.
func TestUnstartable(t *testing.T) {
	t.Parallel()
	h, engine := newFakeHarness(t, behavior("unstartable"))
	a := launchtest.Assignment()
	for range 2 {
		err := h.Launch(t.Context(), a)
		if err == nil || !strings.Contains(err.Error(), "start the bot's container: the Docker engine says: failed to create task") {
			t.Fatalf("the launch ended with %v", err)
		}
		if n := engine.count(); n != 0 {
			t.Errorf("%d containers are left", n)
		}
		h.Expect(t, a, launch.NotStarted)
	}
}

// TestDisconnectDuringLaunch: after a connection is lost at any step of a launch,
// the next launch ends with one bot.
func TestDisconnectDuringLaunch(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"/create", "/archive", "/start"} {
		for _, done := range []bool{false, true} { // the step succeeded and its response was lost
			t.Run(fmt.Sprintf("%s done %v", step[1:], done), func(t *testing.T) {
				t.Parallel()
				h, engine := newFakeHarness(t)
				a := launchtest.Assignment()
				h.Expect(t, a, launch.NotStarted) // the watcher is connected
				var lost atomic.Bool
				engine.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, "/containers"+step) || (strings.HasSuffix(r.URL.Path, step) && step != "/create") {
						lost.Store(true)
						if done {
							engine.routes().ServeHTTP(launchtest.Lost(), strip(r))
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
				engine.SetFault(nil)
				h.launch(t, a)
				h.Expect(t, a, launch.Running)
				if c := engine.only(t); !c.state.Running {
					t.Error("the container does not run")
				}
			})
		}
	}
}

// strip removes the API version from a request's path.
func strip(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/v1.44")
	return r
}

// TestEngineDisconnected: while the engine does not answer, bots are unknown;
// afterwards, changes that happened meanwhile are reported.
func TestEngineDisconnected(t *testing.T) {
	t.Parallel()
	h, engine := newFakeHarness(t)
	lives, dies := launchtest.Assignment(), launchtest.Assignment()
	h.launch(t, lives)
	h.launch(t, dies)
	engine.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		respondError(w, http.StatusServiceUnavailable, "the daemon is shutting down")
		return true
	})
	engine.CloseClientConnections()
	h.Expect(t, lives, launch.Unknown, "state is unknown since")
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
	engine.SetFault(nil)
	h.Expect(t, lives, launch.Running)
	h.Expect(t, dies, launch.Gone, "exit code 2", "out of luck")
}

// TestManyEnded: the results of many bots that ended while no service ran are read, although
// the engine is slow and does not answer for one of them.
func TestManyEnded(t *testing.T) {
	t.Parallel()
	name := launchtest.NewInstance()
	first, engine := newFakeHarness(t, instance(name), behavior("fail"))
	var ended []launch.Assignment
	for range 80 {
		ended = append(ended, launchtest.Assignment())
		if err := first.Launch(t.Context(), ended[len(ended)-1]); err != nil {
			t.Fatal(err)
		}
	}
	first.Close()
	hangs := ended[0].JobID.String()
	engine.mu.Lock()
	for _, c := range engine.containers {
		if strings.Contains(c.name, hangs) {
			hangs = c.id
		}
	}
	engine.mu.Unlock()
	engine.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, hangs+"/json"):
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/json") && !strings.HasSuffix(r.URL.Path, "containers/json"):
			select { // a slow engine
			case <-time.After(400 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		return false
	})
	h := newHarness(t, "tcp://"+engine.Listener.Addr().String(), instance(name))
	for _, a := range ended[1:] {
		h.Expect(t, a, launch.Gone, "exit code 3", "the browser is missing")
	}
}

// TestNameTaken: a foreign container with a bot's name is not touched.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	h, engine := newFakeHarness(t, instance("i1"))
	a := launchtest.Assignment()
	name := fmt.Sprintf("standin-i1-%s-1", a.JobID)
	engine.mu.Lock()
	engine.containers[name] = &fakeContainer{id: "foreign", name: name, request: container.CreateRequest{
		Config: &container.Config{Cmd: []string{"run"}}, HostConfig: &container.HostConfig{},
	}, state: container.State{Status: container.StateRunning, Running: true}}
	engine.mu.Unlock()
	err := h.Launch(t.Context(), a)
	if err == nil || !strings.Contains(err.Error(), "is not a bot of this service") {
		t.Errorf("the launch ended with %v", err)
	}
	if c := engine.only(t); !c.state.Running {
		t.Error("the foreign container was stopped")
	}
}

// TestNoEngine: the launcher starts without its engine; launches fail.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	h, a := newHarness(t, "unix://"+t.TempDir()+"/none.sock"), launchtest.Assignment()
	h.Expect(t, a, launch.Unknown, "state is unknown since")
	ctx, cancel := context.WithTimeout(t.Context(), launchtest.Timeout)
	defer cancel()
	if err := h.Launch(ctx, a); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the launch ended with %v", err)
	}
}

// TestSettings: invalid settings are refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*docker.Settings)
		words  string
	}{
		"image":        {func(s *docker.Settings) { s.Image = "No Such" }, "image"},
		"root":         {func(s *docker.Settings) { s.User = "0:0" }, "never root"},
		"user by name": {func(s *docker.Settings) { s.User = "standin" }, "numeric"},
		"user in part": {func(s *docker.Settings) { s.User = "10001:10001x" }, "numeric"},
		"instance":     {func(s *docker.Settings) { s.Instance = "" }, "instance"},
		"host":         {func(s *docker.Settings) { s.Host = "nowhere" }, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := docker.Settings{RemoteSettings: launch.RemoteSettings{
				Instance: "i1", ContainerSettings: launch.ContainerSettings{Image: image},
			}}
			test.change(&settings)
			launcher, err := docker.New(settings)
			if err == nil {
				launcher.Close()
				t.Fatal("the settings were accepted")
			}
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error is %q, want %q", err, test.words)
			}
		})
	}
}

// TestSeccompProfile checks which profile each value of the setting is.
func TestSeccompProfile(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{docker.EngineSeccomp: "", "": deploy.SeccompProfile(), "embedded": deploy.SeccompProfile()} {
		if profile, err := docker.SeccompProfile(value); err != nil || profile != want {
			t.Errorf("%q is a profile of %d bytes (%v), want %d", value, len(profile), err, len(want))
		}
	}
	if !json.Valid([]byte(deploy.SeccompProfile())) {
		t.Error("the embedded profile is not JSON")
	}
	if _, err := docker.SeccompProfile("/missing"); err == nil {
		t.Error("a missing file was accepted")
	}
}
