package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/engines"
	"standin/internal/server/service"
)

// onDocker returns the settings of a service that runs bots on a Docker engine.
func onDocker(t *testing.T, host string) service.Settings {
	t.Helper()
	settings := contractSettings(t)
	settings.Launcher, settings.BotServiceURL = "docker", "http://standin.test:8080"
	settings.OpenEngine = engines.Settings{
		ContainerSettings: launch.ContainerSettings{Image: "registry.test/standin:1"}, Docker: docker.Settings{Host: host},
	}.Open
	return settings
}

// TestUnreachableEngine checks that a job fails if the engine stays unreachable.
func TestUnreachableEngine(t *testing.T) {
	t.Parallel()
	settings := onDocker(t, "unix:///nowhere/docker.sock")
	settings.Timeouts.Launch = 2 * time.Second
	h := openContractHarness(t, newContractCoverage(), settings)
	reply := h.awaitStatus(t, h.ada, h.create(t, h.ada, contractJob("")), job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) || !strings.Contains(detail, "could not be started within 2s") ||
		!strings.Contains(detail, "/nowhere/docker.sock") {
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
	settings.Timeouts.Launch = 2 * time.Second
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.ada, contractJob(""))
	reply := h.awaitStatus(t, h.ada, id, job.Failed)
	code, detail := reply.text(t, "failureCode"), reply.text(t, "failureDetail")
	if code != string(job.DispatchTimeout) ||
		!strings.Contains(detail, "could not be started within 2s: pull the bots' image registry.test/standin:1: ") ||
		!strings.Contains(detail, "manifest unknown") {
		t.Errorf("failed with %s: %s", code, detail)
	}
}
