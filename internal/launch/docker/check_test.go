package docker_test

import (
	"net/http"
	"strings"
	"testing"

	"standin/internal/launch"
	"standin/internal/launch/docker"
)

// testCheck: Check returns the engine's version and whether it has the image.
func testCheck(t *testing.T, host string) {
	for name, want := range map[string]bool{image: true, "localhost/standin-nowhere:1": false} {
		found, err := docker.Check(t.Context(), docker.Settings{
			RemoteSettings: launch.RemoteSettings{ContainerSettings: launch.ContainerSettings{Image: name}}, Host: host,
		})
		if err != nil || found.HasImage != want || found.Where != host || !strings.Contains(found.Engine, "(API 1.") {
			t.Errorf("%s: %+v (%v)", name, found, err)
		}
	}
}

// TestCheckFails: errors of the settings and of the engine are distinguished.
func TestCheckFails(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	e.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/images/") {
			return false
		}
		respondError(w, http.StatusInternalServerError, "the disk is full")
		return true
	})
	good := docker.Settings{
		Host:           "tcp://" + e.Listener.Addr().String(),
		RemoteSettings: launch.RemoteSettings{ContainerSettings: launch.ContainerSettings{Image: image}},
	}
	for name, test := range map[string]struct {
		change func(*docker.Settings)
		engine bool
		want   string
	}{
		"no image":   {func(s *docker.Settings) { s.Image = "" }, false, "image of the bots is not set"},
		"root":       {func(s *docker.Settings) { s.User = "0:0" }, false, "never root"},
		"no address": {func(s *docker.Settings) { s.Host = "engine" }, false, "create the client of the Docker engine"},
		"no listener": {func(s *docker.Settings) {
			s.Host = "unix://" + t.TempDir() + "/docker.sock"
		}, true, "the Docker engine does not answer"},
		"engine error":    {func(*docker.Settings) {}, true, "the Docker engine says: the disk is full"},
		"no engine there": {func(s *docker.Settings) { s.Host = "tcp://127.0.0.1:1" }, true, "does not answer"},
	} {
		settings := good
		test.change(&settings)
		found, err := docker.Check(t.Context(), settings)
		if err == nil || !strings.Contains(err.Error(), test.want) || (found.Where != "") != test.engine || found.HasImage {
			t.Errorf("%s: %+v (%v)", name, found, err)
		}
	}
	if len(e.containers) > 0 || e.pulls > 0 {
		t.Errorf("Check created %d containers and pulled %d times", len(e.containers), e.pulls)
	}
}
