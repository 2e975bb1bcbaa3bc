package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
)

// onFake is a house on a fake cluster of its own.
func onFake(t *testing.T, change ...func(*kubernetes.Settings)) (*house, *fakeCluster) {
	t.Helper()
	cluster := newFakeCluster(t)
	return newHouse(t, cluster.config(), change...), cluster
}

// read decodes an object that a cluster has.
func (c *fakeCluster) read(t *testing.T, resource, prefix string, into any) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, o := range c.objects {
		if strings.HasPrefix(name, resource+"/"+prefix) {
			encoded, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(encoded, into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("there are no %s called %s", resource, prefix)
}

// TestPod: a bot's pod has what a bot needs and nothing else, it keeps to the
// restricted Pod Security Standard whatever the template says, and nothing
// secret is to be seen on it.
func TestPod(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "template.yaml")
	err := os.WriteFile(path, []byte(`
metadata:
  labels: {team: meetings, standin-job: forged}
spec:
  hostNetwork: true
  serviceAccountName: admin
  nodeSelector: {bots: "yes"}
  volumes: [{name: sign-in, secret: {secretName: cookies}}]
  containers:
  - name: bot
    securityContext: {privileged: true}
    volumeMounts: [{name: sign-in, mountPath: /srv/sign-in, readOnly: true}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	template, err := kubernetes.ReadPodTemplate(path)
	if err != nil {
		t.Fatal(err)
	}
	h, cluster := onFake(t, func(s *kubernetes.Settings) {
		s.Instance, s.Template, s.Seccomp = "i1", template, "profiles/standin.json"
		s.Bot = launch.BotSettings{SignIn: "/srv/sign-in", ZoomSDK: launch.ZoomSDK{Key: "sdk key", Secret: "sdk secret"}}
	})
	a := assignment()
	h.launch(t, a)
	name := fmt.Sprintf("standin-i1-%s-1", a.JobID)
	var job batchv1.Job
	var pod corev1.Pod
	var secret corev1.Secret
	cluster.read(t, "jobs", name, &job)
	cluster.read(t, "pods", name, &pod)
	cluster.read(t, "secrets", name, &secret)

	shown, err := json.Marshal([]any{job, pod})
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{secretToken, "9a55", "sdk secret"} { // 9a55 is the meeting's passcode
		if strings.Contains(string(shown), hidden) {
			t.Errorf("%q is to be seen on the pod: %s", hidden, shown)
		}
		if !strings.Contains(string(secret.Data["task"]), hidden) {
			t.Errorf("%q is not in the bot's task", hidden)
		}
	}
	if len(job.Name) > 63 {
		t.Errorf("the name %s is too long for a label", job.Name)
	}
	owners := secret.OwnerReferences
	spec, bot := pod.Spec, pod.Spec.Containers[0]
	for what, right := range map[string]bool{
		"one pod, once":      *job.Spec.BackoffLimit == 0 && *job.Spec.Completions == 1 && *job.Spec.Parallelism == 1 && spec.RestartPolicy == corev1.RestartPolicyNever,
		"time":               *job.Spec.TTLSecondsAfterFinished == 3600 && *job.Spec.ActiveDeadlineSeconds > int64(a.AutoLeave.AfterMaxSeconds) && !*job.Spec.Suspend,
		"secret's owner":     len(owners) == 1 && owners[0].UID == job.UID && owners[0].Kind == "Job" && *secret.Immutable,
		"labels":             pod.Labels["standin-job"] == a.JobID.String() && pod.Labels["standin-instance"] == "i1" && pod.Labels["standin-attempt"] == "1" && pod.Labels["team"] == "meetings",
		"template":           spec.NodeSelector["bots"] == "yes" && spec.Volumes[0].Name == "sign-in" && bot.VolumeMounts[0].MountPath == "/srv/sign-in",
		"cluster's API":      !*spec.AutomountServiceAccountToken && !*spec.EnableServiceLinks,
		"host's name spaces": !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
		"user":               *spec.SecurityContext.RunAsNonRoot && *spec.SecurityContext.RunAsUser == 10001 && *spec.SecurityContext.FSGroup == 10001,
		"seccomp":            *spec.SecurityContext.SeccompProfile.LocalhostProfile == "profiles/standin.json",
		"privileges":         !*bot.SecurityContext.AllowPrivilegeEscalation && !*bot.SecurityContext.Privileged,
		"capabilities":       slices.Equal(bot.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(bot.SecurityContext.Capabilities.Add) == 0,
		"root file system":   *bot.SecurityContext.ReadOnlyRootFilesystem,
		"resources":          bot.Resources.Requests.Cpu().String() == "500m" && bot.Resources.Limits.Memory().String() == "2Gi",
		"end of the log":     bot.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
		"time to leave":      *spec.TerminationGracePeriodSeconds == 2,
		"one container":      len(spec.Containers) == 1 && bot.Name == "bot" && slices.Equal(bot.Args, []string{"bot"}),
	} {
		if !right {
			t.Errorf("the pod is not right in its %s: %s", what, shown)
		}
	}
}

// TestTemplates: a template that holds what no pod has is refused.
func TestTemplates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte("spec:\n  nodeSelektor: {bots: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.ReadPodTemplate(path); err == nil || !strings.Contains(err.Error(), "nodeSelektor") {
		t.Errorf("it was read with %v", err)
	}
	if _, err := kubernetes.ReadPodTemplate(path + ".none"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestRefused: what the cluster does not allow is told in its words.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path   string
		code   int
		reason string
		text   string
	}{
		"not signed in":         {"/jobs", 401, "Unauthorized", "Unauthorized"},
		"no right to Jobs":      {"/jobs", 403, "Forbidden", `jobs.batch is forbidden: User "system:serviceaccount:standin:standin" cannot create resource "jobs" in API group "batch" in the namespace "standin"`},
		"no right to secrets":   {"/secrets", 403, "Forbidden", `secrets is forbidden: User "system:serviceaccount:standin:standin" cannot create resource "secrets"`},
		"quota":                 {"/jobs", 403, "Forbidden", "exceeded quota: bots, requested: count/jobs.batch=1, used: count/jobs.batch=10, limited: count/jobs.batch=10"},
		"no such namespace":     {"/jobs", 404, "NotFound", `namespaces "standin" not found`},
		"what it does not take": {"/jobs", 422, "Invalid", "spec.template.spec.containers[0].image: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, cluster := onFake(t)
			a := assignment()
			cluster.lay(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, test.path) {
					return false
				}
				say(w, test.code, test.reason, "%s", test.text)
				return true
			})
			err := h.Launch(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), "Kubernetes says: "+test.text) {
				t.Fatalf("the launch ended with %v, want %q", err, test.text)
			}
			if n := cluster.count("jobs"); n != 0 {
				t.Errorf("%d Jobs are left", n)
			}
			h.expect(t, a, launch.NotStarted)
			cluster.lay(nil) // it is allowed now
			h.launch(t, a)
			h.run(t, a)
		})
	}
}

// TestAwayDuringLaunch: wherever the cluster goes away during a launch, the
// launch says so, and the next one ends with one bot.
func TestAwayDuringLaunch(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"POST /jobs", "POST /secrets", "PATCH /jobs"} {
		for _, done := range []bool{false, true} { // the cluster did what it was asked, and was not heard
			t.Run(fmt.Sprintf("%s done %v", step, done), func(t *testing.T) {
				t.Parallel()
				h, cluster := onFake(t)
				a := assignment()
				h.expect(t, a, launch.NotStarted)
				method, path, _ := strings.Cut(step, " ")
				lost := make(chan struct{})
				cluster.lay(func(_ http.ResponseWriter, r *http.Request) bool {
					select {
					case <-lost:
						panic(http.ErrAbortHandler)
					default:
					}
					if r.Method != method || !strings.Contains(r.URL.Path, path) {
						return false
					}
					close(lost)
					if done {
						r.SetPathValue("resource", path[1:])
						r.SetPathValue("name", r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:])
						map[string]http.HandlerFunc{http.MethodPost: cluster.create, http.MethodPatch: cluster.patch}[method](discard{http.Header{}}, r)
					}
					panic(http.ErrAbortHandler)
				})
				if err := h.Launch(t.Context(), a); err == nil || !strings.Contains(err.Error(), "does not answer") {
					t.Fatalf("the launch ended with %v", err)
				}
				cluster.lay(nil)
				h.launch(t, a)
				h.run(t, a)
				if jobs, pods := cluster.count("jobs"), cluster.count("pods"); jobs != 1 || pods != 1 {
					t.Errorf("there are %d Jobs and %d pods", jobs, pods)
				}
			})
		}
	}
}

// discard is an answer that is never heard.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// TestClusterAway: while the cluster cannot be seen, bots are unknown, and it
// is said why; what happened meanwhile is known when it is back.
func TestClusterAway(t *testing.T) {
	t.Parallel()
	h, cluster := onFake(t)
	lives, dies := assignment(), assignment()
	for _, a := range []launch.Assignment{lives, dies} {
		h.launch(t, a)
		h.run(t, a)
	}
	pod := h.pod(t, dies)
	cluster.lay(func(w http.ResponseWriter, _ *http.Request) bool {
		say(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return true
	})
	cluster.server.CloseClientConnections()
	h.expect(t, lives, launch.Unknown, "cannot be seen since", "Kubernetes says: Unauthorized")
	if err := h.Stop(t.Context(), lives.JobID, lives.Attempt); err == nil {
		t.Error("a bot was stopped without a cluster")
	}
	cluster.mu.Lock()
	o := copied(cluster.objects["pods/"+pod])
	var status object
	if err := json.Unmarshal([]byte(ends["out of memory"].status), &status); err != nil {
		t.Error(err)
	}
	o["status"] = status
	cluster.note("MODIFIED", "pods", o)
	cluster.mu.Unlock()
	cluster.lay(nil)
	h.expect(t, lives, launch.Running)
	h.expect(t, dies, launch.Gone, "out of memory")
}

// TestStaleWatch: a cluster that has forgotten what happened is asked anew,
// and bots are never unknown for it.
func TestStaleWatch(t *testing.T) {
	t.Parallel()
	h, cluster := onFake(t)
	a := assignment()
	h.launch(t, a)
	h.run(t, a)
	for range 3 {
		// Between the list and the watch, the cluster forgets.
		once := make(chan struct{}, 1)
		once <- struct{}{}
		cluster.lay(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("watch") == "" {
				return false
			}
			select {
			case <-once:
				cluster.mu.Lock()
				cluster.version++
				cluster.oldest = cluster.version
				cluster.mu.Unlock()
			default:
			}
			return false
		})
		cluster.server.CloseClientConnections()
	}
	h.become(t, a, ends["evicted"].status)
	h.expect(t, a, launch.Gone, ends["evicted"].words...)
}

// TestLostNode: a pod whose node does not say that it has ended is struck from
// the cluster, after a while and not before.
func TestLostNode(t *testing.T) {
	t.Parallel()
	h, cluster := onFake(t, func(s *kubernetes.Settings) { s.LeaveTime, s.LostAfter = time.Second, 2*time.Second })
	a := assignment()
	h.launch(t, a)
	h.run(t, a)
	h.become(t, a, `{"reason": "NodeLost", "message": "Node node-3 which was running pod x is unresponsive"}`)
	h.expect(t, a, launch.Unknown, "node-3")
	began := time.Now()
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it was struck after %s", took)
	}
	if n := cluster.count("pods"); n != 0 {
		t.Errorf("%d pods are left", n)
	}
}

// TestNameTaken: a Job of somebody else's with a bot's name is left alone, and
// told of.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	h, cluster := onFake(t)
	a := assignment()
	cluster.mu.Lock()
	cluster.note("ADDED", "jobs", object{"metadata": object{"name": fmt.Sprintf("standin-%s-%s-1", h.instance, a.JobID)}})
	cluster.mu.Unlock()
	if err := h.Launch(t.Context(), a); err == nil || !strings.Contains(err.Error(), "is none of this service's bots") {
		t.Errorf("the launch ended with %v", err)
	}
	if n := cluster.count("jobs"); n != 1 {
		t.Error("the Job of somebody else was removed")
	}
}

// TestSettings: what cannot be is told before anything is started.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*kubernetes.Settings)
		words  string
	}{
		"image":     {func(s *kubernetes.Settings) { s.Image = "" }, "image"},
		"namespace": {func(s *kubernetes.Settings) { s.Namespace = "" }, "namespace"},
		"instance":  {func(s *kubernetes.Settings) { s.Instance = "" }, "instance"},
		"root":      {func(s *kubernetes.Settings) { s.User = 0 }, "never run as root"},
		"cluster":   {func(s *kubernetes.Settings) { s.Cluster = nil }, "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := kubernetes.Settings{
				Cluster: &rest.Config{Host: "http://127.0.0.1:1"}, Instance: "i1", Image: "i", Namespace: namespace, User: 1, Group: 1,
			}
			test.change(&settings)
			launcher, err := kubernetes.New(settings)
			if err == nil {
				launcher.Close()
				t.Fatal("it was taken")
			}
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("it says %q, want %q", err, test.words)
			}
		})
	}
}
