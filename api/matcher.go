package api

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// matcher accepts valid bodies of objects, strings, integers and booleans in less time
// than their schema. A value that it does not accept may still be valid: only the schema
// decides.
type matcher struct {
	kind       string              // object, string, integer or boolean
	required   []string            // of an object
	properties map[string]*matcher // of an object; nil where only the schema can check the property
	enum       []any               // of a string; empty for any
	format     *jsonschema.Format  // nil for any
	min, max   int64               // of an integer, or of the length of a string
}

// Fields of a compiled schema that a matcher implements, and those that do not affect
// which values are valid.
var (
	matcherKeywords   = []string{"Types", "Required", "Properties", "Enum", "Format", "MinLength", "MaxLength", "Minimum", "Maximum"}
	schemaAnnotations = []string{
		"DraftVersion", "Location", "Title", "Description", "Default", "Comment", "ReadOnly", "WriteOnly", "Examples", "Deprecated",
	}
)

// newMatcher returns the matcher of a schema, or nil if the schema has other keywords
// or several types. The schema must not contain itself.
func newMatcher(schema *jsonschema.Schema) *matcher {
	if schema.Ref != nil && hasOnly(schema, "Ref") {
		return newMatcher(schema.Ref)
	}
	if !hasOnly(schema, matcherKeywords...) || schema.Types == nil {
		return nil
	}
	kinds := schema.Types.ToStrings()
	if len(kinds) != 1 || !slices.Contains([]string{"object", "string", "integer", "boolean"}, kinds[0]) {
		return nil
	}
	m := &matcher{kind: kinds[0], required: schema.Required, format: schema.Format, min: math.MinInt64, max: math.MaxInt64}
	if schema.Enum != nil {
		m.enum = schema.Enum.Values
	}
	if !m.setBounds(schema) || (m.kind != "string" && m.enum != nil) {
		return nil
	}
	m.properties = make(map[string]*matcher, len(schema.Properties))
	for name, property := range schema.Properties {
		m.properties[name] = newMatcher(property)
	}
	return m
}

// hasOnly reports whether a schema has no keywords but these and annotations.
func hasOnly(schema *jsonschema.Schema, keywords ...string) bool {
	fields := reflect.ValueOf(schema).Elem()
	for i := range fields.NumField() {
		field := fields.Type().Field(i)
		if field.IsExported() && !fields.Field(i).IsZero() && !slices.Contains(keywords, field.Name) && !slices.Contains(schemaAnnotations, field.Name) {
			return false
		}
	}
	return true
}

// setBounds sets min and max. It reports false if they are not integers.
func (m *matcher) setBounds(schema *jsonschema.Schema) bool {
	for _, bound := range []struct {
		into   *int64
		length *int
		number *big.Rat
	}{{&m.min, schema.MinLength, schema.Minimum}, {&m.max, schema.MaxLength, schema.Maximum}} {
		switch {
		case m.kind == "string" && bound.length != nil:
			*bound.into = int64(*bound.length)
		case m.kind == "integer" && bound.number != nil:
			if !bound.number.IsInt() || !bound.number.Num().IsInt64() {
				return false
			}
			*bound.into = bound.number.Num().Int64()
		}
	}
	return true
}

// matches reports whether a value of Parse is certainly valid.
func (m *matcher) matches(value any) bool {
	if m == nil {
		return false
	}
	var valid bool
	switch value := value.(type) {
	case map[string]any:
		valid = m.kind == "object" && m.matchesFields(value)
	case string:
		length := int64(utf8.RuneCountInString(value))
		valid = m.kind == "string" && m.min <= length && length <= m.max && (len(m.enum) == 0 || slices.Contains(m.enum, any(value)))
	case json.Number:
		number, err := strconv.ParseInt(string(value), 10, 64)
		valid = m.kind == "integer" && err == nil && m.min <= number && number <= m.max
	case bool:
		valid = m.kind == "boolean"
	}
	return valid && (m.format == nil || m.format.Validate(value) == nil)
}

// matchesFields reports whether the fields of an object are certainly valid.
func (m *matcher) matchesFields(fields map[string]any) bool {
	for _, name := range m.required {
		if _, ok := fields[name]; !ok {
			return false
		}
	}
	for name, field := range fields {
		if property, described := m.properties[name]; described && !property.matches(field) {
			return false
		}
	}
	return true
}
