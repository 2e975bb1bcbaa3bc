package kubernetes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
)

const (
	secretToken = "5ec2e7"
	patience    = 60 * time.Second
)

// house is a launcher, what it tells of its bots, and the test's own way to
// the cluster, where it plays the nodes.
type house struct {
	*kubernetes.Launcher
	instance string
	changes  chan launch.Key
	client   *http.Client
	address  string
}

func newHouse(t *testing.T, config *rest.Config, change ...func(*kubernetes.Settings)) *house {
	t.Helper()
	h := &house{changes: make(chan launch.Key, 1000)}
	settings := kubernetes.Settings{
		Cluster: config, Namespace: namespace, Instance: "it" + uuid.NewString()[:8], Image: "registry.test/standin:1",
		User: 10001, Group: 10001, LeaveTime: 2 * time.Second, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Resources: kubernetes.Resources{CPURequest: resource.MustParse("500m"), MemoryLimit: resource.MustParse("2Gi"), Shm: resource.MustParse("1Gi")},
		OnChange:  func(jobID uuid.UUID, attempt int) { h.changes <- launch.Key{JobID: jobID, Attempt: attempt} },
	}
	for _, fn := range change {
		fn(&settings)
	}
	launcher, err := kubernetes.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(launcher.Close)
	h.Launcher, h.instance, h.address = launcher, settings.Instance, config.Host+"/api/v1/namespaces/"+namespace+"/pods"
	node := rest.CopyConfig(config)
	if token := asNodes(config); token != "" {
		node.BearerToken = token
	}
	if h.client, err = rest.HTTPClientFor(node); err != nil {
		t.Fatal(err)
	}
	return h
}

// instance gives a house the name of another's.
func instance(name string) func(*kubernetes.Settings) {
	return func(s *kubernetes.Settings) { s.Instance = name }
}

func assignment() launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 1, Token: secretToken, ServiceURL: "http://standin:8080", Platform: job.Meet,
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=9a55", DisplayName: "Standin", AutoLeave: job.DefaultAutoLeave(),
	}
}

// do asks the cluster for something about pods.
func (h *house) do(t *testing.T, method, path string, body any) []byte {
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
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 && response.StatusCode != http.StatusNotFound {
		t.Fatalf("%s %s: %s %v %s", method, path, response.Status, err, answer)
	}
	return answer
}

// pods are the names of an attempt's pods, and whether each is told to end.
func (h *house) pods(t *testing.T, a launch.Assignment) map[string]bool {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, DeletionTimestamp string }
		}
	}
	selector := fmt.Sprintf("?labelSelector=standin-instance=%s,standin-job=%s,standin-attempt=%d", h.instance, a.JobID, a.Attempt)
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
func (h *house) pod(t *testing.T, a launch.Assignment) string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(20 * time.Millisecond) {
		for name := range h.pods(t, a) {
			return name
		}
	}
	t.Fatal("the bot has no pod")
	return ""
}

// become has an attempt's pod be in the given status, as its node would tell.
func (h *house) become(t *testing.T, a launch.Assignment, status string) {
	t.Helper()
	h.do(t, http.MethodPatch, "/"+h.pod(t, a)+"/status", object{"status": json.RawMessage(status)})
}

// run has an attempt's pod run.
func (h *house) run(t *testing.T, a launch.Assignment) {
	t.Helper()
	h.become(t, a, running)
	h.expect(t, a, launch.Running)
}

// launch starts a bot that is ended with the test, by a node that does as it
// is told.
func (h *house) launch(t *testing.T, a launch.Assignment) {
	t.Helper()
	t.Cleanup(func() { h.stop(t, a) })
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// stop stops a bot, whose pods end when they are told to.
func (h *house) stop(t *testing.T, a launch.Assignment) {
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
			h.obey(t, a)
		}
	}
}

// obey ends the pods that are told to end.
func (h *house) obey(t *testing.T, a launch.Assignment) {
	t.Helper()
	for name, ends := range h.pods(t, a) {
		if ends {
			h.do(t, http.MethodDelete, "/"+name, object{"gracePeriodSeconds": 0})
		}
	}
}

// expect waits until a bot is in a state for a reason with the words.
func (h *house) expect(t *testing.T, a launch.Assignment, want launch.State, words ...string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		state, why := h.State(a.JobID, a.Attempt), h.Reason(a.JobID, a.Attempt)
		right := state == want
		for _, word := range words {
			right = right && strings.Contains(why, word)
		}
		if right {
			return
		}
		select {
		case <-h.changes:
		case <-time.After(20 * time.Millisecond): // losing sight of the cluster is no change of a bot
		case <-deadline:
			t.Fatalf("the bot is %s (%s), want %s (%s)", state, why, want, words)
		}
	}
}

