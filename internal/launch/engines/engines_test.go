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
	"standin/internal/launch/kubernetes"
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
	image := launch.RemoteSettings{Image: "registry.test/standin:1"}
	onDocker := docker.Settings{RemoteSettings: image, Host: "unix:///nowhere/docker.sock", User: "10001:10001"}
	asRoot, noImage := onDocker, onDocker
	asRoot.User, noImage.Image = "0:0", ""
	const unreachable = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`
	inCluster := engines.KubernetesSettings{
		Kubeconfig: writeFile(t, unreachable), Settings: kubernetes.Settings{RemoteSettings: image, User: 1, Group: 1},
	}
	noTemplate, invalid := inCluster, inCluster
	noTemplate.PodTemplate, invalid.Kubeconfig = inCluster.Kubeconfig+".none", writeFile(t, "clusters: [")
	for name, test := range map[string]struct {
		launcher string
		settings engines.Settings
		words    string // part of the error; empty if there is none
	}{
		"unreachable engine":   {"docker", engines.Settings{Docker: onDocker}, ""},
		"no image":             {"docker", engines.Settings{Docker: noImage}, "image"},
		"root":                 {"docker", engines.Settings{Docker: asRoot}, "never root"},
		"unknown launcher":     {"podman", engines.Settings{}, `unknown launcher "podman"`},
		"unreachable cluster":  {"kubernetes", engines.Settings{Kubernetes: inCluster}, ""},
		"invalid kubeconfig":   {"kubernetes", engines.Settings{Kubernetes: invalid}, "find the Kubernetes cluster"},
		"missing pod template": {"kubernetes", engines.Settings{Kubernetes: noTemplate}, "pod template"},
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
