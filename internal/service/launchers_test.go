package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/service"
)

// onDocker has bots run on an engine.
func onDocker(dir, host string) service.Settings {
	settings := contractSettings(dir)
	settings.Launcher, settings.BotServiceURL = "docker", "http://standin.test:8080"
	settings.Docker = docker.Settings{RemoteSettings: launch.RemoteSettings{Image: "registry.test/standin:1"}, Host: host, User: "10001:10001"}
	return settings
}

// TestLauncherSettings: what a launcher misses is told before anything runs.
func TestLauncherSettings(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*service.Settings)
		words  string // empty: it starts
	}{
		"bots that cannot find the service":   {func(s *service.Settings) { s.BotServiceURL = "" }, "STANDIN_BOT_SERVICE_URL must be set with the launcher docker"},
		"bots on the host's network":          {func(s *service.Settings) { s.BotServiceURL, s.Docker.Network = "", "host" }, ""},
		"no engine there":                     {func(*service.Settings) {}, ""},
		"no image":                            {func(s *service.Settings) { s.Docker.Image = "" }, "image"},
		"root":                                {func(s *service.Settings) { s.Docker.User = "0:0" }, "never root"},
		"no such launcher":                    {func(s *service.Settings) { s.Launcher = "podman" }, `unknown launcher "podman"`},
		"Kubernetes, bots without an address": {func(s *service.Settings) { s.Launcher, s.BotServiceURL = "kubernetes", "" }, "STANDIN_BOT_SERVICE_URL"},
		"Kubernetes, settings that cannot be read": {func(s *service.Settings) {
			s.Launcher, s.Kubernetes = "kubernetes", service.KubernetesSettings{Kubeconfig: kubeconfig}
		}, "find the Kubernetes cluster"},
		"Kubernetes, no such template": {func(s *service.Settings) {
			s.Launcher = "kubernetes"
			s.Kubernetes = service.KubernetesSettings{Kubeconfig: aCluster(t, "http://127.0.0.1:1"), PodTemplate: kubeconfig + ".none"}
		}, "pod template"},
		"Kubernetes, no cluster there": {func(s *service.Settings) {
			s.Launcher = "kubernetes"
			s.Kubernetes = service.KubernetesSettings{
				Kubeconfig: aCluster(t, "http://127.0.0.1:1"), Settings: kubernetes.Settings{RemoteSettings: launch.RemoteSettings{Image: "i"}, User: 1, Group: 1},
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := onDocker(t.TempDir(), "unix:///nowhere/docker.sock")
			test.change(&settings)
			s, err := service.Start(t.Context(), settings)
			if err == nil {
				err = s.Close()
				if test.words == "" && err == nil {
					return
				}
			}
			if err == nil || test.words == "" || !strings.Contains(err.Error(), test.words) {
				t.Errorf("it ended with %v, want %q", err, test.words)
			}
		})
	}
}

// aCluster writes access to a cluster.
func aCluster(t *testing.T, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "` + host + `"}}],
		"users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEngineAway: a job does not wait for ever for an engine that is not there.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	settings := onDocker(t.TempDir(), "unix:///nowhere/docker.sock")
	settings.StartTimeout = 2 * time.Second
	h := openContractHarness(t, newContractWalk(), settings)
	reply := h.awaitStatus(t, h.ada, h.create(t, h.ada, contractJob("")), job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) || !strings.Contains(detail, "could not be started within 2s") || !strings.Contains(detail, "/nowhere/docker.sock") {
		t.Errorf("it failed with %s: %s", code, detail)
	}
}

// TestNoSuchImage: a job whose bot no engine starts waits for it, and fails
// with the engine's words.
func TestNoSuchImage(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.44")
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			io.WriteString(w, "[]")
		case strings.HasSuffix(r.URL.Path, "/events"):
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.Method == http.MethodDelete || strings.HasSuffix(r.URL.Path, "/stop"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/images/create"):
			io.WriteString(w, `{"errorDetail":{"message":"manifest for registry.test/standin:1 not found: manifest unknown"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			json.NewEncoder(w).Encode(map[string]string{"message": "No such image: registry.test/standin:1"})
		}
	}))
	t.Cleanup(func() { engine.CloseClientConnections(); engine.Close() })
	settings := onDocker(t.TempDir(), "tcp://"+engine.Listener.Addr().String())
	settings.StartTimeout = 2 * time.Second
	h := openContractHarness(t, newContractWalk(), settings)
	id := h.create(t, h.ada, contractJob(""))
	reply := h.awaitStatus(t, h.ada, id, job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) || !strings.Contains(detail, "could not be started within 2s: pull the bots' image registry.test/standin:1: ") ||
		!strings.Contains(detail, "manifest unknown") {
		t.Errorf("it failed with %s: %s", code, detail)
	}
}
