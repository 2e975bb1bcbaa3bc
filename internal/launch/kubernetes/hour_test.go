package kubernetes_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
	"standin/internal/testing/launchtest"
)

// calls is how many bots a node's dispatcher launches at once.
const calls = 64

// TestHour launches the bots of a full hour at one instant on a real API server, scheduler and garbage collector, with a
// double of the kubelets, one of which dies when half of the bots run. Its bots are launched again, as the dispatcher does when
// their heartbeats end. What the machine allows is measured beside it: plain pods, created by as many callers. STANDIN_TEST_HOUR
// lists the numbers of bots.
func TestHour(t *testing.T) {
	sizes := os.Getenv("STANDIN_TEST_HOUR")
	if sizes == "" {
		t.Skip("set STANDIN_TEST_HOUR=500,1000,5000, or run make hour")
	}
	for size := range strings.SplitSeq(sizes, ",") {
		t.Run(size, func(t *testing.T) {
			n, err := strconv.Atoi(size)
			if err != nil {
				t.Fatal(err)
			}
			testHour(t, n)
		})
		t.Run(size+" plain pods", func(t *testing.T) {
			n, _ := strconv.Atoi(size)
			testPlainPods(t, n)
		})
	}
}

func testHour(t *testing.T, n int) {
	config, k := startNodes(t, n/50+2)
	h := &hour{kubelets: k}
	h.running, h.changed = make(map[launch.Key]time.Time), make(chan struct{}, 1)
	harness := newHarness(t, config, func(s *kubernetes.Settings) {
		s.LeaveTime, s.LostAfter = time.Second, time.Second
		s.OnChange = func(jobID uuid.UUID, attempt int) { h.changedTo(launch.Key{JobID: jobID, Attempt: attempt}) }
	})
	h.mu.Lock()
	h.launcher = harness.RemoteLauncher
	h.mu.Unlock()
	bots := make([]launch.Assignment, n)
	for i := range bots {
		bots[i] = launchtest.Assignment()
	}
	harness.Expect(t, bots[0], launch.NotStarted) // the launcher is connected

	began := time.Now()
	launchAll(t, h.launcher, bots)
	launched := time.Since(began)
	h.await(t, func() int { return n / 2 })
	k.kill(t)
	// Those of the dead node that ran have been counted too, so this may be early. The scheduler may give it more.
	h.await(t, func() int { return n - len(k.lostJobs()) })
	lost := k.lostJobs()
	var again []launch.Assignment
	for i := range bots {
		if slices.Contains(lost, bots[i].JobID) {
			next := bots[i]
			next.Attempt++
			again = append(again, next)
		}
	}
	var stops errgroup.Group
	stops.SetLimit(calls)
	for _, a := range again {
		stops.Go(func() error { return h.launcher.Stop(t.Context(), a.JobID, a.Attempt-1) })
	}
	if err := stops.Wait(); err != nil {
		t.Fatal(err)
	}
	launchAll(t, h.launcher, again)
	k.awaitAll(t, bots)
	for id, pods := range k.runs() {
		if len(pods) > 1 {
			t.Errorf("job %s runs twice: %v", id, pods)
		}
	}
	times := h.times(began)
	t.Logf("%d bots: launched in %.1f s; running: half after %.1f s, 99%% after %.1f s, all of the first attempts after %.1f s; "+
		"%d bots of a dead node run again; all run after %.1f s", n, launched.Seconds(), times[len(times)/2], times[len(times)*99/100],
		times[len(times)-1], len(again), time.Since(began).Seconds())
}

