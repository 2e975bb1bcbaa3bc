package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// value is a JSON value that keeps the order of its fields. A nil value is absent
// and has no fields, items or text.
type value struct {
	raw    json.RawMessage
	fields []field
	items  []*value
}

// field is a field of an object.
type field struct {
	name  string
	value *value
}

// parse parses a JSON text.
func parse(raw json.RawMessage) (*value, error) {
	v := &value{raw: raw}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	opening, err := decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, compound := opening.(json.Delim); !compound {
		return v, nil
	}
	for decoder.More() {
		name := ""
		if opening == json.Delim('{') {
			token, err := decoder.Token()
			if err != nil {
				return nil, fmt.Errorf("read the name of a field: %w", err)
			}
			name, _ = token.(string) // it is always a string
		}
		var inner json.RawMessage
		if err := decoder.Decode(&inner); err != nil {
			return nil, fmt.Errorf("read a value: %w", err)
		}
		child, err := parse(inner)
		if err != nil {
			return nil, err
		}
		if opening == json.Delim('{') {
			v.fields = append(v.fields, field{name, child})
		} else {
			v.items = append(v.items, child)
		}
	}
	return v, nil
}

// all returns the fields of an object.
func (v *value) all() []field {
	if v == nil {
		return nil
	}
	return v.fields
}

// list returns the items of an array.
func (v *value) list() []*value {
	if v == nil {
		return nil
	}
	return v.items
}

// at returns the value at a path of fields, nil when there is none.
func (v *value) at(names ...string) *value {
	for _, name := range names {
		var next *value
		for _, f := range v.all() {
			if f.name == name {
				next = f.value
			}
		}
		v = next
	}
	return v
}

// text returns a string, "" for other values.
func (v *value) text() string {
	var text string
	if v == nil || json.Unmarshal(v.raw, &text) != nil {
		return ""
	}
	return text
}

// texts returns the strings of an array, or a single string.
func (v *value) texts() []string {
	if text := v.text(); text != "" {
		return []string{text}
	}
	var texts []string
	for _, item := range v.list() {
		texts = append(texts, item.text())
	}
	return texts
}

// isTrue reports whether the value is the boolean true.
func (v *value) isTrue() bool { return v != nil && string(v.raw) == "true" }

// plain returns a string without quotes, and any other value as JSON.
func (v *value) plain() string {
	if v == nil {
		return ""
	}
	if text := v.text(); text != "" {
		return text
	}
	return string(v.raw)
}

// indented returns the value as JSON over several lines.
func (v *value) indented() (string, error) {
	var out bytes.Buffer
	if v == nil {
		return "", nil
	}
	if err := json.Indent(&out, v.raw, "", "  "); err != nil {
		return "", fmt.Errorf("indent an example: %w", err)
	}
	return out.String(), nil
}

// resolve returns the target of a local reference, or the value itself when it is
// not a reference.
func (v *value) resolve(document *value) (*value, error) {
	ref := v.at("$ref").text()
	if ref == "" {
		return v, nil
	}
	path, local := strings.CutPrefix(ref, "#/")
	target := document.at(strings.Split(path, "/")...)
	if !local || target == nil {
		return nil, fmt.Errorf("reference %s has no target in the description", ref)
	}
	return target, nil
}
