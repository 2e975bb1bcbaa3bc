package deploy_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
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

// manifests returns the Kubernetes manifests but the template of pods, which is no object.
func manifests(t *testing.T) (all []byte) {
	t.Helper()
	names, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, name := range names {
		if !strings.Contains(name, "pod-template") {
			all = append(append(all, "\n---\n"...), read(t, name)...)
		}
	}
	return all
}

// decode decodes the documents of a YAML file into Kubernetes' own types. Unknown
// kinds, unknown fields and duplicate fields fail the test.
func decode(t *testing.T, name string, content []byte) (objects []runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		schedulingv1.AddToScheme,
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
	objects := decode(t, "kubernetes", manifests(t))
	pod, role := checkReferences(t, objects)
	if !*pod.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem || slices.ContainsFunc(role.Rules, readsSecrets) {
		t.Error("the root file system is written, or secrets can be read")
	}
	if _, err := kubernetes.ReadPodTemplate("kubernetes/pod-template.example.yaml"); err != nil {
		t.Error(err)
	}
}

// checkReferences checks that objects of a deployment refer to each other, and returns its pods
// and the role of their account.
func checkReferences(t *testing.T, objects []runtime.Object) (corev1.PodTemplateSpec, *rbacv1.Role) {
	t.Helper()
	deployment, service := one[*appsv1.Deployment](t, objects), one[*corev1.Service](t, objects)
	account, role, binding := one[*corev1.ServiceAccount](t, objects), one[*rbacv1.Role](t, objects), one[*rbacv1.RoleBinding](t, objects)
	pod := deployment.Spec.Template
	for rule, ok := range map[string]bool{
		"the pod uses the service account": pod.Spec.ServiceAccountName == account.Name,
		"the role is bound to it":          binding.RoleRef.Name == role.Name && binding.Subjects[0].Name == account.Name,
		"the service chooses the pods":     selects(service.Spec.Selector, pod.Labels),
		"the deployment chooses its pods":  selects(deployment.Spec.Selector.MatchLabels, pod.Labels),
	} {
		if !ok {
			t.Errorf("violated: %s", rule)
		}
	}
	return pod, role
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

// selects reports whether a selector matches labels, and only those of one release.
func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return selector["app.kubernetes.io/name"] != ""
}

func readsSecrets(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"create"})
}

// loadCompose loads a compose file as compose does, which checks it against the specification and
// resolves its references.
func loadCompose(t *testing.T, name string, variables types.Mapping) *types.Project {
	t.Helper()
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: ".", ConfigFiles: []types.ConfigFile{{Filename: name, Content: read(t, name)}}, Environment: variables,
	}, func(options *loader.Options) { options.SetProjectName("standin", false) })
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for name, service := range project.Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s listens on all interfaces: %+v", name, port)
			}
		}
		if service.Build != nil && !strings.Contains(string(read(t, "Dockerfile")), " AS "+service.Build.Target+"\n") {
			t.Errorf("the Dockerfile has no target %q", service.Build.Target)
		}
	}
	return project
}

// TestCompose checks the compose files whose bots are processes of the service's container, the
// recognizer that one of them adds, and the users of the images.
func TestCompose(t *testing.T) {
	t.Parallel()
	transcripts := loadCompose(t, "compose.transcripts.yaml", nil)
	for _, project := range []*types.Project{loadCompose(t, "compose.yaml", nil), transcripts} {
		service := project.Services["standin"]
		if service.Build.Target != "bot" || !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) ||
			!slices.Contains(service.SecurityOpt, "seccomp:./seccomp.json") {
			t.Errorf("bots have no browser, or the container too many rights: %+v", service)
		}
	}
	service, model := transcripts.Services["standin"], transcripts.Services["model"].Environment["WHISPER_MODEL"]
	for _, prefix := range []string{"STANDIN_TRANSCRIBER", "STANDIN_LIVE_TRANSCRIBER"} {
		address, err := url.Parse(*service.Environment[prefix+"_URL"])
		if err != nil || *service.Environment[prefix+"_MODEL"] != *model || transcripts.Services[address.Hostname()].Image == "" {
			t.Errorf("%s is at %v with another model, or another server", prefix, address)
		}
	}
	dockerfile := string(read(t, "Dockerfile"))
	for _, stage := range regexp.MustCompile(`(?m)^FROM `).Split(dockerfile, -1) {
		if user := regexp.MustCompile(`(?m)^USER (.*)$`).FindStringSubmatch(stage); regexp.MustCompile(`^\S+ AS (service|bot)\n`).MatchString(stage) && (user == nil || user[1] != "10001:10001") {
			t.Errorf("an image runs as %q", user)
		}
	}
	data := service.Volumes[0]
	if directory := regexp.MustCompile(`STANDIN_DATA_DIR=(\S+)`).FindStringSubmatch(dockerfile); data.Type != "volume" ||
		!strings.HasPrefix(directory[1], data.Target+"/") {
		t.Errorf("the data is in %s, and the volume in %s", directory[1], data.Target)
	}
}