// everyCluster runs tests that hold on any cluster.
func everyCluster(t *testing.T, config *rest.Config) {
	for name, test := range map[string]func(*testing.T, *rest.Config){
		"life of a bot":     testLife,
		"starts":            testStarts,
		"ends":              testEnds,
		"duplicate launch":  testDuplicate,
		"found again":       testFoundAgain,
		"removed by others": testRemovedByOthers,
		"reaped":            testReaped,
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

// testLife: a bot starts, runs, is stopped and gone, with nothing left.
func testLife(t *testing.T, config *rest.Config) {
	h, a := newHouse(t, config), assignment()
	h.launch(t, a)
	h.expect(t, a, launch.Starting)
	h.run(t, a)
	h.stop(t, a)
	h.expect(t, a, launch.Gone)
	if pods := h.pods(t, a); len(pods) > 0 {
		t.Errorf("pods are left: %v", pods)
	}
	h.stop(t, a) // again
	if state := h.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("the next attempt is %s", state)
	}
}

// testStarts: what a bot waits for is told in words that people understand,
// and one that gets it runs.
func testStarts(t *testing.T, config *rest.Config) {
	for name, test := range starts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHouse(t, config), assignment()
			h.launch(t, a)
			h.become(t, a, test.status)
			h.expect(t, a, launch.Starting, test.words...)
			h.run(t, a)
		})
	}
}

// testEnds: what became of a bot is told in words that people understand.
func testEnds(t *testing.T, config *rest.Config) {
	for name, test := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, a := newHouse(t, config), assignment()
			h.launch(t, a)
			h.become(t, a, test.status)
			h.expect(t, a, launch.Gone, test.words...)
		})
	}
}

// testDuplicate: an attempt has one Job, however often it is launched, and by
// whichever service; a launch that comes after its end starts nothing.
func testDuplicate(t *testing.T, config *rest.Config) {
	name := "it" + uuid.NewString()[:8]
	one, two, a := newHouse(t, config, instance(name)), newHouse(t, config, instance(name)), assignment()
	one.launch(t, a)
	one.run(t, a)
	for _, h := range []*house{one, two} {
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.expect(t, a, launch.Running)
	}
	if pods := one.pods(t, a); len(pods) != 1 {
		t.Errorf("the attempt has the pods %v", pods)
	}
	one.become(t, a, ends["out of memory"].status)
	for _, h := range []*house{one, two} {
		h.expect(t, a, launch.Gone, "out of memory")
		if err := h.Launch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.expect(t, a, launch.Gone, "out of memory")
	}
}

// testFoundAgain: bots outlive the service; the next one knows those that run
// and what became of those that do not.
func testFoundAgain(t *testing.T, config *rest.Config) {
	name := "it" + uuid.NewString()[:8]
	lives, failed, stranger := assignment(), assignment(), assignment()
	first := newHouse(t, config, instance(name))
	first.launch(t, lives)
	first.launch(t, failed)
	first.run(t, lives)
	first.run(t, failed)
	first.Close()
	first.become(t, failed, ends["failed"].status)
	newHouse(t, config).launch(t, stranger) // another instance's

	h := newHouse(t, config, instance(name))
	h.expect(t, lives, launch.Running)
	h.expect(t, failed, launch.Gone, ends["failed"].words...)
	if state := h.State(stranger.JobID, stranger.Attempt); state != launch.NotStarted {
		t.Errorf("a bot of another instance is %s", state)
	}
}

// testRemovedByOthers: a bot whose pod somebody deletes is gone.
func testRemovedByOthers(t *testing.T, config *rest.Config) {
	h, a := newHouse(t, config), assignment()
	h.launch(t, a)
	h.run(t, a)
	h.do(t, http.MethodDelete, "/"+h.pod(t, a), object{"gracePeriodSeconds": 0})
	h.expect(t, a, launch.Gone)
	if why := h.Reason(a.JobID, a.Attempt); why == "" {
		t.Error("nobody is told why")
	}
}

// testReaped: Jobs of attempts that are over are removed, and no others.
func testReaped(t *testing.T, config *rest.Config) {
	name := "it" + uuid.NewString()[:8]
	wanted, over := assignment(), assignment()
	first := newHouse(t, config, instance(name))
	first.launch(t, wanted)
	first.launch(t, over)
	first.run(t, wanted)
	first.pod(t, over)
	newHouse(t, config, instance(name), func(s *kubernetes.Settings) {
		s.IsWanted = func(_ context.Context, jobID uuid.UUID, _ int) (bool, error) { return jobID == wanted.JobID, nil }
	})
	first.expect(t, over, launch.Gone)
	first.expect(t, wanted, launch.Running)
}

// testUnknown: a bot that was never started is stopped without ado.
func testUnknown(t *testing.T, config *rest.Config) {
	h, a := newHouse(t, config), assignment()
	h.expect(t, a, launch.NotStarted)
	h.stop(t, a)
}
