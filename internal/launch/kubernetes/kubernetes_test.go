package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
	"standin/internal/testing/await"
	"standin/internal/testing/launchtest"
)

// harness is a Kubernetes launcher under test, with the test's own client of
// the cluster, through which the test acts as the nodes.
type harness struct {
	launchtest.Harness
	instance string
	client   *http.Client
	address  string
}

func newHarness(t *testing.T, config *rest.Config, change ...func(*kubernetes.Settings)) *harness {
	t.Helper()
	h := new(harness)
	settings := kubernetes.Settings{
		RemoteSettings: h.Settings("registry.test/standin:1"), Cluster: config, Namespace: namespace,
		CPURequest: resource.MustParse("500m"),
	}
	settings.MemoryLimit = resource.MustParse("2Gi")
	for _, fn := range change {
		fn(&settings)
	}
	launcher, err := kubernetes.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(launcher.Close)
	h.RemoteLauncher, h.instance = launcher, settings.Instance
	h.address = config.Host + "/api/v1/namespaces/" + namespace + "/pods"
	if h.client, err = rest.HTTPClientFor(asNodes(config)); err != nil {
		t.Fatal(err)
	}
	return h
}

// do sends a request about pods to the cluster.
func (h *harness) do(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, h.address+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := h.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 && response.StatusCode != http.StatusNotFound {
		t.Fatalf("%s %s: %s %v %s", method, path, response.Status, err, content)
	}
	return content
}

// pods returns the names of an attempt's pods, and whether each is being deleted.
func (h *harness) pods(t *testing.T, a launch.Assignment) map[string]bool {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, DeletionTimestamp string }
		}
	}
	selector := fmt.Sprintf("?labelSelector=standin.instance=%s,standin.job=%s,standin.attempt=%d", h.instance, a.JobID, a.Attempt)
	if err := json.Unmarshal(h.do(t, http.MethodGet, selector, nil), &list); err != nil {
		t.Fatal(err)
	}
	pods := make(map[string]bool)
	for _, item := range list.Items {
		pods[item.Metadata.Name] = item.Metadata.DeletionTimestamp != ""
	}
	return pods
}

// pod waits for an attempt's pod.
func (h *harness) pod(t *testing.T, a launch.Assignment) string {
	t.Helper()
	var names []string
	await.Until(t, "the bot's pod", func() bool { names = slices.Collect(maps.Keys(h.pods(t, a))); return len(names) > 0 })
	if len(names) > 1 {
		t.Fatalf("the attempt has the pods %v", names)
	}
	return names[0]
}

// setStatus sets the status of an attempt's pod, as its node would.
func (h *harness) setStatus(t *testing.T, a launch.Assignment, status string) {
	t.Helper()
	h.do(t, http.MethodPatch, "/"+h.pod(t, a)+"/status", object{"status": json.RawMessage(status)})
}

// Run sets the status of an attempt's pod to running.
func (h *harness) Run(t *testing.T, a launch.Assignment) {
	t.Helper()
	h.setStatus(t, a, running)
	h.Expect(t, a, launch.Running)
}

// Fail ends an attempt's pod.
func (h *harness) Fail(t *testing.T, a launch.Assignment) {
	t.Helper()
	h.setStatus(t, a, endStatuses["failed"].status)
}

// launch starts a bot and stops it when the test ends.
func (h *harness) launch(t *testing.T, a launch.Assignment) {
	t.Helper()
	t.Cleanup(func() { h.End(t, a) })
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// End stops a bot and acts as its node.
func (h *harness) End(t *testing.T, a launch.Assignment) {
	t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop(context.Background(), a.JobID, a.Attempt) }()
	for {
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			h.endPods(t, a)
		}
	}
}

// endPods removes the pods that are being deleted.
func (h *harness) endPods(t *testing.T, a launch.Assignment) {
	t.Helper()
	for name, ends := range h.pods(t, a) {
		if ends {
			h.do(t, http.MethodDelete, "/"+name, object{"gracePeriodSeconds": 0})
		}
	}
}

// everyCluster runs the tests that any cluster must pass.
func everyCluster(t *testing.T, config *rest.Config) {
	launchtest.Run(t, func(t *testing.T, change ...func(*launch.RemoteSettings)) launchtest.Bots {
		return newHarness(t, config, func(s *kubernetes.Settings) {
			for _, fn := range change {
				fn(&s.RemoteSettings)
			}
		})
	}, endStatuses["failed"].words...)
	for name, test := range map[string]func(*testing.T, *rest.Config){
		"starting reasons":  testStartingReasons,
		"exit reasons":      testExitReasons,
		"removed by others": testRemovedByOthers,
		"check":             testCheck,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, config)
		})
	}
}

func TestFakeCluster(t *testing.T) {
	t.Parallel()
	everyCluster(t, newFakeCluster(t).config())
}

// testStartingReasons: the reason says what a starting bot waits for. Nothing is left when it has run.
func testStartingReasons(t *testing.T, config *rest.Config) {
	for name, test := range startingStatuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHarness(t, config), launchtest.Assignment()
			h.launch(t, a)
			h.setStatus(t, a, test.status)
			h.Expect(t, a, launch.Starting, test.words...)
			h.Run(t, a)
			h.End(t, a)
			if pods := h.pods(t, a); len(pods) > 0 {
				t.Errorf("pods are left: %v", pods)
			}
		})
	}
}

// testExitReasons: the reason says how a bot ended.
func testExitReasons(t *testing.T, config *rest.Config) {
	for name, test := range endStatuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHarness(t, config), launchtest.Assignment()
			h.launch(t, a)
			h.setStatus(t, a, test.status)
			h.Expect(t, a, launch.Gone, test.words...)
		})
	}
}

// testRemovedByOthers: a bot whose pod was deleted is gone.
func testRemovedByOthers(t *testing.T, config *rest.Config) {
	h, a := newHarness(t, config), launchtest.Assignment()
	h.launch(t, a)
	h.Run(t, a)
	h.do(t, http.MethodDelete, "/"+h.pod(t, a), object{"gracePeriodSeconds": 0})
	h.Expect(t, a, launch.Gone)
	if h.Reason(a.JobID, a.Attempt) == "" {
		t.Error("the reason is empty")
	}
}
