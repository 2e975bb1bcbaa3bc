// Package api embeds the OpenAPI description of Standin's HTTP API and the JSON
// Schema of the recording manifest, and checks requests against the description.
//
// The description is written in openapi.yaml. The other files are made from it by make
// collection: openapi.json is the same document, manifest.schema.json and
// texts.schema.json have its schemas Manifest and TextFile, for validators that read no
// OpenAPI, and standin.postman_collection.json has its operations.
//
// It imports no other package of Standin but text.
package api

import (
	"bytes"
	_ "embed" // for the two documents
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi.json
var document []byte

//go:embed manifest.schema.json
var manifestSchema []byte

// descriptionURL is the URL of the description in the schema compiler. Nothing is
// fetched from it.
const descriptionURL = "https://standin.invalid/openapi.json"

// Description is the compiled OpenAPI description. It is safe for concurrent
// use.
type Description struct {
	operations []Operation
	bodies     map[string]body             // by operation id
	queries    map[string][]queryParameter // by operation id
	identity   body                        // jobId and attempt of a bot's message
}

// body is the schema of a request's body.
type body struct {
	schema  *jsonschema.Schema
	fromBot bool // free text is cleaned instead of refused
}

// Operation names one operation of the description.
type Operation struct {
	ID       string
	Method   string   // upper case
	Path     string   // template: /api/v1/jobs/{id}
	Security string   // name of the security scheme; empty without credentials
	Statuses []string // of its responses, in order
}

// Load returns the compiled description. The first call compiles it. It fails only when
// it is invalid.
func Load() (*Description, error) { return load() }

var load = sync.OnceValues(compile)

// compile compiles the description.
func compile() (*Description, error) {
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	var o outline
	if err := json.Unmarshal(document, &o); err != nil {
		return nil, fmt.Errorf("read the outline of the description: %w", err)
	}
	identity, err := compiler.Compile(descriptionURL + "#/components/schemas/BotIdentity")
	if err != nil {
		return nil, fmt.Errorf("compile the schema of a bot's identity: %w", err)
	}
	d := &Description{
		bodies: map[string]body{}, queries: map[string][]queryParameter{}, identity: body{schema: identity, fromBot: true},
	}
	for path, item := range o.Paths {
		for method, raw := range item {
			if !slices.Contains(Methods(), strings.ToUpper(method)) {
				continue // for example parameters
			}
			if err := d.addOperation(compiler, &o, path, method, raw); err != nil {
				return nil, fmt.Errorf("%s %s: %w", strings.ToUpper(method), path, err)
			}
		}
	}
	slices.SortFunc(d.operations, func(a, b Operation) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return d, nil
}

// JSON returns the description as OpenAPI in JSON, in the order of the file.
// The caller must not change it.
func (d *Description) JSON() []byte { return document }

// ServedAt returns the description of a service at a base URL in JSON, so that what is
// generated from a saved copy calls that service.
func (d *Description) ServedAt(baseURL string) ([]byte, error) {
	server, _ := json.Marshal(baseURL) // a text can always be encoded
	relative := []byte(`"servers":[{"url":"/"`)
	if !bytes.Contains(document, relative) {
		return nil, errors.New("the first server of the description is not /")
	}
	return bytes.Replace(document, relative, slices.Concat([]byte(`"servers":[{"url":`), server), 1), nil
}

// YAML returns a description in YAML, without anchors, which not every parser reads.
func YAML(description []byte) ([]byte, error) {
	text, err := yaml.JSONToYAML(description)
	if err != nil {
		return nil, fmt.Errorf("write the description as YAML: %w", err)
	}
	return text, nil
}

// ManifestSchema returns the JSON Schema of the recording manifest. The caller
// must not change it.
func (d *Description) ManifestSchema() []byte { return manifestSchema }

// Operations lists every operation, ordered by path and method.
func (d *Description) Operations() []Operation { return slices.Clone(d.operations) }

// newCompiler returns a compiler with the description and the formats of this package.
func newCompiler() (*jsonschema.Compiler, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	for _, format := range formats() {
		compiler.RegisterFormat(format)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("parse the description: %w", err)
	}
	if err := compiler.AddResource(descriptionURL, value); err != nil {
		return nil, fmt.Errorf("add the description: %w", err)
	}
	return compiler, nil
}

// outline is the part of an OpenAPI document that locates its schemas.
type outline struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Parameters map[string]outlineParameter `json:"parameters"`
	} `json:"components"`
}