// testPlainPods measures how long as many pods take that nothing but the test creates.
func testPlainPods(t *testing.T, n int) {
	_, k := startNodes(t, n/50+2)
	began := time.Now()
	var group errgroup.Group
	group.SetLimit(calls)
	bots := make([]launch.Assignment, n)
	for i := range bots {
		bots[i] = launchtest.Assignment()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: bots[i].JobID.String(), Labels: map[string]string{launch.LabelJob: bots[i].JobID.String()}},
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: new(false),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(10001)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{Name: "bot", Image: "registry.test/standin:1", SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				}}},
			},
		}
		group.Go(func() error {
			_, err := k.cluster.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	k.awaitAll(t, bots)
	t.Logf("%d plain pods: all run after %.1f s", n, time.Since(began).Seconds())
}

// startNodes starts a cluster with a scheduler, and with nodes for 110 bots each.
func startNodes(t *testing.T, n int) (*rest.Config, *kubelets) {
	t.Helper()
	host, run := startCluster(t, "garbage-collector-controller,pod-garbage-collector-controller")
	config := deployTo(t, host)
	k := newKubelets(t, config, func(*corev1.Pod) {})
	for i := range n {
		if err := k.addNode(t.Context(), i, "128"); err != nil {
			t.Fatal(err)
		}
	}
	run("scheduler", "--kube-api-qps=1000", "--kube-api-burst=1000")
	return config, k
}

// awaitAll waits until the bot of each job runs on a living node.
func (k *kubelets) awaitAll(t *testing.T, bots []launch.Assignment) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	for missing := k.missing(bots); missing > 0; missing = k.missing(bots) {
		select {
		case <-k.news:
		case <-deadline:
			t.Fatalf("%d of %d bots do not run", missing, len(bots))
		}
	}
}

// launchAll launches bots as a node's dispatcher does.
func launchAll(t *testing.T, launcher launch.Launcher, bots []launch.Assignment) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(calls)
	for _, a := range bots {
		group.Go(func() error { return launcher.Launch(t.Context(), a) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// hour is what the launcher has told.
type hour struct {
	launcher launch.Launcher
	kubelets *kubelets
	mu       sync.Mutex
	running  map[launch.Key]time.Time
	changed  chan struct{}
}

func (h *hour) changedTo(key launch.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.launcher == nil || h.launcher.State(key.JobID, key.Attempt) != launch.Running {
		return
	}
	if h.running[key].IsZero() {
		h.running[key] = time.Now()
	}
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// await waits until a number of bots have run.
func (h *hour) await(t *testing.T, want func() int) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	for {
		h.mu.Lock()
		have := len(h.running)
		h.mu.Unlock()
		if have >= want() {
			return
		}
		select {
		case <-h.changed:
		case <-deadline:
			h.kubelets.mu.Lock()
			for name, pod := range h.kubelets.pods {
				attempt, _ := strconv.Atoi(pod.Labels[launch.LabelAttempt])
				key := launch.Key{JobID: uuid.MustParse(pod.Labels[launch.LabelJob]), Attempt: attempt}
				if h.running[key].IsZero() {
					t.Logf("%s on %q is %v: %+v", name, pod.Spec.NodeName, h.launcher.State(key.JobID, attempt), pod.Status)
				}
			}
			h.kubelets.mu.Unlock()
			t.Fatalf("%d of %d bots run", have, want())
		}
	}
}

// times returns the seconds after which first attempts ran.
func (h *hour) times(began time.Time) []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var times []float64
	for key, at := range h.running {
		if key.Attempt == 1 {
			times = append(times, at.Sub(began).Seconds())
		}
	}
	slices.Sort(times)
	return times
}

// kubelets are doubles of the cluster's nodes: they report that a pod's container is created, and that it runs, and remove pods
// that are deleted.
type kubelets struct {
	cluster *clientset.Clientset
	work    sync.WaitGroup
	calls   chan struct{} // of this double at once
	news    chan struct{} // a pod has changed
	started func(*corev1.Pod)

	mu   sync.Mutex
	dead string                // a node that does nothing any more
	lost map[uuid.UUID]bool    // jobs whose pods are or were on it
	pods map[string]corev1.Pod // by name
}

// newKubelets returns kubelets that work until the test ends, and call started with each pod that runs.
func newKubelets(t *testing.T, config *rest.Config, started func(*corev1.Pod)) *kubelets {
	t.Helper()
	config = rest.CopyConfig(asNodes(config))
	config.QPS = -1 // no limit
	k := &kubelets{
		cluster: clientset.NewForConfigOrDie(config), started: started, pods: make(map[string]corev1.Pod), lost: make(map[uuid.UUID]bool),
		calls: make(chan struct{}, 32), news: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(context.Background())
	k.work.Go(func() {
		for ctx.Err() == nil {
			k.follow(ctx)
		}
	})
	t.Cleanup(func() { stop(); k.work.Wait() })
	return k
}

// addNode creates a node.
func (k *kubelets) addNode(ctx context.Context, number int, cores string) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cores), corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", number)}}
	node, err := k.cluster.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	node.Status = corev1.NodeStatus{Capacity: capacity, Allocatable: capacity, Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}}
	if node, err = k.cluster.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	node.Spec.Taints = nil // the API server's, until a controller finds the node ready
	_, err = k.cluster.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// follow reads all pods, and then their changes until the API server ends the watch.
func (k *kubelets) follow(ctx context.Context) {
	pods := k.cluster.CoreV1().Pods(namespace)
	all, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	k.mu.Lock()
	clear(k.pods)
	k.mu.Unlock()
	for i := range all.Items {
		k.changed(&all.Items[i], false)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: all.ResourceVersion})
	if err != nil {
		return
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if pod, ok := event.Object.(*corev1.Pod); ok {
			k.changed(pod, event.Type == watch.Deleted)
		}
	}
}

