package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"standin/internal/launch"
	"standin/internal/launch/engines"
	"standin/internal/server/service"
)

const image = "localhost/standin:1"

// engineWith starts a Docker engine with an image.
func engineWith(t *testing.T, has string) (host string) {
	t.Helper()
	routes := http.NewServeMux()
	routes.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.44") })
	routes.HandleFunc("GET /v1.44/version", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"Version":"25.0.5","ApiVersion":"1.44","MinAPIVersion":"1.24"}`)
	})
	routes.HandleFunc("GET /v1.44/images/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if strings.TrimSuffix(r.PathValue("name"), "/json") != has {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"message":"No such image"}`)
			return
		}
		io.WriteString(w, `{"Id":"sha256:1"}`)
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return "tcp://" + server.Listener.Addr().String()
}

func TestDockerLauncher(t *testing.T) {
	t.Parallel()
	host := engineWith(t, image)
	for name, test := range map[string]struct {
		change func(*Settings)
		state  State
		texts  []string
	}{
		"working": {func(*Settings) {}, OK, []string{host, "25.0.5 (API 1.44), with the image " + image}},
		"image to be pulled": {func(s *Settings) {
			s.Engines.Image = "localhost/other:1"
		}, Warn, []string{"does not have the image localhost/other:1 yet", "docker pull localhost/other:1"}},
		"image missing": {func(s *Settings) {
			s.Engines.Image, s.Engines.Pull = "localhost/other:1", launch.PullNever
		}, Fail, []string{"STANDIN_BOT_PULL is never", "deploy/Dockerfile"}},
		"no image named": {func(s *Settings) { s.Engines.Image = "" }, Fail, []string{"set STANDIN_BOT_IMAGE"}},
		"engine away": {func(s *Settings) {
			s.Engines.Docker.Host = "tcp://127.0.0.1:1"
		}, Fail, []string{"tcp://127.0.0.1:1", "does not answer", "STANDIN_DOCKER_HOST"}},
		"no service URL": {
			func(s *Settings) { s.BotServiceURL = "" }, Fail, []string{"STANDIN_BOT_SERVICE_URL must be set", "http://standin:8080"},
		},
	} {
		settings := Settings{LauncherSettings: service.LauncherSettings{Launcher: "docker", BotServiceURL: "http://standin:8080"}}
		settings.Engines.Image, settings.Engines.Docker.Host = image, host
		test.change(&settings)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, checkLauncher(limited(t), settings), test.state, test.texts...)
		})
	}
}

// clusterRefusing starts a Kubernetes API server whose user lacks a permission, and
// returns its kubeconfig file.
func clusterRefusing(t *testing.T, verb, resource string) (kubeconfig string) {
	t.Helper()
	routes := http.NewServeMux()
	routes.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"gitVersion":"v1.36.0"}`) })
	routes.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		json.NewDecoder(r.Body).Decode(&review)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked.Namespace == "bots" && (asked.Verb != verb || asked.Resource != resource)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(review)
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return kubeconfigFor(t, server.URL)
}

// kubeconfigFor writes the kubeconfig file of a cluster.
func kubeconfigFor(t *testing.T, address string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q}}], "users": [{"name": "u", "user": {}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "bots"}}]}`, address)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKubernetesLauncher(t *testing.T) {
	t.Parallel()
	good := clusterRefusing(t, "", "")
	refusing := clusterRefusing(t, "create", "pods")
	away := kubeconfigFor(t, "http://127.0.0.1:1")
	for name, test := range map[string]struct {
		change func(*engines.Settings)
		state  State
		texts  []string
	}{
		"working": {func(*engines.Settings) {}, OK, []string{`namespace "bots": v1.36.0`, image}},
		"no right": {
			func(s *engines.Settings) { s.Kubernetes.Kubeconfig = refusing }, Fail,
			[]string{"may not create pods there", "deploy/kubernetes/rbac.yaml"},
		},
		"elsewhere": {
			func(s *engines.Settings) { s.Kubernetes.Namespace = "other" }, Fail,
			[]string{`namespace "other"`, "create secrets", "STANDIN_KUBERNETES_NAMESPACE"},
		},
		"cluster away": {
			func(s *engines.Settings) { s.Kubernetes.Kubeconfig = away }, Fail,
			[]string{"http://127.0.0.1:1", "Kubernetes does not answer", "API server"},
		},
		"no such file": {func(s *engines.Settings) {
			s.Kubernetes.Kubeconfig = "/no/such/file"
		}, Fail, []string{"/no/such/file", "STANDIN_KUBERNETES_KUBECONFIG"}},
		"no template": {func(s *engines.Settings) {
			s.Kubernetes.PodTemplate = "/no/such/template"
		}, Fail, []string{"pod template", "STANDIN_KUBERNETES_POD_TEMPLATE"}},
		"no image named": {func(s *engines.Settings) { s.Image = "" }, Fail, []string{"set STANDIN_BOT_IMAGE"}},
	} {
		var settings engines.Settings
		settings.Image, settings.Kubernetes.Kubeconfig = image, good
		test.change(&settings)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, checkLauncher(limited(t), Settings{
				LauncherSettings: service.LauncherSettings{Launcher: "kubernetes", BotServiceURL: "http://standin:8080"},
				Engines:          settings,
			}), test.state, test.texts...)
		})
	}
}

// TestOtherLaunchers checks the launchers without an engine, and that bots in
// containers need no browser on this machine.
func TestOtherLaunchers(t *testing.T) {
	t.Parallel()
	expect(t, checkLauncher(limited(t), Settings{}), OK, "process")
	expect(t, checkLauncher(limited(t), Settings{LauncherSettings: service.LauncherSettings{Launcher: "manual"}}), OK, "manual")
	expect(t, checkLauncher(limited(t), Settings{LauncherSettings: service.LauncherSettings{Launcher: "pigeons"}}), Fail, "pigeons",
		"STANDIN_LAUNCHER")
	expect(t, checkBrowser(limited(t), Settings{
		LauncherSettings: service.LauncherSettings{Launcher: "docker"}, Browser: "/no/such/browser",
	}), OK, "containers")
}
