package engines_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/engines"
)

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpen checks that missing and wrong settings of engines are reported when the
// service starts, and that it starts while an engine cannot be reached.
func TestOpen(t *testing.T) {
	t.Parallel()
	image := launch.ContainerSettings{Image: "registry.test/standin:1"}
	onDocker := engines.Settings{ContainerSettings: image, Docker: docker.Settings{Host: "unix:///nowhere/docker.sock"}}
	asRoot, noImage := onDocker, onDocker
	asRoot.User, noImage.Image = "0:0", ""
	const unreachable = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`
	inCluster := engines.Settings{ContainerSettings: image, Kubernetes: engines.KubernetesSettings{Kubeconfig: writeFile(t, unreachable)}}
	noTemplate, invalid := inCluster, inCluster
	noTemplate.Kubernetes.PodTemplate, invalid.Kubernetes.Kubeconfig = inCluster.Kubernetes.Kubeconfig+".none", writeFile(t, "clusters: [")
	for name, test := range map[string]struct {
		launcher string
		settings engines.Settings
		words    string // part of the error; empty if there is none
	}{
		"unreachable engine":   {"docker", onDocker, ""},
		"no image":             {"docker", noImage, "image"},
		"root":                 {"docker", asRoot, "never root"},
		"unknown launcher":     {"podman", engines.Settings{}, `unknown launcher "podman"`},
		"unreachable cluster":  {"kubernetes", inCluster, ""},
		"invalid kubeconfig":   {"kubernetes", invalid, "find the Kubernetes cluster"},
		"missing pod template": {"kubernetes", noTemplate, "pod template"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			launcher, err := test.settings.Open(test.launcher, launch.RemoteSettings{Instance: "test", Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				launcher.Close()
			}
			if text := fmt.Sprint(err); (test.words == "") != (err == nil) || !strings.Contains(text, test.words) {
				t.Errorf("the error is %s, want %q", text, test.words)
			}
		})
	}
}

// TestCheckServiceURL checks when bots need an address of the service.
func TestCheckServiceURL(t *testing.T) {
	t.Parallel()
	const url = "http://standin.test:8080"
	for _, test := range []struct {
		launcher, network, url string
		valid                  bool
	}{
		{"docker", "", "", false},
		{"docker", "", url, true},
		{"docker", "host", "", true},
		{"kubernetes", "", "", false},
		{"kubernetes", "", url, true},
		{"process", "", "", true},
		{"manual", "", "", true},
	} {
		err := engines.Settings{Docker: docker.Settings{Network: test.network}}.CheckServiceURL(test.launcher, test.url)
		if (err == nil) != test.valid {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
