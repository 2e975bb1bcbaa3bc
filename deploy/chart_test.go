package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const chartDir = "helm/standin"

// fullValues are values that use every part of the chart.
const fullValues = `
imagePullSecrets: [{name: registry}]
existingSecret: rec-secret
baseURL: https://rec.example/
prometheusRule: {enabled: true, labels: {team: a}}
env: {STANDIN_RETENTION: 30d}
extraEnv: [{name: STANDIN_INTAKE_SECRET, valueFrom: {secretKeyRef: {name: intake, key: secret}}}]
extraEnvFrom: [{configMapRef: {name: more}}]
extraVolumes: [{name: sign-in, secret: {secretName: sign-in}}]
extraVolumeMounts: [{name: sign-in, mountPath: /etc/sign-in, readOnly: true}]
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/standin"}}
podAnnotations: {a: b}
podLabels: {c: d}
service: {type: LoadBalancer, port: 80, annotations: {e: f}}
serviceMonitor: {enabled: true}
grafanaDashboard: {enabled: true}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]
priorityClassName: high
bots:
  seccomp: profiles/standin.json
  podTemplate: {spec: {nodeSelector: {bots: "yes"}}}
ingress: {enabled: true, className: nginx, tls: [{secretName: certificate, hosts: [standin.example]}]}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: a, operator: Exists}]
networkPolicy: {publicCIDR6: "", egress: [{ports: [{port: 443}]}]}
`

// chartValues returns the chart's default values with others on top.
func chartValues(t *testing.T, over string) map[string]any {
	t.Helper()
	var values, more map[string]any
	if err := yaml.Unmarshal(read(t, chartDir+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(over), &more); err != nil {
		t.Fatal(err)
	}
	overlay(values, more)
	return values
}

func overlay(values, more map[string]any) {
	for name, value := range more {
		inner, isMap := value.(map[string]any)
		old, wasMap := values[name].(map[string]any)
		if isMap && wasMap {
			overlay(old, inner)
		} else {
			values[name] = value
		}
	}
}

// renderChart renders the chart with Helm, whose linter must have no complaints.
func renderChart(t *testing.T, over string) []byte {
	t.Helper()
	rendered, err := helm(t, over)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

// chartObjects decodes the objects of the chart but those of the Prometheus operator and of KEDA.
func chartObjects(t *testing.T, over string) []runtime.Object {
	t.Helper()
	documents := slices.DeleteFunc(bytes.Split(renderChart(t, over), []byte("\n---\n")), func(document []byte) bool {
		return bytes.Contains(document, []byte("apiVersion: monitoring.coreos.com/")) || bytes.Contains(document, []byte("apiVersion: keda.sh/"))
	})
	return decode(t, "chart", bytes.Join(documents, []byte("\n---\n")))
}

// TestChart: the chart's objects decode strictly, refer to each other, and grant the
// permissions of deploy/kubernetes.
func TestChart(t *testing.T) {
	t.Parallel()
	static := one[*rbacv1.Role](t, decode(t, "kubernetes", manifests(t))).Rules
	if !bytes.Contains(renderChart(t, fullValues), []byte("runbook_url: https://rec.example/docs/guide/runbook.html#standinnodedown\n")) {
		t.Error("the rules of Prometheus do not refer to the service's runbook")
	}
	for name, over := range map[string]string{"defaults": "", "full": fullValues} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := chartObjects(t, over)
			pod, role := checkReferences(t, objects)
			container, budget, service := pod.Spec.Containers[0], one[*policyv1.PodDisruptionBudget](t, objects), one[*corev1.Service](t, objects)
			environment := make(map[string]string)
			for _, variable := range container.Env {
				environment[variable.Name] = variable.Value
			}
			for rule, ok := range map[string]bool{
				"account": !*one[*corev1.ServiceAccount](t, objects).AutomountServiceAccountToken &&
					one[*rbacv1.RoleBinding](t, objects).Subjects[0].Namespace == "meetings",
				"permissions": reflect.DeepEqual(role.Rules, static),
				"budget's selector": selects(budget.Spec.Selector.MatchLabels, pod.Labels) &&
					budget.Spec.MaxUnavailable.IntValue() == 1,
				"pods are replaced without a pause": one[*appsv1.Deployment](t, objects).Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() == 0,
				"restricted": *pod.Spec.SecurityContext.RunAsNonRoot && *container.SecurityContext.ReadOnlyRootFilesystem &&
					!*container.SecurityContext.AllowPrivilegeEscalation,
				"bots reach the service": environment["STANDIN_BOT_SERVICE_URL"] == fmt.Sprintf("http://%s.meetings.svc:%d", service.Name,
					service.Spec.Ports[0].Port) && strings.HasPrefix(service.Name, "rec-"),
				"images": container.Image == "registry.example/standin-service:0.1.0" &&
					environment["STANDIN_BOT_IMAGE"] == "registry.example/standin-bot:0.1.0",
				"time to leave load balancers": container.Lifecycle != nil && container.Lifecycle.PreStop != nil,
				"restart after changes":        pod.Annotations["checksum/config"] != "" && pod.Annotations["checksum/secret"] != "",
				"no CPU limit of bots":         environment["STANDIN_BOT_CPU_LIMIT"] == "0",
				"mounts":                       len(container.VolumeMounts) == len(pod.Spec.Volumes),
			} {
				if !ok {
					t.Errorf("violated: %s", rule)
				}
			}
			checkBotPolicy(t, objects)
			for _, object := range objects {
				labels := object.(metav1.Object).GetLabels()
				if labels["app.kubernetes.io/instance"] != "rec" || labels["app.kubernetes.io/managed-by"] != "Helm" ||
					labels["app.kubernetes.io/version"] != "0.1.0" {
					t.Errorf("%T has the labels %v", object, labels)
				}
			}
		})
	}
}

