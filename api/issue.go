package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Codes of issues that are not JSON Schema keywords. Other issues have the keyword
// as their code.
const (
	CodeInvalidJSON = "invalid_json" // the body is not valid JSON
	CodeChecksum    = "checksum"     // the body does not match its checksum
	CodeUnknown     = "unknown"      // the id does not exist
)

// Issue is an issue of a request, the Issue schema of openapi.yaml.
type Issue struct {
	Path    []any  `json:"path"` // strings, and ints for array indexes; never nil
	Message string `json:"message"`
	Code    string `json:"code"`

	value string // the refused value of an enum; empty unless it is a short text
}

// Sentence returns a message for people: Invalid status "foo". Use one of: …
func (i Issue) Sentence() string {
	field := joinPath(i.Path)
	values, isEnum := strings.CutPrefix(i.Message, enumMessage)
	switch {
	case field == "":
		return strings.ToUpper(i.Message[:1]) + i.Message[1:] + "."
	case i.Code == "required":
		return "Missing " + field + "."
	case isEnum && i.value != "":
		return "Invalid " + field + " " + strconv.Quote(i.value) + ". Use one of: " + values + "."
	}
	return "Invalid " + field + ": " + i.Message + "."
}

// enumMessage begins the message about a value that is not in a list.
const enumMessage = "must be one of "

// collect appends the issues of a failure and its causes.
func collect(issues []Issue, failure *jsonschema.ValidationError, root any) []Issue {
	path := readPath(failure.InstanceLocation, root)
	for _, cause := range failure.Causes {
		issues = collect(issues, cause, root)
	}
	if len(failure.Causes) > 0 {
		return issues
	}
	if required, ok := failure.ErrorKind.(*kind.Required); ok {
		for _, name := range required.Missing {
			issues = append(issues, Issue{
				Path: append(slices.Clone(path), name), Message: "is required", Code: "required",
			})
		}
		return issues
	}
	keyword := "schema"
	if keywords := failure.ErrorKind.KeywordPath(); len(keywords) > 0 {
		keyword = keywords[0]
	}
	if _, ok := failure.ErrorKind.(*kind.Not); ok {
		keyword = "readOnly" // a request must not have the field
	}
	issue := Issue{Path: path, Message: describe(failure.ErrorKind, keyword), Code: keyword}
	if enum, ok := failure.ErrorKind.(*kind.Enum); ok {
		const longest = 100
		if text, ok := enum.Got.(string); ok && len(text) <= longest {
			issue.value = text
		}
	}
	return append(issues, issue)
}

// readPath converts a JSON Pointer to a path. It walks the value to distinguish
// array indexes from field names.
func readPath(pointer []string, root any) []any {
	path := make([]any, 0, len(pointer)+1)
	at := root
	for _, token := range pointer {
		switch here := at.(type) {
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index >= len(here) {
				return append(path, token)
			}
			path, at = append(path, index), here[index]
		case map[string]any:
			path, at = append(path, token), here[token]
		default:
			path, at = append(path, token), nil
		}
	}
	return path
}

// describe returns a message about a failed keyword, to follow the field's name.
func describe(failed jsonschema.ErrorKind, keyword string) string {
	switch failed := failed.(type) {
	case *kind.Not:
		return "cannot be changed"
	case *kind.Type:
		return "must be " + typeList(failed.Want) + ", not " + typeName(failed.Got)
	case *kind.Format:
		return "must be " + failed.Err.Error()
	case *kind.Enum:
		return enumMessage + valueList(failed.Want)
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
	case *kind.MinProperties:
		if failed.Want == 1 {
			return "must have at least one known field"
		}
		return fmt.Sprintf("must have at least %d known fields", failed.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d fields", failed.Want)
	}
	return "does not match the keyword " + keyword + " of its schema"
}

// typeList joins the names of JSON types.
func typeList(types []string) (list string) {
	for i, name := range types {
		switch {
		case i == 0:
		case i == len(types)-1:
			list += " or "
		default:
			list += ", "
		}
		list += typeName(name)
	}
	return list
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

// valueList joins the values of an enum, strings without quotes.
func valueList(values []any) string {
	texts := make([]string, len(values))
	for i, value := range values {
		if text, ok := value.(string); ok {
			texts[i] = text
			continue
		}
		raw, _ := json.Marshal(value) // it was JSON in the description
		texts[i] = string(raw)
	}
	return strings.Join(texts, ", ")
}

// compareIssues orders issues by path, then by code.
func compareIssues(a, b Issue) int {
	return cmp.Or(
		slices.CompareFunc(a.Path, b.Path, func(a, b any) int {
			indexA, isIndexA := a.(int)
			indexB, isIndexB := b.(int)
			if isIndexA && isIndexB {
				return cmp.Compare(indexA, indexB)
			}
			return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Message, b.Message),
	)
}
