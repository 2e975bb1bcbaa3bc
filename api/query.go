package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// queryParameter is one parameter of an operation's query.
type queryParameter struct {
	name    string
	numeric bool // its schema takes numbers, so its text is read as one
	instant bool // its schema takes date-times
	schema  *jsonschema.Schema
}

// addQuery compiles the query parameters of an operation, which is at a
// pointer of the description.
func (d *Description) addQuery(compiler *jsonschema.Compiler, o *outline, operation outlineOperation, at string) error {
	for i, parameter := range operation.Parameters {
		place := at + "/parameters/" + strconv.Itoa(i)
		if parameter.Ref != "" {
			name, ok := strings.CutPrefix(parameter.Ref, "#/components/parameters/")
			component, known := o.Components.Parameters[name]
			if !ok || !known {
				return fmt.Errorf("no parameter %s", parameter.Ref)
			}
			place, parameter = "/components/parameters/"+name, component
		}
		if parameter.In != "query" {
			continue
		}
		schema, err := compiler.Compile(descriptionURL + "#" + place + "/schema")
		if err != nil {
			return fmt.Errorf("compile the schema of the parameter %s: %w", parameter.Name, err)
		}
		d.queries[operation.OperationID] = append(d.queries[operation.OperationID], queryParameter{
			name: parameter.Name, numeric: takesNumbers(schema), schema: schema,
			instant: schema.Format != nil && schema.Format.Name == "date-time",
		})
	}
	return nil
}

// takesNumbers reports whether a schema, or the one that it refers to, names a
// type of numbers.
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

// CheckQuery reads the query parameters of an operation and checks each
// against its schema. Numbers become json.Number, anything else is a string;
// the values are only to be used when there is no issue. A parameter that is
// empty counts as omitted, one that the operation does not have is ignored.
func (d *Description) CheckQuery(operationID string, query url.Values) (map[string]any, []Issue) {
	values := map[string]any{}
	var issues []Issue
	for _, parameter := range d.queries[operationID] {
		given := query[parameter.name]
		if len(given) > 1 {
			issues = append(issues, Issue{Path: []any{parameter.name}, Message: "must be given once", Code: "maxItems"})
			continue
		}
		if len(given) == 0 || given[0] == "" {
			continue
		}
		value := parameter.read(given[0])
		values[parameter.name] = value
		for _, found := range check(parameter.schema, value) {
			found.Path = []any{parameter.name}
			issues = append(issues, found)
		}
	}
	return values, issues
}

// numberForm is a number of JSON (RFC 8259, section 6).
var numberForm = regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$`)

// read gives a text the type that the parameter's schema asks for, as far as
// it has that form.
func (p queryParameter) read(text string) any {
	switch {
	case p.numeric && numberForm.MatchString(text) && checkNumber(text) == "":
		return json.Number(text)
	case p.instant:
		// A plus sign means a space in a query. No date-time holds a space, so it was meant as itself.
		return strings.ReplaceAll(text, " ", "+")
	}
	return text
}