// TestChartReserve: the placeholders are of the size of four bots, run where bots run, and give way to them. They are for a ninth
// more than the expected bots, because a HorizontalPodAutoscaler tolerates that a tenth is missing. TestReserve uses them.
func TestChartReserve(t *testing.T) {
	t.Parallel()
	rendered := renderChart(t, fullValues+"reserve: {enabled: true, max: 50, botsPerPlaceholder: 4}\n")
	var reserve *appsv1.Deployment
	var scaled struct {
		Spec struct {
			ScaleTargetRef  struct{ Name string }
			MaxReplicaCount int
			Triggers        []struct {
				Type              string
				Metadata          map[string]string
				AuthenticationRef struct{ Name string }
			}
		}
	}
	class, bot := "", map[string]string{}
	for document := range bytes.SplitSeq(rendered, []byte("\n---\n")) {
		switch {
		case bytes.Contains(document, []byte("kind: ScaledObject")):
			if err := yaml.Unmarshal(document, &scaled); err != nil {
				t.Fatal(err)
			}
		case bytes.Contains(document, []byte("kind: PriorityClass")):
			found := one[*schedulingv1.PriorityClass](t, decode(t, "class", document))
			if class = found.Name; found.Value >= 0 {
				t.Errorf("bots do not displace placeholders of priority %d", found.Value)
			}
		case bytes.Contains(document, []byte("kind: Deployment")):
			found := one[*appsv1.Deployment](t, decode(t, "deployment", document))
			if strings.HasSuffix(found.Name, "-reserve") {
				reserve = found
				continue
			}
			for _, variable := range found.Spec.Template.Spec.Containers[0].Env {
				bot[variable.Name] = variable.Value
			}
		}
	}
	if reserve == nil || len(scaled.Spec.Triggers) != 1 {
		t.Fatalf("the reserve is not rendered: %s", rendered)
	}
	pod, trigger := reserve.Spec.Template.Spec, scaled.Spec.Triggers[0]
	otherSize := func(c corev1.Container) bool {
		size := c.Resources.Requests
		return size.Cpu().String() != bot["STANDIN_KUBERNETES_CPU_REQUEST"] || size.Memory().String() != bot["STANDIN_KUBERNETES_MEMORY_REQUEST"]
	}
	for rule, ok := range map[string]bool{
		"size":     len(pod.Containers) == 4 && !slices.ContainsFunc(pod.Containers, otherSize),
		"place":    pod.NodeSelector["bots"] == "yes",
		"give way": pod.PriorityClassName == class && *pod.TerminationGracePeriodSeconds == 0,
		"delay":    reserve.Spec.Template.Annotations["cluster-autoscaler.kubernetes.io/pod-scale-up-delay"] == "30s",
		"selector": selects(reserve.Spec.Selector.MatchLabels, reserve.Spec.Template.Labels),
		"number": scaled.Spec.ScaleTargetRef.Name == reserve.Name && scaled.Spec.MaxReplicaCount == 50 && trigger.Type == "metrics-api" &&
			trigger.Metadata["valueLocation"] == "standin_expected_bots" && trigger.Metadata["format"] == "prometheus" &&
			trigger.Metadata["targetValue"] == "3.6",
		"address": trigger.Metadata["url"] == bot["STANDIN_BOT_SERVICE_URL"]+"/metrics" && trigger.AuthenticationRef.Name != "",
	} {
		if !ok {
			t.Errorf("violated: %s", rule)
		}
	}
}

