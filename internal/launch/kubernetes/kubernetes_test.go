package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
	"standin/internal/testing/launchtest"
)

// harness is a Kubernetes launcher under test, with the test's own client of
// the cluster, through which the test acts as the nodes.
type harness struct {
	launchtest.Harness
	launcher *kubernetes.Launcher
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
	h.Launcher, h.launcher, h.instance = launcher, launcher, settings.Instance
	h.address = config.Host + "/api/v1/namespaces/" + namespace + "/pods"
	if h.client, err = rest.HTTPClientFor(asNodes(config)); err != nil {
		t.Fatal(err)
	}
	return h
}

// instance sets the instance.
func instance(name string) func(*kubernetes.Settings) {
	return func(s *kubernetes.Settings) { s.Instance = name }
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
	for deadline := time.Now().Add(launchtest.Timeout); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		for name := range h.pods(t, a) {
			return name
		}
	}
	t.Fatal("the bot has no pod")
	return ""
}

// setStatus sets the status of an attempt's pod, as its node would.
func (h *harness) setStatus(t *testing.T, a launch.Assignment, status string) {
	t.Helper()
	h.do(t, http.MethodPatch, "/"+h.pod(t, a)+"/status", object{"status": json.RawMessage(status)})
}

// run sets the status of an attempt's pod to running.
func (h *harness) run(t *testing.T, a launch.Assignment) {
	t.Helper()
	h.setStatus(t, a, running)
	h.Expect(t, a, launch.Running)
}

// launch starts a bot and stops it when the test ends.
func (h *harness) launch(t *testing.T, a launch.Assignment) {
	t.Helper()
	t.Cleanup(func() { h.stop(t, a) })
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// stop stops a bot and acts as its node.
func (h *harness) stop(t *testing.T, a launch.Assignment) {
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
	for name, test := range map[string]func(*testing.T, *rest.Config){
		"launch and stop":   testLaunchAndStop,
		"starting reasons":  testStartingReasons,
		"exit reasons":      testExitReasons,
		"duplicate launch":  testDuplicate,
		"restart":           testRestart,
		"removed by others": testRemovedByOthers,
		"clean-up":          testCleanUp,
		"unknown bot":       testUnknown,
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

// testLaunchAndStop: a bot starts, runs, and is gone after Stop.
func testLaunchAndStop(t *testing.T, config *rest.Config) {
	h, a := newHarness(t, config), launchtest.Assignment()
	h.launch(t, a)
	h.Expect(t, a, launch.Starting)
	h.run(t, a)
	h.stop(t, a)
	h.Expect(t, a, launch.Gone)
	if pods := h.pods(t, a); len(pods) > 0 {
		t.Errorf("pods are left: %v", pods)
	}
	h.stop(t, a) // again
	if state := h.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("the next attempt is %s", state)
	}
}

// testStartingReasons: the reason says what a starting bot waits for.
func testStartingReasons(t *testing.T, config *rest.Config) {
	for name, test := range startingStatuses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHarness(t, config), launchtest.Assignment()
			h.launch(t, a)
			h.setStatus(t, a, test.status)
			h.Expect(t, a, launch.Starting, test.words...)
			h.run(t, a)
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

// testDuplicate: repeated launches of an attempt, by one or two services, use the
// same Job, even after it has ended.
func testDuplicate(t *testing.T, config *rest.Config) {
	name := launchtest.NewInstance()
	one, two, a := newHarness(t, config, instance(name)), newHarness(t, config, instance(name)), launchtest.Assignment()
	one.launch(t, a)
	one.run(t, a)
	for _, h := range []*harness{one, two} {
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.Expect(t, a, launch.Running)
	}
	if pods := one.pods(t, a); len(pods) != 1 {
		t.Errorf("the attempt has the pods %v", pods)
	}
	one.setStatus(t, a, endStatuses["out of memory"].status)
	for _, h := range []*harness{one, two} {
		h.Expect(t, a, launch.Gone, "out of memory")
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.Expect(t, a, launch.Gone, "out of memory")
	}
}

// testRestart: a new launcher recognizes running bots and reads the results of
// ended ones.
func testRestart(t *testing.T, config *rest.Config) {
	name := launchtest.NewInstance()
	lives, failed, other := launchtest.Assignment(), launchtest.Assignment(), launchtest.Assignment()
	first := newHarness(t, config, instance(name))
	first.launch(t, lives)
	first.launch(t, failed)
	first.run(t, lives)
	first.run(t, failed)
	first.launcher.Close()
	first.setStatus(t, failed, endStatuses["failed"].status)
	newHarness(t, config).launch(t, other) // of another instance

	h := newHarness(t, config, instance(name))
	h.Expect(t, lives, launch.Running)
	h.Expect(t, failed, launch.Gone, endStatuses["failed"].words...)
	if state := h.State(other.JobID, other.Attempt); state != launch.NotStarted {
		t.Errorf("a bot of another instance is %s", state)
	}
}

// testRemovedByOthers: a bot whose pod was deleted is gone.
func testRemovedByOthers(t *testing.T, config *rest.Config) {
	h, a := newHarness(t, config), launchtest.Assignment()
	h.launch(t, a)
	h.run(t, a)
	h.do(t, http.MethodDelete, "/"+h.pod(t, a), object{"gracePeriodSeconds": 0})
	h.Expect(t, a, launch.Gone)
	if h.Reason(a.JobID, a.Attempt) == "" {
		t.Error("the reason is empty")
	}
}

// testCleanUp: Jobs of attempts that are over are removed, and no others.
func testCleanUp(t *testing.T, config *rest.Config) {
	name := launchtest.NewInstance()
	wanted, over := launchtest.Assignment(), launchtest.Assignment()
	first := newHarness(t, config, instance(name))
	first.launch(t, wanted)
	first.launch(t, over)
	first.run(t, wanted)
	first.pod(t, over)
	newHarness(t, config, instance(name), func(s *kubernetes.Settings) {
		s.IsWanted = func(_ context.Context, jobID uuid.UUID, _ int) (bool, error) { return jobID == wanted.JobID, nil }
	})
	first.Expect(t, over, launch.Gone)
	first.Expect(t, wanted, launch.Running)
}

// testUnknown: Stop of a bot that was never started does nothing.
func testUnknown(t *testing.T, config *rest.Config) {
	h, a := newHarness(t, config), launchtest.Assignment()
	h.Expect(t, a, launch.NotStarted)
	h.stop(t, a)
}
