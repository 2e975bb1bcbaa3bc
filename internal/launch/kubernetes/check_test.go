package kubernetes_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
)

// checkSettings returns the settings of Check.
func checkSettings(config *rest.Config) kubernetes.Settings {
	return kubernetes.Settings{
		RemoteSettings: launch.RemoteSettings{ContainerSettings: launch.ContainerSettings{Image: "registry.test/standin:1"}},
		Cluster:        config, Namespace: namespace,
	}
}

// testCheck: Check returns the cluster's version (that of a server built from its
// module is v0.0.0), and the permissions that are
// missing: none in the service's namespace, all in another.
func testCheck(t *testing.T, config *rest.Config) {
	found, err := kubernetes.Check(t.Context(), checkSettings(config))
	if err != nil || len(found.Missing) > 0 || found.Where != config.Host || !strings.HasPrefix(found.Version, "v") {
		t.Errorf("%+v (%v)", found, err)
	}
	other := checkSettings(config)
	other.Namespace = "kube-system"
	if found, err := kubernetes.Check(t.Context(), other); err != nil || !slices.Contains(found.Missing, "create pods") ||
		len(found.Missing) != 6 {
		t.Errorf("in another namespace: %+v (%v)", found, err)
	}
}

// TestCheckFails: errors of the settings and of the cluster are distinguished.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.refused = map[string]bool{"create pods": true, "delete pods": true}
	if found, err := kubernetes.Check(t.Context(), checkSettings(c.config())); err != nil ||
		!slices.Equal(found.Missing, []string{"create pods", "delete pods"}) {
		t.Errorf("missing: %+v (%v)", found, err)
	}
	refusing := newFakeCluster(t)
	refusing.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			return false
		}
		respondError(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return true
	})
	for name, test := range map[string]struct {
		change  func(*kubernetes.Settings)
		cluster bool
		want    string
	}{
		"no image":   {func(s *kubernetes.Settings) { s.Image = "" }, false, "image of the bots is not set"},
		"root":       {func(s *kubernetes.Settings) { s.User = "0:0" }, false, "never root"},
		"no cluster": {func(s *kubernetes.Settings) { s.Cluster = nil }, false, "cluster is not set"},
		"no listener": {func(s *kubernetes.Settings) {
			s.Cluster = &rest.Config{Host: "http://127.0.0.1:1"}
		}, true, "Kubernetes does not answer"},
		"refused": {func(s *kubernetes.Settings) { s.Cluster = refusing.config() }, true, "Kubernetes says: Unauthorized"},
	} {
		settings := checkSettings(c.config())
		test.change(&settings)
		found, err := kubernetes.Check(t.Context(), settings)
		if err == nil || !strings.Contains(err.Error(), test.want) || (found.Where != "") != test.cluster {
			t.Errorf("%s: %+v (%v)", name, found, err)
		}
	}
	if len(c.objects) > 0 {
		t.Errorf("Check created %d objects", len(c.objects))
	}
}
