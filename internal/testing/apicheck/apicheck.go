// Package apicheck checks responses, webhooks and recording manifests against the
// schemas of the API description.
package apicheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/api"
)

// URLs of the documents in the schema compiler. Nothing is fetched from them.
const (
	descriptionURL = "https://standin.invalid/openapi.json"
	manifestURL    = "https://standin.invalid/manifest.schema.json"
)

// Checker checks bodies against their schemas. It is safe for concurrent use.
type Checker struct {
	responses map[responseKey]response
	webhooks  map[string]*jsonschema.Schema // by event
	manifest  *jsonschema.Schema
}

type responseKey struct{ method, path, status string }

// response is the expected body of a response.
type response struct {
	empty  bool
	schema *jsonschema.Schema // of a JSON body; nil for other bodies
	others bool               // the body may have another media type
}

// body is the part of a Response Object or Request Body Object that is needed here.
type body struct {
	Ref     string                     `json:"$ref"`
	Content map[string]json.RawMessage `json:"content"`
}

// document is the part of the description that is needed here.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Webhooks   map[string]json.RawMessage            `json:"webhooks"`
	Components struct {
		Responses map[string]body `json:"responses"`
	} `json:"components"`
}

// checkers caches the checkers of New. It maps the text of the schemas to a function
// that returns their checker.
var checkers sync.Map

// New returns a checker for a description. The test fails if a schema is invalid.
func New(t testing.TB, description *api.Description) *Checker {
	t.Helper()
	cached, _ := checkers.LoadOrStore(string(description.JSON())+string(description.ManifestSchema()),
		sync.OnceValues(func() (*Checker, error) { return newChecker(description) }))
	c, err := cached.(func() (*Checker, error))()
	if err != nil {
		t.Fatalf("compile the schemas of the description: %v", err)
	}
	return c
}

func newChecker(description *api.Description) (*Checker, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	for url, text := range map[string][]byte{descriptionURL: description.JSON(), manifestURL: description.ManifestSchema()} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", url, err)
		}
		if err := compiler.AddResource(url, value); err != nil {
			return nil, fmt.Errorf("add %s: %w", url, err)
		}
	}
	var doc document
	if err := json.Unmarshal(description.JSON(), &doc); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	c := &Checker{responses: map[responseKey]response{}, webhooks: map[string]*jsonschema.Schema{}}
	for _, operation := range description.Operations() {
		if err := c.addResponses(compiler, doc, operation); err != nil {
			return nil, fmt.Errorf("%s: %w", operation.ID, err)
		}
	}
	var err error
	for event := range doc.Webhooks {
		if c.webhooks[event], err = compiler.Compile(jsonSchema("webhooks", event, "post", "requestBody")); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", event, err)
		}
	}
	if c.manifest, err = compiler.Compile(manifestURL); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return c, nil
}

// addResponses compiles the schemas of the responses of an operation.
func (c *Checker) addResponses(compiler *jsonschema.Compiler, doc document, operation api.Operation) error {
	var item struct {
		Responses map[string]body `json:"responses"`
	}
	method := strings.ToLower(operation.Method)
	if err := json.Unmarshal(doc.Paths[operation.Path][method], &item); err != nil {
		return fmt.Errorf("read the responses: %w", err)
	}
	for status, content := range item.Responses {
		pointer := []string{"paths", operation.Path, method, "responses", status}
		if name, ok := strings.CutPrefix(content.Ref, "#/components/responses/"); ok {
			pointer, content = []string{"components", "responses", name}, doc.Components.Responses[name]
		}
		expected := response{empty: len(content.Content) == 0, others: len(content.Content) > 1}
		if content.Content["application/json"] != nil {
			var err error
			if expected.schema, err = compiler.Compile(jsonSchema(pointer...)); err != nil {
				return fmt.Errorf("status %s: %w", status, err)
			}
		}
		c.responses[responseKey{operation.Method, operation.Path, status}] = expected
	}
	return nil
}

// jsonSchema returns the URL of the schema of a JSON body (RFC 6901, section 6).
func jsonSchema(pointer ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	url := descriptionURL + "#"
	for _, key := range slices.Concat(pointer, []string{"content", "application/json", "schema"}) {
		url += "/" + escape.Replace(key)
	}
	return url
}

// Response checks the status and the body of a response. The path is the template
// of the operation.
func (c *Checker) Response(method, path string, status int, text []byte) error {
	expected, ok := c.responses[responseKey{method, path, strconv.Itoa(status)}]
	if !ok {
		return fmt.Errorf("%s %s has no status %d", method, path, status)
	}
	switch {
	case expected.empty && len(text) > 0:
		return fmt.Errorf("%s %s %d must not have a body, got %d bytes", method, path, status, len(text))
	case expected.schema == nil:
		return nil
	case expected.others && !bytes.HasPrefix(text, []byte("{")): // not a JSON object
		return nil
	}
	return check(expected.schema, text)
}

// Error checks an error body that belongs to no operation, for example of an unknown
// path.
func (c *Checker) Error(text []byte) error {
	return c.Response("POST", "/api/v1/jobs", 400, text)
}

// Webhook checks the body of a webhook with payload version 2.
func (c *Checker) Webhook(event string, text []byte) error {
	schema, ok := c.webhooks[event]
	if !ok {
		return fmt.Errorf("unknown event %s", event)
	}
	return check(schema, text)
}

// Manifest checks a recording manifest.
func (c *Checker) Manifest(text []byte) error { return check(c.manifest, text) }

func check(schema *jsonschema.Schema, text []byte) error {
	value, issues := api.Parse(text)
	if len(issues) > 0 {
		return errors.New(issues[0].Message)
	}
	return schema.Validate(value)
}
