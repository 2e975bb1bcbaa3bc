package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"standin/internal/testing/await"
)

// TestNode checks that a node gets bots only when all URLs answer from it.
func TestNode(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	var asked, patched atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /platform", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	taints := []map[string]string{{"key": "a", "effect": "NoSchedule"}, {"key": "standin.dev/unchecked", "effect": "NoSchedule"}}
	node := map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]string{"name": "n1", "resourceVersion": "7"}, "spec": map[string]any{"taints": taints},
	}
	mux.HandleFunc("/api/v1/nodes/n1", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			const want = `[{"op":"test","path":"/metadata/resourceVersion","value":"7"},{"op":"remove","path":"/spec/taints/1"}]`
			if string(body) != want || !ready.Load() {
				t.Errorf("patch %s while ready is %v", body, ready.Load())
			}
			if patched.Add(1) == 1 { // somebody else has changed the node
				w.WriteHeader(http.StatusConflict)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(node); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", 
		"clusters": [{"name": "c", "cluster": {"server": %q}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	reach := "--reach=" + server.URL
	command := exec.CommandContext(t.Context(), testedBinary(), "node", "--name=n1", reach+"/readyz", reach+"/platform")
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a second check", func() bool { return asked.Load() > 1 })
	ready.Store(true)
	await.Until(t, "the removed taint", func() bool { return patched.Load() > 1 })
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := command.Wait()
	for _, want := range []string{"/readyz answers with status 503", "bots may start"} {
		if err != nil || !strings.Contains(log.String(), want) {
			t.Errorf("%v, log %s, want %q", err, &log, want)
		}
	}
}
