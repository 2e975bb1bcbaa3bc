package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"standin/internal/base/text"
)

// Formats of free text in openapi.yaml. All other described texts are identifiers,
// addresses and the like, without line breaks and tabs.
const (
	textFormat = "text" // may have several lines
	nameFormat = "name" // shown on one line
)

// maxFreeText is the number of characters to which texts of a bot are cut where the
// schema sets no maximum.
const maxFreeText = 10_000

// preparation copies a value of Parse for its check and for Checked.Decode.
type preparation struct {
	fromBot bool

	path    []any // path of the value that is being copied
	issues  []Issue
	ignored []string
}

// prepare returns a copy of a value. The schema is nil within an object of any form.
func (p *preparation) prepare(schema *jsonschema.Schema, value any) any {
	schema = resolve(schema)
	switch value := value.(type) { // one of the wrong type has an issue whatever is in it
	case map[string]any:
		if !accepts(schema, "object") {
			return map[string]any{}
		}
		described := schema != nil && len(schema.Properties) > 0 && schema.AdditionalProperties == nil // it has only these
		fields := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) { // the last of names that are equal once cleaned wins
			p.path = append(p.path, name)
			var property *jsonschema.Schema
			if schema != nil {
				property = schema.Properties[name]
			}
			if described && property == nil {
				p.ignored = append(p.ignored, joinPath(p.path))
			} else {
				fields[p.text(nil, name)] = p.prepare(property, value[name])
			}
			p.path = p.path[:len(p.path)-1]
		}
		return fields
	case []any:
		if !accepts(schema, "array") {
			return []any{}
		}
		// A list that is too long has an issue whatever its other items are. They are left
		// out, so that refusing a list full of issues is cheap.
		var item *jsonschema.Schema
		if schema != nil {
			item = schema.Items2020
			if schema.MaxItems != nil {
				value = value[:min(len(value), *schema.MaxItems+1)]
			}
		}
		items := make([]any, len(value))
		for i, inner := range value {
			p.path = append(p.path, i)
			items[i] = p.prepare(item, inner)
			p.path = p.path[:len(p.path)-1]
		}
		return items
	case string:
		return p.text(schema, value)
	case json.Number: // an integer has no fraction and no exponent: 60 for 60.0 and for 6e1
		if schema != nil && schema.Types != nil && accepts(schema, "integer") {
			if exact, ok := new(big.Rat).SetString(string(value)); ok && exact.IsInt() && exact.Num().IsInt64() {
				return json.Number(exact.Num().String())
			}
		}
	}
	return value
}

// text checks a text, and cleans free text of a bot.
func (p *preparation) text(schema *jsonschema.Schema, value string) string {
	format, limit := textFormat, maxFreeText
	if schema != nil {
		format, limit = "", math.MaxInt
		if schema.Format != nil {
			format = schema.Format.Name
		}
		if schema.MaxLength != nil {
			limit = *schema.MaxLength
		}
	}
	var err error
	switch free := format == textFormat || format == nameFormat; {
	case free && p.fromBot && format == nameFormat:
		return text.CleanLine(value, min(limit, maxFreeText))
	case free && p.fromBot:
		return text.Clean(value, min(limit, maxFreeText))
	case free:
		err = text.Check(value, math.MaxInt)
	default:
		err = text.CheckLine(value, math.MaxInt)
	}
	if err != nil && len(p.issues) < 100 { // refusing a body full of them is cheap
		p.issues = append(p.issues, Issue{Path: append([]any{}, p.path...), Message: err.Error(), Code: "format"})
	}
	if format == "date-time" {
		if parsed, ok := parseDateTime(value); ok {
			return parsed.Format(time.RFC3339Nano)
		}
	}
	return value
}

// accepts reports whether a schema, which may be nil, allows values of a type.
func accepts(schema *jsonschema.Schema, name string) bool {
	return schema == nil || schema.Types == nil || slices.Contains(schema.Types.ToStrings(), name)
}

// resolve follows the references of a schema. The schema may be nil.
func resolve(schema *jsonschema.Schema) *jsonschema.Schema {
	for schema != nil && schema.Ref != nil {
		schema = schema.Ref
	}
	return schema
}

// joinPath joins a path with periods: stats.roster.
func joinPath(path []any) string {
	segments := make([]string, len(path))
	for i, segment := range path {
		segments[i] = fmt.Sprint(segment)
	}
	return strings.Join(segments, ".")
}
