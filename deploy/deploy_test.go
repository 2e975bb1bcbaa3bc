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
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

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

// manifests decodes the Kubernetes manifests as strictly as a cluster does
// that is asked to be strict.
func manifests(t *testing.T) (objects []runtime.Object) {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	names, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no manifests: %v", err)
	}
	for _, name := range names {
		if strings.Contains(name, "pod-template") {
			continue // a part of an object
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(read(t, name))))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			object, _, err := decoder.Decode(document, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			objects = append(objects, object)
		}
	}
	return objects
}

// TestManifests: they decode, fit together, and give the service the rights
// that its launcher uses and no others.
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
		t.Fatal("something is missing")
	}
	pod := deployment.Spec.Template
	for what, right := range map[string]bool{
		"the pod uses the service account":    pod.Spec.ServiceAccountName == account.Name,
		"the role is bound to it":             binding.RoleRef.Name == role.Name && binding.Subjects[0].Name == account.Name,
		"the service chooses the pods":        service.Spec.Selector["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"],
		"the deployment chooses its pods":     deployment.Spec.Selector.MatchLabels["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"],
		"its root file system is not written": *pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem,
		"secrets can be made and not read":    !slices.ContainsFunc(role.Rules, readsSecrets),
	} {
		if !right {
			t.Errorf("it does not hold that %s", what)
		}
	}
	if _, err := kubernetes.ReadPodTemplate("kubernetes/pod-template.example.yaml"); err != nil {
		t.Error(err)
	}
}

func readsSecrets(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"create"})
}

// compose is what the tests know of a compose file.
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
		SecurityOpt []string `yaml:"security_opt"`
		Healthcheck struct {
			Test              []string
			Interval, Timeout string
			Retries           int
		}
	}
	Networks map[string]struct {
		Name     string
		Internal bool
	}
	Volumes map[string]any
}

// TestCompose: the file holds nothing that the tests do not know, and what it
// names is there.
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
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		for _, network := range service.Networks {
			if _, there := file.Networks[network]; !there {
				t.Errorf("%s is in the network %s, which is not there", name, network)
			}
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, there := file.Volumes[source]; !there && !strings.HasPrefix(source, "/") {
				t.Errorf("%s has the volume %s, which is not there", name, source)
			}
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to the world at %s", name, port)
			}
		}
	}
	standin := file.Services["standin"]
	if standin.Environment["STANDIN_DOCKER_NETWORK"] != file.Networks["bots"].Name || standin.Environment["STANDIN_DOCKER_IMAGE"] != standin.Image {
		t.Errorf("bots are not where the service is: %v", standin.Environment)
	}
	if !file.Networks["inner"].Internal || slices.Contains(file.Services["database"].Networks, "bots") {
		t.Error("bots can reach the database")
	}
}

// TestVariables: every variable that the files set is one that the service
// reads.
func TestVariables(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("../cmd/standin/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("the command's sources are not there: %v", err)
	}
	known := make(map[string]bool)
	for _, source := range sources {
		for _, match := range regexp.MustCompile(`env:"(STANDIN_\w+)"`).FindAllSubmatch(read(t, source), -1) {
			known[string(match[1])] = true
		}
	}
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "compose.yaml", "compose.env.example", "Dockerfile", "README.md", "../docs/launchers.md") {
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
