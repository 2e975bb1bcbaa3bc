package kubernetes_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/testing/await"
	"standin/internal/testing/launchtest"
)

// Of the autoscaler's double.
const (
	nodeTime  = 3 * time.Minute  // from the order of a node until it runs pods
	scanTime  = 10 * time.Second // between two looks at the pods
	nodeCores = 16
)

// hourAhead is how long before joinAt the jobs are created.
const hourAhead = 6 * time.Minute

// TestReserve schedules the bots of a full hour with a real service, whose chart orders nodes ahead: API server, scheduler,
// garbage collector and the controllers of Deployments and of HorizontalPodAutoscalers are real, and KEDA, kubelets, bots and
// the autoscaler, whose nodes take three minutes, are doubles. No bot may wait for a node. Without the reserve, all do.
// STANDIN_TEST_RESERVE is the number of bots.
func TestReserve(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("STANDIN_TEST_RESERVE"))
	if n == 0 {
		t.Skip("set STANDIN_TEST_RESERVE=500, or run make hour")
	}
	for _, size := range []int{1, 4} {
		t.Run(fmt.Sprintf("placeholders of %d", size), func(t *testing.T) {
			r := startReserve(t)
			r.reserve(t, n, size)
			joinAt, most := time.Now().Add(hourAhead), n*23/25
			r.schedule(t, 0, most, joinAt)
			await.Until(t, "the placeholders", func() bool { return size*r.placeholders() >= most })
			r.schedule(t, most, n, joinAt) // less than what a HorizontalPodAutoscaler tolerates
			late := r.hour(t, joinAt, n)
			if len(r.waited) > 0 || late > time.Minute {
				t.Errorf("%d bots waited for nodes; the last bot was %s late", len(r.waited), late)
			}
		})
	}
	t.Run("without", func(t *testing.T) {
		r := startReserve(t)
		joinAt := time.Now().Add(time.Minute)
		r.schedule(t, 0, n, joinAt)
		if late := r.hour(t, joinAt, n); len(r.waited) != n || late < nodeTime {
			t.Errorf("%d bots waited for nodes; the last bot was %s late", len(r.waited), late)
		}
	})
}

// reserved is a service, the bots of its jobs, and the autoscaler of their cluster.
type reserved struct {
	*kubelets
	run     func(part string, flags ...string)
	host    string // of the cluster
	service string // URL
	key     string // of a consumer
	joinAt  time.Time

	mu      sync.Mutex
	joined  map[string]time.Duration // after joinAt, by job
	waited  map[string]bool          // bots' pods for which nodes were ordered
	ordered int                      // nodes
	coming  int
}

const appLabel = "app.kubernetes.io/name"

const reserveSecret = "a-secret-for-the-tests-of-the-reserve"

// startReserve starts a cluster without nodes, and a service.
func startReserve(t *testing.T) *reserved {
	t.Helper()
	host, run := startCluster(t,
		"garbage-collector-controller,pod-garbage-collector-controller,deployment-controller,replicaset-controller")
	r := &reserved{run: run, host: host, joined: make(map[string]time.Duration), waited: make(map[string]bool)}
	r.kubelets = newKubelets(t, deployTo(t, host), func(pod *corev1.Pod) {
		if pod.Labels[launch.LabelJob] != "" {
			r.work.Go(func() { r.bot(t.Context(), pod.Labels[launch.LabelJob], pod.Labels[launch.LabelAttempt]) })
		}
	})
	deployments := r.cluster.AppsV1().Deployments(namespace) // of the manifests: the service runs outside
	if err := deployments.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "no pods", func() bool { return len(r.all()) == 0 })
	run("scheduler", "--kube-api-qps=1000", "--kube-api-burst=1000")
	r.work.Go(func() { r.autoscale(t.Context()) })

	dir := t.TempDir()
	binary := filepath.Join(dir, "standin")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "standin/cmd/standin").CombinedOutput(); err != nil {
		t.Fatalf("build standin: %v\n%s", err, out)
	}
	address := launchtest.FreeAddress(t)
	r.service = "http://" + address
	for name, value := range map[string]string{
		"DATA_DIR": filepath.Join(dir, "data"), "LISTEN": address, "LAUNCHER": "kubernetes", "BOT_IMAGE": "registry.test/standin:1",
		"BOT_SERVICE_URL": r.service, "INGEST_SIGNING_KEY": reserveSecret, "METRICS_SECRET": reserveSecret,
		"KUBERNETES_NAMESPACE":  namespace,
		"KUBERNETES_KUBECONFIG": writeFile(t, filepath.Join(dir, "kubeconfig"), kubeconfigOf(host, serviceToken), 0o600),
	} {
		t.Setenv("STANDIN_"+name, value)
	}
	out, err := exec.CommandContext(t.Context(), binary, "keys", "create", "--consumer", "tests").Output()
	if err != nil {
		t.Fatal("create a key", err)
	}
	r.key = strings.TrimSpace(string(out))
	begin(t, binary, "serve")
	await.Until(t, "the service", func() bool { _, err := r.send(t.Context(), http.MethodGet, "/readyz", "", nil); return err == nil })
	return r
}

