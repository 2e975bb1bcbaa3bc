package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
	"standin/internal/testing/launchtest"
)

// newFakeHarness returns a harness with its own fake cluster.
func newFakeHarness(t *testing.T, change ...func(*kubernetes.Settings)) (*harness, *fakeCluster) {
	t.Helper()
	cluster := newFakeCluster(t)
	return newHarness(t, cluster.config(), change...), cluster
}

// read decodes an object of the cluster into one of Kubernetes' own types, which
// must have all of its fields.
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
			decoder := json.NewDecoder(bytes.NewReader(encoded))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no %s with the name %s", resource, prefix)
}

// TestPod: a bot's pod conforms to the restricted Pod Security Standard whatever
// the template says, and shows no secrets.
func TestPod(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "template.yaml")
	err := os.WriteFile(path, []byte(`
metadata:
  labels: {team: meetings, standin.job: forged}
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
	h, cluster := newFakeHarness(t, func(s *kubernetes.Settings) {
		s.Instance, s.Template, s.Seccomp = "i1", template, "profiles/standin.json"
	})
	a := launchtest.Assignment()
	h.launch(t, a)
	name := fmt.Sprintf("standin-i1-%s-1", a.JobID)
	var pod corev1.Pod
	var secret corev1.Secret
	cluster.read(t, "pods", name, &pod)
	cluster.read(t, "secrets", name, &secret)

	shown, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{launchtest.Token, launchtest.Passcode, launchtest.Signature} { // 9a55 is the meeting's passcode
		if strings.Contains(string(shown), hidden) {
			t.Errorf("%q shows on the pod: %s", hidden, shown)
		}
		if !strings.Contains(string(secret.Data["config.json"]), hidden) {
			t.Errorf("%q is not in the bot's configuration", hidden)
		}
	}
	if len(pod.Name) > 63 {
		t.Errorf("the name %s is too long for a label", pod.Name)
	}
	owners := secret.OwnerReferences
	spec, bot := pod.Spec, pod.Spec.Containers[0]
	for aspect, ok := range map[string]bool{
		"once":           spec.RestartPolicy == corev1.RestartPolicyNever && len(spec.SchedulingGates) == 0,
		"time":           *spec.ActiveDeadlineSeconds > int64(a.AutoLeave.AfterMaxSeconds),
		"secret's owner": len(owners) == 1 && owners[0].UID == pod.UID && owners[0].Kind == "Pod" && *secret.Immutable,
		"labels": pod.Labels["standin.job"] == a.JobID.String() && pod.Labels["standin.instance"] == "i1" &&
			pod.Labels["standin.attempt"] == "1" && pod.Labels["team"] == "meetings",
		"autoscalers": pod.Annotations["karpenter.sh/do-not-disrupt"] == "true" &&
			pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false",
		"template": spec.NodeSelector["bots"] == "yes" && spec.Volumes[0].Name == "sign-in" &&
			bot.VolumeMounts[0].MountPath == "/srv/sign-in",
		"cluster's API":      !*spec.AutomountServiceAccountToken && !*spec.EnableServiceLinks,
		"host's name spaces": !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
		"user": *spec.SecurityContext.RunAsNonRoot && *spec.SecurityContext.RunAsUser == 10001 &&
			*spec.SecurityContext.FSGroup == 10001,
		"seccomp":    *spec.SecurityContext.SeccompProfile.LocalhostProfile == "profiles/standin.json",
		"privileges": !*bot.SecurityContext.AllowPrivilegeEscalation && !*bot.SecurityContext.Privileged,
		"capabilities": slices.Equal(bot.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) &&
			len(bot.SecurityContext.Capabilities.Add) == 0,
		"root file system": *bot.SecurityContext.ReadOnlyRootFilesystem,
		"resources":        bot.Resources.Requests.Cpu().String() == "500m" && bot.Resources.Limits.Memory().String() == "2Gi",
		"image":            bot.ImagePullPolicy == corev1.PullIfNotPresent,
		"spool":            spec.Volumes[2].EmptyDir.SizeLimit.String() == "9Gi",
		"end of the log":   bot.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
		"time to leave":    *spec.TerminationGracePeriodSeconds == 2,
		"one container": len(spec.Containers) == 1 && bot.Name == "bot" && slices.Equal(bot.Args, []string{
			"bot", "--config", "/run/standin/config.json",
		}),
	} {
		if !ok {
			t.Errorf("wrong %s: %s", aspect, shown)
		}
	}
}

// TestTemplates: a template with an error is refused.
func TestTemplates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, want string }{
		"unknown field of the spec":     {"spec:\n  nodeSelektor: {bots: a}\n", "nodeSelektor"},
		"unknown field of a container":  {"spec:\n  containers: [{name: bot, imige: b}]\n", "imige"},
		"containers that are no list":   {"spec:\n  containers: {name: bot}\n", "containers"},
		"quantity that cannot be valid": {"spec:\n  containers: [{name: bot, resources: {limits: {cpu: much}}}]\n", "quantities"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "template.yaml")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := kubernetes.ReadPodTemplate(path); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
	if _, err := kubernetes.ReadPodTemplate(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was read")
	}
}

// TestRefused: a refused request is reported with the cluster's message.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path   string
		code   int
		reason string
		text   string
	}{
		"not signed in": {"/pods", 401, "Unauthorized", "Unauthorized"},
		"no right to pods": {
			"/pods", 403, "Forbidden", `pods is forbidden: User "system:serviceaccount:standin:standin" cannot create resource "pods"`,
		},
		"no right to secrets": {
			"/secrets", 403, "Forbidden", `secrets is forbidden: User "system:serviceaccount:standin:standin" cannot create resource "secrets"`,
		},
		"quota": {
			"/pods", 403, "Forbidden", "exceeded quota: bots, requested: pods=1, used: pods=10, limited: pods=10",
		},
		"no such namespace": {"/pods", 404, "NotFound", `namespaces "standin" not found`},
		"invalid object":    {"/pods", 422, "Invalid", "spec.containers[0].image: Required value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, cluster := newFakeHarness(t)
			a := launchtest.Assignment()
			cluster.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, test.path) {
					return false
				}
				respondError(w, test.code, test.reason, "%s", test.text)
				return true
			})
			err := h.Launch(t.Context(), a)
			if err == nil || !strings.Contains(err.Error(), "Kubernetes says: "+test.text) {
				t.Fatalf("the launch ended with %v, want %q", err, test.text)
			}
			if n := cluster.count("pods"); n != 0 {
				t.Errorf("%d pods are left", n)
			}
			h.Expect(t, a, launch.NotStarted)
			cluster.SetFault(nil) // it is allowed now
			h.launch(t, a)
			h.Run(t, a)
		})
	}
}

// TestDisconnectDuringLaunch: after a connection is lost at any step of a launch,
// the next launch ends with one bot.
func TestDisconnectDuringLaunch(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"POST /pods", "POST /secrets", "PATCH /pods"} {
		for _, done := range []bool{false, true} { // the step succeeded and its response was lost
			t.Run(fmt.Sprintf("%s done %v", step, done), func(t *testing.T) {
				t.Parallel()
				h, cluster := newFakeHarness(t)
				a := launchtest.Assignment()
				h.Expect(t, a, launch.NotStarted)
				method, path, _ := strings.Cut(step, " ")
				lost := make(chan struct{})
				cluster.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
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
						map[string]http.HandlerFunc{http.MethodPost: cluster.create, http.MethodPatch: cluster.patch}[method](launchtest.Lost(), r)
					}
					panic(http.ErrAbortHandler)
				})
				if err := h.Launch(t.Context(), a); err == nil || !strings.Contains(err.Error(), "does not answer") {
					t.Fatalf("the launch ended with %v", err)
				}
				cluster.SetFault(nil)
				h.launch(t, a)
				h.Run(t, a)
				if pods, secrets := cluster.count("pods"), cluster.count("secrets"); pods != 1 || secrets != 1 {
					t.Errorf("there are %d pods and %d Secrets", pods, secrets)
				}
			})
		}
	}
}

// TestListDuringLaunch: a bot whose pod may not be scheduled yet when the pods are listed is not gone.
func TestListDuringLaunch(t *testing.T) {
	t.Parallel()
	h, cluster := newFakeHarness(t, func(s *kubernetes.Settings) { s.Resync = time.Second })
	a := launchtest.Assignment()
	h.Expect(t, a, launch.NotStarted)
	lists := make(chan struct{})
	cluster.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPatch:
			for range 2 { // the first has been read when the second is requested
				<-lists
			}
		case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "":
			select {
			case lists <- struct{}{}:
			default: // no launch waits
			}
		}
		return false
	})
	h.launch(t, a)
	h.Expect(t, a, launch.Starting)
	h.Run(t, a)
}

// TestClusterDisconnected: while the cluster does not answer, bots are unknown;
// afterwards, changes that happened meanwhile are reported.
func TestClusterDisconnected(t *testing.T) {
	t.Parallel()
	h, cluster := newFakeHarness(t)
	lives, dies := launchtest.Assignment(), launchtest.Assignment()
	for _, a := range []launch.Assignment{lives, dies} {
		h.launch(t, a)
		h.Run(t, a)
	}
	pod := h.pod(t, dies)
	cluster.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
		respondError(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return true
	})
	cluster.CloseClientConnections()
	h.Expect(t, lives, launch.Unknown, "state is unknown since", "Kubernetes says: Unauthorized")
	if err := h.Stop(t.Context(), lives.JobID, lives.Attempt); err == nil {
		t.Error("a bot was stopped without a cluster")
	}
	cluster.mu.Lock()
	o := copied(cluster.objects["pods/"+pod])
	var status object
	if err := json.Unmarshal([]byte(endStatuses["out of memory"].status), &status); err != nil {
		t.Error(err)
	}
	o["status"] = status
	cluster.note("MODIFIED", "pods", o)
	cluster.mu.Unlock()
	cluster.SetFault(nil)
	h.Expect(t, lives, launch.Running)
	h.Expect(t, dies, launch.Gone, "out of memory")
}

// TestExpiredWatch: a watch with an expired resource version is replaced by a new
// list.
func TestExpiredWatch(t *testing.T) {
	t.Parallel()
	h, cluster := newFakeHarness(t)
	a := launchtest.Assignment()
	h.launch(t, a)
	h.Run(t, a)
	for range 3 {
		// The resource version expires between the list and the watch.
		once := make(chan struct{}, 1)
		once <- struct{}{}
		cluster.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
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
		cluster.CloseClientConnections()
	}
	h.setStatus(t, a, endStatuses["evicted"].status)
	h.Expect(t, a, launch.Gone, endStatuses["evicted"].words...)
}

// TestLostNode: a pod whose node does not report its end is deleted by force after
// LostAfter.
func TestLostNode(t *testing.T) {
	t.Parallel()
	h, cluster := newFakeHarness(t, func(s *kubernetes.Settings) { s.LeaveTime, s.LostAfter = time.Second, 2*time.Second })
	a := launchtest.Assignment()
	h.launch(t, a)
	h.Run(t, a)
	h.setStatus(t, a, `{"reason": "NodeLost", "message": "Node node-3 which was running pod x is unresponsive"}`)
	h.Expect(t, a, launch.Unknown, "node-3")
	began := time.Now()
	if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("deleted by force after %s", took)
	}
	if n := cluster.count("pods"); n != 0 {
		t.Errorf("%d pods are left", n)
	}
}

// TestNameTaken: a foreign pod with a bot's name is not touched.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	h, cluster := newFakeHarness(t)
	a := launchtest.Assignment()
	cluster.mu.Lock()
	cluster.note("ADDED", "pods", object{"metadata": object{"name": fmt.Sprintf("standin-%s-%s-1", h.instance, a.JobID)}})
	cluster.mu.Unlock()
	if err := h.Launch(t.Context(), a); err == nil || !strings.Contains(err.Error(), "is not a bot of this service") {
		t.Errorf("the launch ended with %v", err)
	}
	if n := cluster.count("pods"); n != 1 {
		t.Error("the foreign pod was removed")
	}
}

// TestSettings: invalid settings are refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*kubernetes.Settings)
		words  string
	}{
		"namespace": {func(s *kubernetes.Settings) { s.Namespace = "" }, "namespace"},
		"root":      {func(s *kubernetes.Settings) { s.User = "0:0" }, "never root"},
		"cluster":   {func(s *kubernetes.Settings) { s.Cluster = nil }, "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := kubernetes.Settings{
				RemoteSettings: launch.RemoteSettings{Instance: "i1", ContainerSettings: launch.ContainerSettings{Image: "i"}},
				Cluster:        &rest.Config{Host: "http://127.0.0.1:1"}, Namespace: namespace,
			}
			test.change(&settings)
			launcher, err := kubernetes.New(settings)
			if err == nil {
				launcher.Close()
				t.Fatal("the settings were accepted")
			}
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("the error is %q, want %q", err, test.words)
			}
		})
	}
}
