package deploy_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// apiServer is the module with the API server of make launchers. Its go.mod fixes the
// release of Kubernetes.
const apiServer = "../internal/testing/apiservertest/server"

// TestSchemas: the manifests and the chart's objects match the schemas that Kubernetes
// publishes. TestManifests and TestChart refuse unknown fields, which these schemas
// allow.
func TestSchemas(t *testing.T) {
	t.Parallel()
	long(t)
	schemas := kubernetesSchemas(t)
	for name, documents := range map[string][]byte{
		"kubernetes": manifests(t), "chart": renderChart(t, ""), "chart with all values": renderChart(t, fullValues),
	} {
		for _, problem := range schemas.check(t, documents) {
			t.Errorf("%s: %v", name, problem)
		}
	}
}

// schemas are the schemas of one release of Kubernetes.
type schemas struct {
	dir      string
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by version and kind
}

// kubernetesSchemas downloads the source of Kubernetes, 22 MB, with Go's module proxy.
func kubernetesSchemas(t *testing.T) schemas {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "k8s.io/kubernetes")
	download.Dir = apiServer
	out, err := download.Output()
	var module struct{ Dir, Error string }
	if decodeErr := json.Unmarshal(out, &module); err != nil || decodeErr != nil || module.Dir == "" {
		t.Fatalf("download Kubernetes (the first time it needs Go's module proxy): %v %s", err, module.Error)
	}
	return schemas{filepath.Join(module.Dir, "api", "openapi-spec", "v3"), jsonschema.NewCompiler(), make(map[string]*jsonschema.Schema)}
}

// check returns the problems of the documents in a YAML file.
func (s schemas) check(t *testing.T, file []byte) (problems []error) {
	t.Helper()
	for document := range bytes.SplitSeq(file, []byte("\n---\n")) {
		encoded, err := yaml.ToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		var object struct{ APIVersion, Kind string }
		if err := json.Unmarshal(encoded, &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "" || object.Kind == "ServiceMonitor" {
			continue // only comments, or not of Kubernetes
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.of(t, object.APIVersion, object.Kind).Validate(value); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// of returns the schema of a kind.
func (s schemas) of(t *testing.T, version, kind string) *jsonschema.Schema {
	t.Helper()
	if compiled := s.compiled[version+" "+kind]; compiled != nil {
		return compiled
	}
	file, name := "api__"+version, "core."+version
	if group, number, grouped := strings.Cut(version, "/"); grouped {
		short, _, _ := strings.Cut(group, ".")
		file, name = "apis__"+group+"__"+number, short+"."+number
	}
	compiled, err := s.compiler.Compile("file://" + filepath.Join(s.dir, file+"_openapi.json") + "#/components/schemas/io.k8s.api." + name +
		"." + kind)
	if err != nil {
		t.Fatal(err)
	}
	s.compiled[version+" "+kind] = compiled
	return compiled
}
