package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var update = flag.Bool("update", false, "write the files that are made from openapi.yaml")

// TestDescriptionFile: openapi.json is openapi.yaml, with its keys in the same order.
func TestDescriptionFile(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	converted, err := yaml.YAMLToJSON(source)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, converted); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(document, want.Bytes()) {
		t.Error("openapi.json is not openapi.yaml; run make collection")
	}
}

// TestSchemaFiles: the files have the schemas of the description, but refuse unknown
// fields, so that tests of manifests and text files find fields that nobody described.
func TestSchemaFiles(t *testing.T) {
	t.Parallel()
	root, _ := parsedDescription(t)
	schemas := root.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	for file, name := range map[string]string{"manifest.schema.json": "Manifest", "texts.schema.json": "TextFile"} {
		definitions := map[string]any{}
		schema := standalone(schemas, name, definitions)
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		schema["title"] = name
		schema["$defs"] = definitions
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(schema); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not the schema %s of openapi.yaml (%v); run make collection", file, name, err)
		}
	}
}

// standalone returns a copy of a schema of the description whose references point to
// definitions, to which it adds what they refer to.
func standalone(schemas map[string]any, name string, definitions map[string]any) map[string]any {
	var copied func(value any) any
	copied = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			out := map[string]any{}
			for key, inner := range value {
				out[key] = copied(inner)
			}
			if ref, ok := value["$ref"].(string); ok {
				name := ref[strings.LastIndex(ref, "/")+1:]
				if _, done := definitions[name]; !done {
					definitions[name] = nil // ends a circle
					definitions[name] = standalone(schemas, name, definitions)
				}
				out["$ref"] = "#/$defs/" + name
			}
			if value["properties"] != nil {
				out["additionalProperties"] = false
			}
			return out
		case []any:
			out := slices.Clone(value)
			for i, inner := range out {
				out[i] = copied(inner)
			}
			return out
		}
		return value
	}
	return copied(schemas[name]).(map[string]any)
}