// TestChartNodes: the check of new nodes runs where bots run, also before they may, and asks the service and the platforms.
// TestNodeAccount checks on a real API server what it may do.
func TestChartNodes(t *testing.T) {
	t.Parallel()
	over := fullValues + "nodeCheck: {enabled: true, reach: ['https://meet.example']}\n"
	var check *appsv1.DaemonSet
	for document := range bytes.SplitSeq(renderChart(t, over), []byte("\n---\n")) {
		if bytes.Contains(document, []byte("kind: DaemonSet")) {
			check = one[*appsv1.DaemonSet](t, decode(t, "nodes", document))
		}
	}
	if check == nil {
		t.Fatal("the check of nodes is not rendered")
	}
	pod := check.Spec.Template.Spec
	container := pod.Containers[0]
	for rule, ok := range map[string]bool{
		"place": pod.NodeSelector["bots"] == "yes" && slices.ContainsFunc(pod.Tolerations, func(toleration corev1.Toleration) bool {
			return toleration.Key == "standin.dev/unchecked" && toleration.Operator == corev1.TolerationOpExists
		}),
		"selector":   selects(check.Spec.Selector.MatchLabels, check.Spec.Template.Labels),
		"restricted": *pod.SecurityContext.RunAsNonRoot && *container.SecurityContext.ReadOnlyRootFilesystem,
		"arguments": slices.Equal(container.Args, []string{
			"node", "--reach=http://rec-standin.meetings.svc:80/readyz?exclude=storage,launcher", "--reach=https://meet.example",
		}),
		"its node": container.Env[0].ValueFrom.FieldRef.FieldPath == "spec.nodeName",
	} {
		if !ok {
			t.Errorf("violated: %s in %+v", rule, pod)
		}
	}
}

// checkBotPolicy checks that nothing reaches the bots of the release, and that they reach only
// addresses: TestEgressRulesMatchTheDialGuard checks which.
func checkBotPolicy(t *testing.T, objects []runtime.Object) {
	t.Helper()
	for _, object := range objects {
		policy, ok := object.(*networkingv1.NetworkPolicy)
		if !ok || policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != "standin-bot" {
			continue
		}
		if !selects(policy.Spec.PodSelector.MatchLabels, botLabels(t, objects)) || len(policy.Spec.Ingress) > 0 ||
			len(policy.Spec.PolicyTypes) != 2 {
			t.Errorf("the policy of bots: %+v", policy.Spec)
		}
		for _, rule := range policy.Spec.Egress {
			for _, peer := range rule.To {
				if peer.IPBlock != nil && peer.IPBlock.CIDR != "2000::/3" && (peer.IPBlock.CIDR != "0.0.0.0/0" || len(peer.IPBlock.Except) < 10) {
					t.Errorf("bots reach %+v", peer.IPBlock)
				}
			}
		}
		return
	}
	t.Error("bots have no network policy")
}