// changed notes a pod, and lets its node act.
func (k *kubelets) changed(pod *corev1.Pod, deleted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default: // there is some already
	}
	if k.pods[pod.Name] = *pod; deleted {
		delete(k.pods, pod.Name)
	}
	switch {
	case pod.Spec.NodeName == "":
	case pod.Spec.NodeName == k.dead:
		k.lost[uuid.MustParse(pod.Labels[launch.LabelJob])] = true
	case !deleted:
		k.work.Go(func() { k.sync(pod) })
	}
}

// sync does what a kubelet does next for a pod.
func (k *kubelets) sync(pod *corev1.Pod) {
	k.calls <- struct{}{}
	defer func() { <-k.calls }()
	ctx, pods, status := context.Background(), k.cluster.CoreV1().Pods(namespace), ""
	switch {
	case pod.DeletionTimestamp != nil:
		_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		return
	case len(pod.Status.ContainerStatuses) == 0:
		status = waiting("ContainerCreating", "")
	case pod.Status.Phase == corev1.PodPending:
		status = running
	default:
		return
	}
	err := retry.OnError(retry.DefaultBackoff, func(err error) bool { return !apierrors.IsNotFound(err) }, func() error {
		_, err := pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status": `+status+`}`), metav1.PatchOptions{}, "status")
		return err
	})
	if err == nil && status == running {
		k.started(pod)
	}
}

// kill ends a node with bots: it does nothing more, and the cluster is told.
func (k *kubelets) kill(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	for _, pod := range k.pods {
		k.dead = cmp.Or(k.dead, pod.Spec.NodeName)
	}
	for _, pod := range k.pods {
		if pod.Spec.NodeName == k.dead {
			k.lost[uuid.MustParse(pod.Labels[launch.LabelJob])] = true
		}
	}
	k.mu.Unlock()
	if err := k.cluster.CoreV1().Nodes().Delete(t.Context(), k.dead, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// lostJobs returns the jobs whose pods are or were on the dead node.
func (k *kubelets) lostJobs() []uuid.UUID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.lost))
}

// runs returns the pods that run on living nodes, by job.
func (k *kubelets) runs() map[uuid.UUID][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	runs := make(map[uuid.UUID][]string)
	for name, pod := range k.pods {
		if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != k.dead && pod.Labels[launch.LabelJob] != "" {
			id := uuid.MustParse(pod.Labels[launch.LabelJob])
			runs[id] = append(runs[id], name)
		}
	}
	return runs
}

// missing returns how many bots do not run.
func (k *kubelets) missing(bots []launch.Assignment) int {
	runs := k.runs()
	missing := 0
	for _, a := range bots {
		if len(runs[a.JobID]) == 0 {
			missing++
		}
	}
	return missing
}
