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

// onDocker returns the settings of a service that runs bots on a Docker engine.
func onDocker(t *testing.T, host string) service.Settings {
	t.Helper()
	settings := contractSettings(t)
	settings.Launcher, settings.BotServiceURL = "docker", "http://standin.test:8080"
	settings.Docker = docker.Settings{RemoteSettings: launch.RemoteSettings{Image: "registry.test/standin:1"}, Host: host, User: "10001:10001"}
	return settings
}

// TestLauncherSettings checks that missing launcher settings are reported at start.
func TestLauncherSettings(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*service.Settings)
		words  string // part of the error; empty if the service starts
	}{
		"no URL of the service for bots": {func(s *service.Settings) { s.BotServiceURL = "" }, "STANDIN_BOT_SERVICE_URL must be set with the launcher docker"},
		"bots on the host's network":     {func(s *service.Settings) { s.BotServiceURL, s.Docker.Network = "", "host" }, ""},
		"unreachable engine":             {func(*service.Settings) {}, ""},
		"no image":                       {func(s *service.Settings) { s.Docker.Image = "" }, "image"},
		"root":                           {func(s *service.Settings) { s.Docker.User = "0:0" }, "never root"},
		"unknown launcher":               {func(s *service.Settings) { s.Launcher = "podman" }, `unknown launcher "podman"`},
		"Kubernetes, no URL of the service for bots": {func(s *service.Settings) { s.Launcher, s.BotServiceURL = "kubernetes", "" }, "STANDIN_BOT_SERVICE_URL"},
		"Kubernetes, invalid kubeconfig": {func(s *service.Settings) {
			s.Launcher, s.Kubernetes = "kubernetes", service.KubernetesSettings{Kubeconfig: kubeconfig}
		}, "find the Kubernetes cluster"},
		"Kubernetes, missing pod template": {func(s *service.Settings) {
			s.Launcher = "kubernetes"
			s.Kubernetes = service.KubernetesSettings{Kubeconfig: writeKubeconfig(t, "http://127.0.0.1:1"), PodTemplate: kubeconfig + ".none"}
		}, "pod template"},
		"Kubernetes, unreachable cluster": {func(s *service.Settings) {
			s.Launcher = "kubernetes"
			s.Kubernetes = service.KubernetesSettings{
				Kubeconfig: writeKubeconfig(t, "http://127.0.0.1:1"), Settings: kubernetes.Settings{RemoteSettings: launch.RemoteSettings{Image: "i"}, User: 1, Group: 1},
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := onDocker(t, "unix:///nowhere/docker.sock")
			test.change(&settings)
			s, err := service.Start(t.Context(), settings)
			if err == nil {
				err = s.Close()
				if test.words == "" && err == nil {
					return
				}
			}
			if err == nil || test.words == "" || !strings.Contains(err.Error(), test.words) {
				t.Errorf("got %v, want %q", err, test.words)
			}
		})
	}
}

// writeKubeconfig writes a kubeconfig for a cluster and returns its path.
func writeKubeconfig(t *testing.T, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": "` + host + `"}}],
		"users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnreachableEngine checks that a job fails if the engine stays unreachable.
func TestUnreachableEngine(t *testing.T) {
	t.Parallel()
	settings := onDocker(t, "unix:///nowhere/docker.sock")
	settings.StartTime = 2 * time.Second
	h := openContractHarness(t, newContractCoverage(), settings)
	reply := h.awaitStatus(t, h.ada, h.create(t, h.ada, contractJob("")), job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) || !strings.Contains(detail, "could not be started within 2s") || !strings.Contains(detail, "/nowhere/docker.sock") {
		t.Errorf("failed with %s: %s", code, detail)
	}
}

// TestMissingImage checks that a job whose image does not exist fails with the
// engine's error message.
func TestMissingImage(t *testing.T) {
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
	settings := onDocker(t, "tcp://"+engine.Listener.Addr().String())
	settings.StartTime = 2 * time.Second
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.ada, contractJob(""))
	reply := h.awaitStatus(t, h.ada, id, job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) || !strings.Contains(detail, "could not be started within 2s: pull the bots' image registry.test/standin:1: ") ||
		!strings.Contains(detail, "manifest unknown") {
		t.Errorf("failed with %s: %s", code, detail)
	}
}