type outlineOperation struct {
	OperationID string                     `json:"operationId"`
	Parameters  []outlineParameter         `json:"parameters"`
	Security    []map[string]any           `json:"security"`
	Responses   map[string]json.RawMessage `json:"responses"`
	RequestBody struct {
		Content map[string]json.RawMessage `json:"content"`
	} `json:"requestBody"`
}

type outlineParameter struct {
	Ref  string `json:"$ref"`
	Name string `json:"name"`
	In   string `json:"in"`

	Schema struct {
		Type any `json:"type"`
	} `json:"schema"`
}

// Methods returns the HTTP methods that operations can have.
func Methods() []string {
	return []string{
		http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead, http.MethodPatch,
		http.MethodTrace,
	}
}

// addOperation compiles the schemas of an operation: of its body, and of its query parameters.
func (d *Description) addOperation(compiler *jsonschema.Compiler, o *outline, path, method string, raw json.RawMessage) error {
	var operation outlineOperation
	if err := json.Unmarshal(raw, &operation); err != nil {
		return fmt.Errorf("read the operation: %w", err)
	}
	if operation.OperationID == "" {
		return fmt.Errorf("no operationId")
	}
	security := ""
	for _, schemes := range operation.Security {
		for name := range schemes {
			security = name
		}
	}
	d.operations = append(d.operations, Operation{
		ID: operation.OperationID, Method: strings.ToUpper(method), Path: path, Security: security,
		Statuses: slices.Sorted(maps.Keys(operation.Responses)),
	})
	// A key of a JSON Pointer in a URL fragment is escaped (RFC 6901, sections 3 and 6).
	at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" + method
	if operation.RequestBody.Content[jsonType] != nil {
		schema, err := compiler.Compile(descriptionURL + "#" + at + "/requestBody/content/application~1json/schema")
		if err != nil {
			return fmt.Errorf("compile the request's schema: %w", err)
		}
		d.bodies[operation.OperationID] = body{schema: schema, fromBot: security == "botToken"}
	}
	for i, parameter := range operation.Parameters {
		pointer := at + "/parameters/" + strconv.Itoa(i)
		if parameter.Ref != "" {
			name, ok := strings.CutPrefix(parameter.Ref, "#/components/parameters/")
			component, known := o.Components.Parameters[name]
			if !ok || !known {
				return fmt.Errorf("no parameter %s", parameter.Ref)
			}
			pointer, parameter = "/components/parameters/"+name, component
		}
		if parameter.In != "query" {
			continue
		}
		list := parameter.Schema.Type == "array"
		if pointer += "/schema"; list {
			pointer += "/items"
		}
		schema, err := compiler.Compile(descriptionURL + "#" + pointer)
		if err != nil {
			return fmt.Errorf("compile the schema of the parameter %s: %w", parameter.Name, err)
		}
		resolved := resolve(schema)
		d.queries[operation.OperationID] = append(d.queries[operation.OperationID], queryParameter{
			name: parameter.Name, list: list, schema: schema,
			numeric: resolved.Types != nil && (accepts(resolved, "integer") || accepts(resolved, "number")),
			pairs:   parameter.Name == "metadata",
			instant: schema.Format != nil && schema.Format.Name == "date-time",
		})
	}
	return nil
}

const jsonType = "application/json"
