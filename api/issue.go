package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Codes of issues that no JSON Schema keyword names. A keyword's issue has the
// keyword as its code.
const (
	CodeInvalidJSON = "invalid_json" // the body cannot be read
	CodeChecksum    = "checksum"     // the body does not agree with its checksum
	CodeUnknown     = "unknown"      // the id of something that does not exist
)

// maxItems is how many items of a list are checked. It is more than any
// request's schema allows, so that a longer list always has an issue, and few
// enough that a body full of issues is cheap to refuse.
const maxItems = 1001

// Issue is one thing that is wrong with a request (specification, Error).
type Issue struct {
	Path    []any  `json:"path"` // strings, and ints for array places; never nil
	Message string `json:"message"`
	Code    string `json:"code"`
}

// CheckRequest reads a body and checks it against the request schema of an
// operation. The value is as Parse returns it, and is only to be used when
// there is no issue. An operation that takes no JSON body is a mistake of the
// caller's and panics.
func (d *Description) CheckRequest(operationID string, body []byte) (any, []Issue) {
	value, issues := Parse(body)
	if issues != nil {
		return nil, issues
	}
	return value, d.CheckValue(operationID, value)
}

// CheckValue is the second half of CheckRequest, for a value from Parse.
func (d *Description) CheckValue(operationID string, value any) []Issue {
	schema, ok := d.requests[operationID]
	if !ok {
		panic("api: no operation " + operationID + " with a JSON body")
	}
	return check(schema, value)
}

// CheckIdentity checks only jobId and attempt of a bot's message: what must
// be right before its token can be judged (contract, State machine).
func (d *Description) CheckIdentity(value any) []Issue { return check(d.identity, value) }

// check returns every issue of a value, in a stable order.
func check(schema *jsonschema.Schema, value any) []Issue {
	err := schema.Validate(shortened(value))
	if err == nil {
		return nil
	}
	var failure *jsonschema.ValidationError
	if !errors.As(err, &failure) {
		return []Issue{{Path: []any{}, Message: "cannot be checked", Code: CodeInvalidJSON}}
	}
	issues := collect(nil, failure, value)
	slices.SortStableFunc(issues, compareIssues)
	return issues
}

// shortened is the value with the lists among its fields cut to what is
// checked. The value itself stays as it is.
func shortened(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	var short map[string]any
	for name, field := range fields {
		if items, ok := field.([]any); ok && len(items) > maxItems {
			if short == nil {
				short = maps.Clone(fields)
			}
			short[name] = items[:maxItems]
		}
	}
	if short == nil {
		return value
	}
	return short
}

// collect appends the issues that a failure and its causes stand for.
func collect(issues []Issue, failure *jsonschema.ValidationError, root any) []Issue {
	for _, cause := range failure.Causes {
		issues = collect(issues, cause, root)
	}
	if len(failure.Causes) > 0 {
		return issues
	}
	path := readPath(failure.InstanceLocation, root)
	if required, ok := failure.ErrorKind.(*kind.Required); ok {
		for _, name := range required.Missing {
			issues = append(issues, Issue{
				Path: append(slices.Clone(path), name), Message: "is required", Code: "required",
			})
		}
		return issues
	}
	keyword := "schema" // of a schema that is false and so takes nothing
	if keywords := failure.ErrorKind.KeywordPath(); len(keywords) > 0 {
		keyword = keywords[0]
	}
	return append(issues, Issue{Path: path, Message: say(failure.ErrorKind, keyword), Code: keyword})
}

// readPath tells places in arrays from names of fields, which look alike in a
// JSON Pointer, by walking the value.
func readPath(pointer []string, root any) []any {
	path := make([]any, 0, len(pointer)+1)
	at := root
	for _, token := range pointer {
		switch here := at.(type) {
		case []any:
			place, err := strconv.Atoi(token)
			if err != nil || place >= len(here) {
				return append(path, token)
			}
			path, at = append(path, place), here[place]
		case map[string]any:
			path, at = append(path, token), here[token]
		default:
			path, at = append(path, token), nil
		}
	}
	return path
}

// say puts a failed keyword into words that follow the field's name.
func say(failed jsonschema.ErrorKind, keyword string) string {
	switch failed := failed.(type) {
	case *kind.Type:
		return "must be " + orList(typeNames(failed.Want)) + ", not " + typeName(failed.Got)
	case *kind.Format:
		return "must be " + failed.Err.Error()
	case *kind.Enum:
		return "must be one of " + valueList(failed.Want)
	case *kind.Const:
		return "must be " + valueList([]any{failed.Want})
	case *kind.Pattern:
		if failed.Want == `\S` {
			return "must not be blank"
		}
		return "must match the pattern " + failed.Want
	case *kind.MinLength:
		if failed.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must be at least %d characters long", failed.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must be at most %d characters long", failed.Want)
	case *kind.Minimum:
		return "must be at least " + failed.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + failed.Want.RatString()
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", failed.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", failed.Want)
	}
	return "does not fit its schema's " + keyword
}

func typeNames(types []string) []string {
	names := make([]string, len(types))
	for i, name := range types {
		names[i] = typeName(name)
	}
	return names
}

// typeName puts an article before the name of a JSON type.
func typeName(name string) string {
	switch name {
	case "null":
		return name
	case "array", "integer", "object":
		return "an " + name
	}
	return "a " + name
}

func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// valueList writes the values of an enum; strings need no quotes to be read.
func valueList(values []any) string {
	texts := make([]string, len(values))
	for i, value := range values {
		if text, ok := value.(string); ok {
			texts[i] = text
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			raw = fmt.Append(nil, value)
		}
		texts[i] = string(raw)
	}
	return strings.Join(texts, ", ")
}

// compareIssues orders issues by path, then by code.
func compareIssues(a, b Issue) int {
	return cmp.Or(
		slices.CompareFunc(a.Path, b.Path, compareSegments),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message),
	)
}

func compareSegments(a, b any) int {
	placeA, isPlaceA := a.(int)
	placeB, isPlaceB := b.(int)
	if isPlaceA && isPlaceB {
		return cmp.Compare(placeA, placeB)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
