package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type responseKey struct{ method, path, status string }

// response is what one status of one operation looks like.
type response struct {
	empty  bool               // nothing may stand in the body
	schema *jsonschema.Schema // of a JSON body; nil when the body is none
}

// newResponse compiles the response found at a pointer of the description, or
// the component that it refers to.
func newResponse(compiler *jsonschema.Compiler, o *outline, at string, body outlineBody) (*response, error) {
	if body.Ref != "" {
		name, ok := strings.CutPrefix(body.Ref, "#/components/responses/")
		component, known := o.Components.Responses[name]
		if !ok || !known {
			return nil, fmt.Errorf("no response %s", body.Ref)
		}
		at, body = "/components/responses/"+name, component
	}
	if len(body.Content) == 0 {
		return &response{empty: true}, nil
	}
	if body.Content[jsonType] == nil {
		return &response{}, nil
	}
	schema, err := compiler.Compile(descriptionURL + "#" + at + jsonSchemaAt)
	if err != nil {
		return nil, fmt.Errorf("compile the response's schema: %w", err)
	}
	return &response{schema: schema}, nil
}

// CheckResponse reports what is wrong with an answer: an operation or a status
// that the description does not know, or a body that does not fit. The path is
// the operation's template. For the answers that belong to no operation see
// CheckError.
func (d *Description) CheckResponse(method, path string, status int, body []byte) error {
	answer, ok := d.responses[responseKey{method, path, strconv.Itoa(status)}]
	if !ok {
		return fmt.Errorf("%s %s may not answer %d", method, path, status)
	}
	switch {
	case answer.empty && len(body) > 0:
		return fmt.Errorf("%s %s %d has no body, got %d bytes", method, path, status, len(body))
	case answer.schema == nil:
		return nil
	}
	return checkJSON(answer.schema, body)
}

// CheckError reports what is wrong with an error body that no operation
// describes: of an unknown path or a wrong method.
func (d *Description) CheckError(body []byte) error {
	answer, ok := d.responses[responseKey{"POST", "/api/v1/jobs", "400"}]
	if !ok {
		return errors.New("the description has lost its errors")
	}
	return checkJSON(answer.schema, body)
}

// CheckWebhook reports what is wrong with the body of a webhook in payload
// version 2, or that there is no such event.
func (d *Description) CheckWebhook(event string, body []byte) error {
	schema, ok := d.webhooks[event]
	if !ok {
		return fmt.Errorf("there is no event %s", event)
	}
	return checkJSON(schema, body)
}

// CheckManifest reports what is wrong with a recording manifest.
func (d *Description) CheckManifest(manifest []byte) error {
	return checkJSON(d.manifest, manifest)
}

// checkJSON reports every issue of a JSON text in one error.
func checkJSON(schema *jsonschema.Schema, text []byte) error {
	value, issues := Parse(text)
	if issues == nil {
		issues = check(schema, value)
	}
	failures := make([]error, len(issues))
	for i, issue := range issues {
		path, err := json.Marshal(issue.Path)
		if err != nil {
			return fmt.Errorf("write the path of an issue: %w", err)
		}
		failures[i] = fmt.Errorf("%s %s (%s)", path, issue.Message, issue.Code)
	}
	return errors.Join(failures...)
}
