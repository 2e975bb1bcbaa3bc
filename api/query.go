package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// queryParameter is a query parameter of an operation.
type queryParameter struct {
	name    string
	numeric bool // its schema accepts numbers
	instant bool // its schema accepts date-times
	list    bool // it may be repeated; its schema is that of the items
	schema  *jsonschema.Schema
}

// addQuery compiles the query parameters of the operation at a JSON Pointer.
func (d *Description) addQuery(compiler *jsonschema.Compiler, o *outline, operation outlineOperation, at string) error {
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
		if parameter.Name == metadataPrefix+"{key}" {
			d.filtered[operation.OperationID] = true
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
		d.queries[operation.OperationID] = append(d.queries[operation.OperationID], queryParameter{
			name: parameter.Name, numeric: takesNumbers(schema), list: list, schema: schema,
			instant: schema.Format != nil && schema.Format.Name == "date-time",
		})
	}
	return nil
}

// takesNumbers reports whether a schema, or the schema that it refers to, has a
// numeric type.
func takesNumbers(schema *jsonschema.Schema) bool {
	for schema.Ref != nil {
		schema = schema.Ref
	}
	if schema.Types == nil {
		return false
	}
	types := schema.Types.ToStrings()
	return slices.Contains(types, "integer") || slices.Contains(types, "number")
}

// metadataPrefix begins the names of query parameters that filter by metadata, which
// openapi.yaml describes as metadata.{key}.
const metadataPrefix = "metadata."

// CheckQuery checks the query parameters of an operation against their schemas.
// Numbers become json.Number, repeatable parameters lists, and other values strings.
func (d *Description) CheckQuery(operationID string, query url.Values) Checked {
	values := map[string]any{}
	checked := Checked{value: values}
	known := map[string]bool{}
	for _, parameter := range d.queries[operationID] {
		known[parameter.name] = true
		given := query[parameter.name]
		switch {
		case len(given) == 0:
		case parameter.list:
			items := []any{}
			for _, text := range given {
				for item := range strings.SplitSeq(text, ",") {
					items = append(items, parameter.check(item, &checked))
				}
			}
			values[parameter.name] = items
		case len(given) > 1:
			checked.Issues = append(checked.Issues, Issue{Path: []any{parameter.name}, Message: "must be given once", Code: "maxItems"})
		default:
			values[parameter.name] = parameter.check(parameter.read(given[0]), &checked)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case known[name]:
		case d.filtered[operationID] && strings.HasPrefix(name, metadataPrefix):
			p := preparation{path: []any{name}}
			for _, part := range append([]string{name}, query[name]...) {
				p.text(nil, part)
			}
			checked.Issues = append(checked.Issues, p.issues...)
		default:
			checked.Ignored = append(checked.Ignored, name)
		}
	}
	return checked
}

// check returns a value of the parameter, prepared for Checked.Decode, and adds its
// issues.
func (p queryParameter) check(value any, checked *Checked) any {
	result := body{schema: p.schema}.check(value)
	for _, issue := range result.Issues {
		issue.Path = []any{p.name}
		checked.Issues = append(checked.Issues, issue)
	}
	return result.value
}

// numberForm is a number of JSON (RFC 8259, section 6).
var numberForm = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// read converts a text to the type of the parameter's schema, if it has its form.
func (p queryParameter) read(text string) any {
	switch {
	case p.numeric && numberForm.MatchString(text) && checkNumber(text) == "":
		return json.Number(text)
	case p.instant:
		// A plus sign in a query is decoded as a space, which no date-time contains.
		return strings.ReplaceAll(text, " ", "+")
	}
	return text
}
