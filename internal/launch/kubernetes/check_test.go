package kubernetes_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"standin/internal/launch/kubernetes"
)

// looking are the settings of a look at a cluster.
func looking(config *rest.Config) kubernetes.Settings {
	return kubernetes.Settings{Cluster: config, Namespace: namespace, Image: "registry.test/standin:1", User: 10001, Group: 10001}
}

// testCheck: a cluster that is there tells its version and the service's rights:
// all that it needs in its own namespace, and none elsewhere.
func testCheck(t *testing.T, config *rest.Config) {
	found, err := kubernetes.Check(t.Context(), looking(config))
	if err != nil || len(found.Missing) > 0 || found.Where != config.Host || !strings.HasPrefix(found.Version, "v1.") {
		t.Errorf("%+v (%v)", found, err)
	}
	elsewhere := looking(config)
	elsewhere.Namespace = "kube-system"
	if found, err := kubernetes.Check(t.Context(), elsewhere); err != nil || !slices.Contains(found.Missing, "create jobs") || len(found.Missing) != 10 {
		t.Errorf("in another namespace: %+v (%v)", found, err)
	}
}

// TestCheckFails: what is wrong with the settings is told apart from what is
// wrong with the cluster.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	c := newFakeCluster(t)
	c.refused = map[string]bool{"create jobs": true, "delete pods": true}
	if found, err := kubernetes.Check(t.Context(), looking(c.config())); err != nil || !slices.Equal(found.Missing, []string{"create jobs", "delete pods"}) {
		t.Errorf("missing: %+v (%v)", found, err)
	}
	refusing := newFakeCluster(t)
	refusing.lay(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/version" {
			return false
		}
		say(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return true
	})
	for name, test := range map[string]struct {
		change  func(*kubernetes.Settings)
		cluster bool
		want    string
	}{
		"no image":       {func(s *kubernetes.Settings) { s.Image = "" }, false, "need an image"},
		"root":           {func(s *kubernetes.Settings) { s.User = 0 }, false, "never run as root"},
		"no cluster":     {func(s *kubernetes.Settings) { s.Cluster = nil }, false, "no Kubernetes cluster is set"},
		"nobody answers": {func(s *kubernetes.Settings) { s.Cluster = &rest.Config{Host: "http://127.0.0.1:1"} }, true, "Kubernetes does not answer"},
		"unknown there":  {func(s *kubernetes.Settings) { s.Cluster = refusing.config() }, true, "Kubernetes says: Unauthorized"},
	} {
		settings := looking(c.config())
		test.change(&settings)
		found, err := kubernetes.Check(t.Context(), settings)
		if err == nil || !strings.Contains(err.Error(), test.want) || (found.Where != "") != test.cluster {
			t.Errorf("%s: %+v (%v)", name, found, err)
		}
	}
	if len(c.objects) > 0 {
		t.Errorf("a check made %d objects", len(c.objects))
	}
}