// TestComposeCluster checks the compose file with several nodes: the script sets its variables,
// bots cannot reach the database, and only the proxy is reachable from outside.
func TestComposeCluster(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "compose-secrets.sh")
	if err := os.WriteFile(script, read(t, "compose-secrets.sh"), 0o700); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), script)
	run.Env = append(os.Environ(), "DOCKER_SOCKET=/dev/null")
	if output, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	variables, err := dotenv.Read(filepath.Join(filepath.Dir(script), ".env"))
	if err != nil {
		t.Fatal(err)
	}
	project := loadCompose(t, "compose.cluster.yaml", variables)
	standin := project.Services["standin"]
	for name, value := range map[string]string{
		"STANDIN_DOCKER_NETWORK": project.Networks["bots"].Name, "STANDIN_BOT_IMAGE": standin.Image,
		"STANDIN_INGEST_SIGNING_KEY": variables["STANDIN_INGEST_SIGNING_KEY"],
	} {
		if got := standin.Environment[name]; value == "" || got == nil || *got != value {
			t.Errorf("%s is not %q", name, value)
		}
	}
	for _, name := range []string{"database", "storage.localhost", "proxy"} {
		networks := project.Services[name].Networks
		if _, inner := networks["inner"]; !inner || !project.Networks["inner"].Internal {
			t.Errorf("%s is not in the inner network", name)
		}
		if _, bots := networks["bots"]; bots {
			t.Errorf("bots can reach %s", name)
		}
	}
	for _, want := range []string{"nft -f /egress.nft", "com.docker.network.bridge.name: standin-bots", "./egress.nft:/egress.nft:ro"} {
		if !strings.Contains(string(read(t, "compose.cluster.yaml")), want) {
			t.Errorf("the egress rules are not loaded: %q is missing", want)
		}
	}
	if *standin.Deploy.Replicas < 2 || len(standin.Ports) > 0 {
		t.Errorf("the service has not several nodes behind the proxy: %+v", standin)
	}
	if again := exec.CommandContext(t.Context(), script).Run(); again == nil {
		t.Error("the script replaces the secrets of a running cluster")
	}
}

// TestReleaseInputs checks that images and binaries are built with the same Go version, and that
// the workflows use actions by commit.
func TestReleaseInputs(t *testing.T) {
	t.Parallel()
	toolchain := regexp.MustCompile(`(?m)^toolchain go(\S+)$`).FindStringSubmatch(string(read(t, "../go.mod")))
	if toolchain == nil || !strings.Contains(string(read(t, "Dockerfile")), "FROM golang:"+toolchain[1]+"-") {
		t.Errorf("go.mod has the toolchain %q, and the Dockerfile another", toolchain)
	}
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d`)
	for _, name := range []string{"ci.yml", "release.yml"} {
		for _, action := range strings.Split(string(read(t, "../.github/workflows/"+name)), "uses: ")[1:] {
			if !pinned.MatchString(action) {
				t.Errorf("%s uses %.80s", name, action)
			}
		}
	}
}

// TestVariables: the service reads every variable that the files set.
func TestVariables(t *testing.T) {
	t.Parallel()
	known := []string{"STANDIN_MAINTAINER"} // make deb and make release read it
	name := regexp.MustCompile(`STANDIN_[A-Z_]*[A-Z]`)
	known = append(known, name.FindAllString(string(read(t, "../docs/reference/configuration.md")), -1)...)
	files := []string{
		"compose.yaml", "compose.cluster.yaml", "compose.transcripts.yaml", "compose-secrets.sh", "Dockerfile", "README.md",
		"../docs/scale-out.md", "../docs/install.md",
	}
	for _, pattern := range []string{"kubernetes/*.yaml", "systemd/*", "helm/standin/values.yaml", "helm/standin/templates/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		for _, variable := range name.FindAllString(string(read(t, file)), -1) {
			if !slices.Contains(known, variable) {
				t.Errorf("%s names %s, which nobody reads", file, variable)
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
	for name, want := range map[string]bool{
		"clone": false, "clone3": false, "unshare": false, "chroot": false, "seccomp": false, "bpf": true, "mount": true, "ptrace": true,
		"kexec_load": true, "init_module": true, "keyctl": true,
	} {
		if slices.Contains(forbidden, name) != want {
			t.Errorf("%s is forbidden: %v", name, !want)
		}
	}
}
