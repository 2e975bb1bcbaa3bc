package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/santhosh-tekuri/jsonschema/v6"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"standin/internal/testing/gobuild"
)

const chartDir = "helm/standin"

// fullValues are values that use every part of the chart.
const fullValues = `
imagePullSecrets: [{name: registry}]
env: {STANDIN_RETENTION: 30d}
bots:
  seccomp: profiles/standin.json
  podTemplate: {spec: {nodeSelector: {bots: "yes"}}}
ingress: {enabled: true, className: nginx, tlsSecret: certificate}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: a, operator: Exists}]
networkPolicy: {publicCIDR6: ""}
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

// renderChart renders the chart as TestChartWithHelm does, in less time. It has only the
// functions that the chart uses.
func renderChart(t *testing.T, values map[string]any) (objects []runtime.Object) {
	t.Helper()
	names, err := filepath.Glob(chartDir + "/templates/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, name := range names {
		objects = append(objects, decode(t, name, renderFile(t, name, values))...)
	}
	return objects
}

// renderFile renders one template of the chart.
func renderFile(t *testing.T, name string, values map[string]any) []byte {
	t.Helper()
	parsed, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{
		"quote": func(value any) string { return strconv.Quote(value.(string)) },
		"toJson": func(value any) (string, error) {
			encoded, err := json.Marshal(value)
			return string(encoded), err
		},
	}).Parse(string(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, map[string]any{
		"Values": values, "Release": map[string]any{"Name": "rec", "Namespace": "meetings"},
	}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// one returns the only object of a type.
func one[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of the type %T", len(found), *new(T))
	}
	return found[0]
}

// TestChart: the chart's objects decode strictly, refer to each other, and grant the
// permissions of deploy/kubernetes.
func TestChart(t *testing.T) {
	t.Parallel()
	static := one[*rbacv1.Role](t, manifests(t)).Rules
	for name, over := range map[string]string{"defaults": "", "full": fullValues} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := renderChart(t, chartValues(t, over))
			deployment := one[*appsv1.Deployment](t, objects)
			pod := deployment.Spec.Template
			container := pod.Spec.Containers[0]
			budget := one[*policyv1.PodDisruptionBudget](t, objects)
			service := one[*corev1.Service](t, objects)
			role, account := one[*rbacv1.Role](t, objects), one[*corev1.ServiceAccount](t, objects)
			binding := one[*rbacv1.RoleBinding](t, objects)
			environment := make(map[string]string)
			for _, variable := range container.Env {
				environment[variable.Name] = variable.Value
			}
			for rule, ok := range map[string]bool{
				"account":                 pod.Spec.ServiceAccountName == account.Name && !*account.AutomountServiceAccountToken,
				"binding":                 binding.RoleRef.Name == role.Name && binding.Subjects[0].Name == account.Name && binding.Subjects[0].Namespace == "meetings",
				"permissions":             reflect.DeepEqual(role.Rules, static),
				"service selects the pod": maps.Equal(service.Spec.Selector, pod.Labels),
				"deployment's selector":   maps.Equal(deployment.Spec.Selector.MatchLabels, pod.Labels),
				"budget's selector":       maps.Equal(budget.Spec.Selector.MatchLabels, pod.Labels) && budget.Spec.MaxUnavailable.IntValue() == 1,
				"restricted":              *pod.Spec.SecurityContext.RunAsNonRoot && *container.SecurityContext.ReadOnlyRootFilesystem && !*container.SecurityContext.AllowPrivilegeEscalation,
				"bots reach the service":  environment["STANDIN_BOT_SERVICE_URL"] == "http://rec.meetings.svc:8080" && service.Name == "rec",
				"images":                  container.Image == "registry.example/standin-service:1" && environment["STANDIN_KUBERNETES_IMAGE"] == "registry.example/standin-bot:1",
				"mounts":                  len(container.VolumeMounts) == len(pod.Spec.Volumes),
			} {
				if !ok {
					t.Errorf("violated: %s", rule)
				}
			}
			known := knownVariables(t)
			for variable := range environment {
				if !known[variable] {
					t.Errorf("the service does not read %s", variable)
				}
			}
			checkBotPolicy(t, objects)
		})
	}
}

// checkBotPolicy checks that bots cannot reach private networks.
func checkBotPolicy(t *testing.T, objects []runtime.Object) {
	t.Helper()
	for _, object := range objects {
		policy, ok := object.(*networkingv1.NetworkPolicy)
		if !ok || policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != "standin-bot" {
			continue
		}
		if len(policy.Spec.Ingress) > 0 || len(policy.Spec.PolicyTypes) != 2 {
			t.Error("something reaches bots")
		}
		for _, rule := range policy.Spec.Egress {
			for _, peer := range rule.To {
				if peer.IPBlock == nil || peer.IPBlock.CIDR == "2000::/3" {
					continue
				}
				for _, network := range []string{"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"} {
					if peer.IPBlock.CIDR != "0.0.0.0/0" || !slices.Contains(peer.IPBlock.Except, network) {
						t.Errorf("bots reach %s through %+v", network, peer.IPBlock)
					}
				}
			}
		}
		return
	}
	t.Error("bots have no network policy")
}

// TestChartValues: the schema accepts the values of TestChart and refuses mistakes,
// and every value has a comment in values.yaml or is part of one that has.
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
	for _, over := range []string{"replica: 2", "replicas: 0", "bots: {cpuLimit: much}", "env: {A: 1}", "baseURL: standin.example", "networkPolicy: {privateCIDRs: [all]}"} {
		if validate(over) == nil {
			t.Errorf("%s was accepted", over)
		}
	}
	documented := regexp.MustCompile(`(?m)^#.*\n(?:[a-zA-Z]+:|# )`)
	if found := len(documented.FindAll(read(t, chartDir+"/values.yaml"), -1)); found < 10 {
		t.Errorf("only %d values are documented", found)
	}
}

// TestChartWithHelm: Helm renders the same objects as the other tests, and its linter
// has no complaints.
func TestChartWithHelm(t *testing.T) {
	t.Parallel()
	helm := buildHelm(t)
	for name, over := range map[string]string{"defaults": "", "full": fullValues} {
		rendered, err := helm(over)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, want := decode(t, "chart", rendered), renderChart(t, chartValues(t, over))
		if len(got) != len(want) {
			t.Fatalf("%s: Helm renders %d objects, want %d", name, len(got), len(want))
		}
		for _, object := range want {
			if !slices.ContainsFunc(got, func(other runtime.Object) bool { return reflect.DeepEqual(object, other) }) {
				t.Errorf("%s: Helm renders another %T", name, object)
			}
		}
	}
	if _, err := helm("replica: 1"); err == nil || !strings.Contains(err.Error(), "replica") {
		t.Errorf("Helm accepts an unknown value: %v", err)
	}
}

// buildHelm builds testdata/helm and returns a function that renders the chart with
// values. The first build compiles for 35 to 100 s of CPU time.
func buildHelm(t *testing.T) func(values string) ([]byte, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "helm")
	build := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", program}, gobuild.Flags()...), ".")...)
	build.Dir = "testdata/helm"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Helm (the first build needs Go's module proxy): %v\n%s", err, out)
	}
	return func(values string) ([]byte, error) {
		command := exec.CommandContext(t.Context(), program, chartDir, "rec", "meetings", "1.30.0")
		command.Stdin = strings.NewReader(values)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, stderr.Bytes())
		}
		return out, err
	}
}