// TestChartValues: the schema accepts the values of TestChart and refuses mistakes.
func TestChartValues(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	validate := func(over string) error {
		encoded, err := json.Marshal(chartValues(t, over))
		if err != nil {
			t.Fatal(err)
		}
		values, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(values)
	}
	for _, over := range []string{"", fullValues} {
		if err := validate(over); err != nil {
			t.Error(err)
		}
	}
	for _, over := range []string{
		"replica: 2", "replicaCount: 0", "service: {type: Cluster}", "ingress: {hosts: []}", "secret: {create: true}",
		"bots: {cpuLimit: much}", "reserve: {max: 0}", "nodeCheck: {reach: meet}",
		"env: {A: 1}", "baseURL: standin.example", "networkPolicy: {privateCIDRs: [all]}",
	} {
		if validate(over) == nil {
			t.Errorf("%s was accepted", over)
		}
	}
}

// botLabels returns the labels of the chart's template of bot pods, with those that the launcher
// adds.
func botLabels(t *testing.T, objects []runtime.Object) map[string]string {
	t.Helper()
	for _, object := range objects {
		if config, ok := object.(*corev1.ConfigMap); ok && strings.HasSuffix(config.Name, "-pod-template") {
			var template corev1.PodTemplateSpec
			if err := yaml.UnmarshalStrict([]byte(config.Data["pod-template.yaml"]), &template); err != nil {
				t.Fatal(err)
			}
			return template.Labels
		}
	}
	t.Fatal("no template of bot pods")
	return nil
}

// TestChartMistakes checks that Helm refuses values that the chart does not know or that lack
// something.
func TestChartMistakes(t *testing.T) {
	t.Parallel()
	for over, want := range map[string]string{
		"replica: 1": "replica", "serviceAccount: {create: false}": "serviceAccount.name is required",
	} {
		if _, err := helm(t, over); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", over, err)
		}
	}
}

// helmProgram is testdata/helm, built once. The first build compiles for 35 to 100 s of CPU time.
var helmProgram struct {
	sync.Once
	dir, path string
	err       error
}

// TestMain removes what the tests have built.
func TestMain(m *testing.M) {
	code := m.Run()
	if helmProgram.dir != "" {
		_ = os.RemoveAll(helmProgram.dir)
	}
	os.Exit(code)
}

// long skips a test with -short: one that compiles Helm or needs root.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
}

// helm renders the chart with values.
func helm(t *testing.T, values string) ([]byte, error) {
	t.Helper()
	long(t)
	helmProgram.Do(func() {
		if helmProgram.dir, helmProgram.err = os.MkdirTemp("", "standin-helm-"); helmProgram.err != nil {
			return
		}
		helmProgram.path = filepath.Join(helmProgram.dir, "helm")
		build := exec.Command("go", "build", "-o", helmProgram.path, ".")
		build.Dir = "testdata/helm"
		if out, err := build.CombinedOutput(); err != nil {
			helmProgram.err = fmt.Errorf("build Helm (the first build needs Go's module proxy): %w: %s", err, out)
		}
	})
	if helmProgram.err != nil {
		t.Fatal(helmProgram.err)
	}
	command := exec.CommandContext(t.Context(), helmProgram.path, chartDir, "rec", "meetings", "1.30.0")
	command.Stdin = strings.NewReader(values)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	return out, err
}
