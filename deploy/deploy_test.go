package deploy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"standin/internal/launch/kubernetes"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// manifests decodes the Kubernetes manifests with strict field validation.
func manifests(t *testing.T) (objects []runtime.Object) {
	t.Helper()
	names, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, name := range names {
		if strings.Contains(name, "pod-template") {
			continue // not a whole object
		}
		objects = append(objects, decode(t, name, read(t, name))...)
	}
	return objects
}

// decode decodes the documents of a YAML file into Kubernetes' own types. Unknown
// kinds, unknown fields and duplicate fields fail the test.
func decode(t *testing.T, name string, content []byte) (objects []runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, document)
		}
		objects = append(objects, object)
	}
}

// TestManifests: the manifests decode and refer to each other, and grant the
// permissions that the launcher uses and no others.
func TestManifests(t *testing.T) {
	t.Parallel()
	var deployment *appsv1.Deployment
	var role *rbacv1.Role
	var binding *rbacv1.RoleBinding
	var account *corev1.ServiceAccount
	var service *corev1.Service
	for _, object := range manifests(t) {
		switch o := object.(type) {
		case *appsv1.Deployment:
			deployment = o
		case *rbacv1.Role:
			role = o
		case *rbacv1.RoleBinding:
			binding = o
		case *corev1.ServiceAccount:
			account = o
		case *corev1.Service:
			service = o
		}
	}
	if deployment == nil || role == nil || binding == nil || account == nil || service == nil {
		t.Fatal("an object is missing")
	}
	pod := deployment.Spec.Template
	for rule, ok := range map[string]bool{
		"the pod uses the service account":    pod.Spec.ServiceAccountName == account.Name,
		"the role is bound to it":             binding.RoleRef.Name == role.Name && binding.Subjects[0].Name == account.Name,
		"the service chooses the pods":        service.Spec.Selector["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"],
		"the deployment chooses its pods":     deployment.Spec.Selector.MatchLabels["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"],
		"its root file system is not written": *pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem,
		"secrets can be made and not read":    !slices.ContainsFunc(role.Rules, readsSecrets),
	} {
		if !ok {
			t.Errorf("violated: %s", rule)
		}
	}
	if _, err := kubernetes.ReadPodTemplate("kubernetes/pod-template.example.yaml"); err != nil {
		t.Error(err)
	}
}

func readsSecrets(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"create"})
}

// compose is the part of the compose format that the file uses.
type compose struct {
	Name     string
	Services map[string]struct {
		Image       string
		Build       map[string]string
		Restart     string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		EnvFile     string                                `yaml:"env_file"`
		Environment map[string]string
		Ports       []string
		Volumes     []string
		GroupAdd    []string `yaml:"group_add"`
		Networks    []string
		ReadOnly    bool `yaml:"read_only"`
		Tmpfs       []string
		CapDrop     []string `yaml:"cap_drop"`
		CapAdd      []string `yaml:"cap_add"`
		NetworkMode string   `yaml:"network_mode"`
		User        string
		Entrypoint  []string
		SecurityOpt []string `yaml:"security_opt"`
		Healthcheck struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		}
	}
	Networks map[string]struct {
		Name       string
		Internal   bool
		DriverOpts map[string]string `yaml:"driver_opts"`
	}
	Volumes map[string]any
}

// TestCompose: all references within the file resolve, and bots cannot reach the
// database.
func TestCompose(t *testing.T) {
	t.Parallel()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, "compose.yaml")))
	decoder.KnownFields(true)
	var file compose
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for name, service := range file.Services {
		for other := range service.DependsOn {
			if _, there := file.Services[other]; !there {
				t.Errorf("%s depends on %s, which does not exist", name, other)
			}
		}
		for _, network := range service.Networks {
			if _, there := file.Networks[network]; !there {
				t.Errorf("%s is in the network %s, which does not exist", name, network)
			}
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, there := file.Volumes[source]; !there && !strings.HasPrefix(source, "/") && !strings.HasPrefix(source, "./") {
				t.Errorf("%s has the volume %s, which does not exist", name, source)
			}
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s listens on all interfaces: %s", name, port)
			}
		}
	}
	standin := file.Services["standin"]
	if standin.Environment["STANDIN_DOCKER_NETWORK"] != file.Networks["bots"].Name || standin.Environment["STANDIN_DOCKER_IMAGE"] != standin.Image {
		t.Errorf("the bots' network or image is not the service's: %v", standin.Environment)
	}
	for _, name := range []string{"database", "storage.localhost"} {
		networks := file.Services[name].Networks
		if !file.Networks["inner"].Internal || !slices.Contains(networks, "inner") || slices.Contains(networks, "bots") {
			t.Errorf("bots can reach %s", name)
		}
	}
	if target := standin.Build["target"]; !strings.Contains(string(read(t, "Dockerfile")), " AS "+target+"\n") {
		t.Errorf("the Dockerfile has no target %q", target)
	}
}