// send sends a request to the service.
func (r *reserved) send(ctx context.Context, method, path, token string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.service+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return text, err
}

// schedule creates the jobs from a number to another.
func (r *reserved) schedule(t *testing.T, from, to int, joinAt time.Time) {
	t.Helper()
	r.joinAt = joinAt
	var group errgroup.Group
	group.SetLimit(8)
	for i := from; i < to; i++ {
		group.Go(func() error {
			_, err := r.send(t.Context(), http.MethodPost, "/api/v1/jobs", r.key, object{
				"externalId": fmt.Sprint("meeting ", i), "joinAt": joinAt,
				"meetingUrl": fmt.Sprint("https://zoom.us/j/", 90_000_000_000+i),
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// bot sends heartbeats, and joins its meeting at joinAt.
func (r *reserved) bot(ctx context.Context, id, attempt string) {
	number, _ := strconv.Atoi(attempt)
	token := ingest.Token([]byte(reserveSecret), id, number)
	joins := time.After(time.Until(r.joinAt))
	beats := time.NewTicker(5 * time.Second)
	defer beats.Stop()
	for {
		_, _ = r.send(ctx, http.MethodPost, ingest.HeartbeatPath, token, object{"jobId": id, "attempt": number, "stats": object{}})
		select {
		case <-beats.C:
		case <-ctx.Done():
			return
		case <-joins:
			for _, kind := range []job.Trigger{job.BotJoined, job.BotInMeeting, job.BotRecordingStarted} {
				event := object{"kind": kind, "jobId": id, "attempt": number, "emittedAt": time.Now(), "data": object{}}
				for ctx.Err() == nil {
					if _, err := r.send(ctx, http.MethodPost, ingest.EventPath, token, event); err == nil {
						break
					}
					<-beats.C
				}
			}
			r.mu.Lock()
			r.joined[id] = time.Since(r.joinAt)
			r.mu.Unlock()
		}
	}
}

// autoscale orders nodes for pods that the scheduler finds none for.
func (r *reserved) autoscale(ctx context.Context) {
	scans := time.NewTicker(scanTime)
	defer scans.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-scans.C:
		}
		need := 0.0 // nodes
		for _, pod := range r.all() {
			delay, _ := time.ParseDuration(pod.Annotations["cluster-autoscaler.kubernetes.io/pod-scale-up-delay"])
			if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
			}) || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" || time.Since(pod.CreationTimestamp.Time) < delay {
				continue
			}
			cores := int64(0)
			for _, container := range pod.Spec.Containers {
				cores += container.Resources.Requests.Cpu().Value()
			}
			need += 1 / float64(nodeCores/max(1, cores))
			if id := pod.Labels[launch.LabelJob]; id != "" {
				r.mu.Lock()
				r.waited[id] = true
				r.mu.Unlock()
			}
		}
		r.mu.Lock()
		for ; need > float64(r.coming); r.coming++ {
			number := r.ordered
			r.ordered++
			time.AfterFunc(nodeTime, func() {
				_ = r.addNode(ctx, number, strconv.Itoa(nodeCores))
				r.mu.Lock()
				r.coming--
				r.mu.Unlock()
			})
		}
		r.mu.Unlock()
	}
}

// all returns the cluster's pods.
func (r *reserved) all() []corev1.Pod {
	r.kubelets.mu.Lock()
	defer r.kubelets.mu.Unlock()
	pods := make([]corev1.Pod, 0, len(r.pods))
	for _, pod := range r.pods {
		pods = append(pods, pod)
	}
	return pods
}

// placeholders returns how many placeholders there are, with or without nodes.
func (r *reserved) placeholders() (n int) {
	for _, pod := range r.all() {
		if pod.Labels[appLabel] == "standin-reserve" {
			n++
		}
	}
	return n
}

// hour follows the cluster until all bots are in their meetings, and a minute longer. It returns how late the last one was.
func (r *reserved) hour(t *testing.T, joinAt time.Time, n int) (late time.Duration) {
	t.Helper()
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	line, before, end := "", 0, time.Time{}
	for end.IsZero() || time.Now().Before(end) {
		<-seconds.C
		var all, run [2]int // of placeholders, and of bots
		for _, pod := range r.all() {
			at := slices.Index([]string{"standin-reserve", "standin-bot"}, pod.Labels[appLabel])
			if at < 0 {
				continue // of the service
			}
			if all[at]++; pod.Status.Phase == corev1.PodRunning {
				run[at]++
			}
		}
		r.mu.Lock()
		if time.Now().Before(joinAt) {
			before = r.ordered
		}
		now := fmt.Sprintf("placeholders %d, run %d; bots %d, run %d, joined %d; nodes ordered %d, coming %d",
			all[0], run[0], all[1], run[1], len(r.joined), r.ordered, r.coming)
		if now != line {
			t.Logf("%5.0f s: %s", time.Since(joinAt).Seconds(), now)
		}
		line = now
		if end.IsZero() && len(r.joined) == n {
			end = time.Now().Add(time.Minute)
		}
		r.mu.Unlock()
		if time.Since(joinAt) > 2*nodeTime {
			t.Fatal("not all bots joined")
		}
	}
	metrics, err := r.send(t.Context(), http.MethodGet, "/metrics", reserveSecret, nil)
	if err != nil || !strings.Contains(string(metrics), fmt.Sprintf("standin_jobs{status=\"recording_started\"} %d\n", n)) {
		t.Errorf("not all jobs record (%v): %s", err, metrics)
	}
	for id, pods := range r.runs() {
		if len(pods) > 1 {
			t.Errorf("job %s runs twice: %v", id, pods)
		}
	}
	times := make([]time.Duration, 0, n)
	for _, after := range r.joined {
		times = append(times, after)
	}
	slices.Sort(times)
	late = times[len(times)-1]
	t.Logf("%d bots: half join %.1f s after joinAt, 99%% %.1f s, all %.1f s; nodes: %d ordered before, %d after",
		n, times[n/2].Seconds(), times[n*99/100].Seconds(), late.Seconds(), before, r.ordered-before)
	return late
}

// reserve installs the placeholders of the chart, whose number the controller of HorizontalPodAutoscalers sets by the service's
// metrics, as KEDA reads them.
func (r *reserved) reserve(t *testing.T, n, size int) {
	t.Helper()
	var scaled struct {
		Spec struct {
			MaxReplicaCount int32
			Triggers        []struct{ Metadata map[string]string }
			Advanced        struct {
				HorizontalPodAutoscalerConfig struct {
					Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
				}
			}
		}
	}
	ctx, name := t.Context(), ""
	for document := range renderChart(t, namespace, fmt.Sprintf("reserve: {enabled: true, max: %d, botsPerPlaceholder: %d}", 2*n, size)) {
		class, reserve, err := new(schedulingv1.PriorityClass), new(appsv1.Deployment), error(nil)
		switch {
		case strings.Contains(document, "kind: ScaledObject"):
			err = yaml.Unmarshal([]byte(document), &scaled)
		case strings.Contains(document, "kind: PriorityClass"):
			if err = yaml.Unmarshal([]byte(document), class); err == nil {
				_, err = r.cluster.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
			}
		case strings.Contains(document, "kind: Deployment") && strings.Contains(document, "-reserve\n"):
			if err = yaml.Unmarshal([]byte(document), reserve); err == nil {
				name = reserve.Name
				_, err = r.cluster.AppsV1().Deployments(namespace).Create(ctx, reserve, metav1.CreateOptions{})
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
	}
	trigger := scaled.Spec.Triggers[0].Metadata
	target := resource.MustParse(trigger["targetValue"])
	_, err := r.cluster.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "keda-hpa-" + name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MinReplicas:    new(int32(1)), MaxReplicas: scaled.Spec.MaxReplicaCount,
			Behavior: scaled.Spec.Advanced.HorizontalPodAutoscalerConfig.Behavior,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "s0-metrics-api"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &target},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	host, err := url.Parse(r.host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(host)
	proxy.Transport, proxy.FlushInterval = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, -1
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !strings.HasPrefix(request.URL.Path, "/apis/external.metrics.k8s.io/") {
			proxy.ServeHTTP(w, request)
			return
		}
		metrics, _ := r.send(request.Context(), http.MethodGet, "/metrics", reserveSecret, nil)
		_, after, _ := strings.Cut(string(metrics), "\n"+trigger["valueLocation"]+" ")
		value, _, _ := strings.Cut(after, "\n")
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{
			"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": object{}, "items": []object{{
				"metricName": "s0-metrics-api", "metricLabels": object{}, "timestamp": time.Now().UTC().Format(time.RFC3339),
				"value": cmp.Or(value, "0"),
			}},
		})
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.run("controllers", "--controllers", "horizontal-pod-autoscaler-controller", "--master", server.URL)
}