// knownVariables returns the environment variables that the commands read.
func knownVariables(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	for _, variable := range regexp.MustCompile(`STANDIN_\w+`).FindAllString(string(read(t, "../cmd/standin/testdata/commandline.txt")), -1) {
		known[variable] = true
	}
	if len(known) < 100 {
		t.Fatalf("only %d variables are known", len(known))
	}
	return known
}

// TestVariables: the service reads every variable that the files set.
func TestVariables(t *testing.T) {
	t.Parallel()
	known := knownVariables(t)
	known["STANDIN_MAINTAINER"] = true // make deb and make release read it
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "compose.yaml", "compose.env.example", "Dockerfile", "README.md", "../docs/launchers.md", "../docs/install.md", "systemd/standin.env", "systemd/mail.env", "systemd/standin.service", "systemd/standin-mail.service") {
		for _, variable := range regexp.MustCompile(`STANDIN_[A-Z_]*[A-Z]`).FindAllString(string(read(t, name)), -1) {
			if !known[variable] && !strings.HasPrefix(variable, "STANDIN_TEST_") {
				t.Errorf("%s names %s, which nobody reads", name, variable)
			}
		}
	}
}

// TestSeccomp: the profile decodes, and forbids what a bot never needs but not
// what Chromium's own sandbox is made of.
func TestSeccomp(t *testing.T) {
	t.Parallel()
	var profile struct {
		DefaultAction string
		Architectures []string
		Syscalls      []struct {
			Names    []string
			Action   string
			ErrnoRet int
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(read(t, "seccomp.json")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&profile); err != nil {
		t.Fatal(err)
	}
	forbidden := profile.Syscalls[0].Names
	if profile.Syscalls[0].Action != "SCMP_ACT_ERRNO" || !slices.IsSorted(forbidden) {
		t.Errorf("it forbids nothing, or in disorder: %+v", profile.Syscalls)
	}
	for name, want := range map[string]bool{"clone": false, "clone3": false, "unshare": false, "chroot": false, "seccomp": false, "bpf": true, "mount": true, "ptrace": true, "kexec_load": true, "init_module": true, "keyctl": true} {
		if slices.Contains(forbidden, name) != want {
			t.Errorf("%s is forbidden: %v", name, !want)
		}
	}
}

// TestBotThatReachesMetadata: the egress rules of both engines keep bots off
// private networks and metadata addresses.
func TestBotThatReachesMetadata(t *testing.T) {
	t.Parallel()
	rules := map[string]string{"egress.nft": string(read(t, "egress.nft")), "kubernetes/network.yaml": string(read(t, "kubernetes/network.yaml"))}
	for name, text := range rules {
		for _, network := range []string{"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"} {
			if !strings.Contains(text, network) {
				t.Errorf("%s does not name %s", name, network)
			}
		}
	}
	composed := string(read(t, "compose.yaml"))
	for _, want := range []string{"nft -f /egress.nft", "com.docker.network.bridge.name: standin-bots", "./egress.nft:/egress.nft:ro"} {
		if !strings.Contains(composed, want) {
			t.Errorf("compose.yaml lacks %q", want)
		}
	}
	if !strings.Contains(rules["egress.nft"], `iifname "standin-bots"`) {
		t.Error("egress.nft does not name the bridge of compose.yaml")
	}
}
