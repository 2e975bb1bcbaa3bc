package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Field is a flag or an argument of a command. These tags of its struct field describe
// it; all others are errors:
//
//   - help: one or more sentences
//   - name: the name; default: the name of the field in lower case, with dashes
//   - env: the environment variable that sets a flag that is not in the arguments
//   - default: the value without both
//   - enum: the permitted values, separated by commas
//   - required: the flag or its environment variable must be set
//   - placeholder: the value in help texts; default: the default, or the type
//   - type: existingfile or existingpath, for the path of a file, or of a file or directory
//   - group: the title above the flag in help texts
//   - and: a key; flags with the same key must be used together
//   - short: one letter
//   - sep: none if the values of a slice are not separated by commas
//   - negatable: a boolean flag --NAME has a flag --no-NAME
//   - arg: the field is an argument; optional: it can be missing
//
// A field with the tag cmd is a command; if it also has the tag default, its group runs
// it when the arguments name no command. The fields of an embedded struct, or of one
// with the tag embed, belong to the command, with their names after its tag prefix.
type Field struct {
	Name, Help, Env, Default string
	Enum                     []string // nil: all values are permitted

	group, placeholder, kind, and, short string
	isArg, required, negatable, unsplit  bool
	target                               reflect.Value
	set                                  bool // by an argument or the environment
}

// tags are the tags of a struct field.
type tags map[string]string

func (t tags) has(key string) bool { _, ok := t[key]; return ok }

var knownTags = []string{"and", "arg", "cmd", "default", "embed", "enum", "env", "group", "help", "name", "negatable", "optional", "placeholder", "prefix", "required", "sep", "short", "type"}

// parseTag returns the tags of a struct field.
func parseTag(field reflect.StructField) (tags, error) {
	found := tags{}
	for rest := strings.TrimSpace(string(field.Tag)); rest != ""; {
		key, after, _ := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, fmt.Errorf("field %s: tags %q are malformed", field.Name, field.Tag)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil || !slices.Contains(knownTags, key) {
			return nil, fmt.Errorf("field %s: tag %s:%s is not supported", field.Name, key, quoted)
		}
		found[key] = value
		rest = strings.TrimSpace(after[len(quoted):])
	}
	return found, nil
}

// Short, IsRequired and IsNegatable describe the field for tests.
func (f *Field) Short() string     { return f.short }
func (f *Field) IsRequired() bool  { return f.required }
func (f *Field) IsNegatable() bool { return f.negatable }

// kebab converts the name of a Go field: BaseURL becomes base-url, and UserIDs user-ids.
// It takes much less time than a regular expression, for the hundreds of fields that
// each start of the program reads.
func kebab(name string) string {
	isUpper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	isLower := func(i int) bool { return i < len(name) && 'a' <= name[i] && name[i] <= 'z' }
	var words strings.Builder
	start := -1 // of the word, unless it is the first
	for i := range len(name) {
		afterLower := isUpper(i) && i > 0 && !isUpper(i-1)
		afterAcronym := isUpper(i) && i > start+1 && isUpper(i-1) && isLower(i+1)
		if afterLower || afterAcronym {
			words.WriteByte('-')
			start = i
		}
		words.WriteByte(name[i])
	}
	return strings.ToLower(words.String())
}

// newField returns a field with its default set.
func newField(name string, tag tags, target reflect.Value) (*Field, error) {
	f := &Field{
		Name: name, Help: tag["help"], Env: tag["env"], Default: tag["default"],
		group: tag["group"], placeholder: tag["placeholder"], kind: tag["type"], and: tag["and"], short: tag["short"],
		isArg: tag.has("arg"), required: tag.has("required") || tag.has("arg") && !tag.has("optional"), negatable: tag.has("negatable"), unsplit: tag["sep"] == "none",
		target: target,
	}
	if tag.has("enum") {
		f.Enum = strings.Split(tag["enum"], ",")
	}
	switch {
	case f.kind != "" && (f.kind != "existingfile" && f.kind != "existingpath" || target.Kind() != reflect.String):
		return nil, fmt.Errorf("type %s is not supported for %s", f.kind, target.Type())
	case f.negatable && target.Kind() != reflect.Bool:
		return nil, errors.New("only boolean flags are negatable")
	case len(f.short) > 1 || tag.has("sep") && !f.unsplit:
		return nil, errors.New("short is a letter, and sep is none")
	}
	if err := parseText("", reflect.New(f.elem()).Elem()); errors.Is(err, errUnsupported) {
		return nil, err
	}
	if tag.has("default") {
		if err := f.Set(f.Default); err != nil {
			return nil, fmt.Errorf("default: %w", err)
		}
		f.set = false
	}
	return f, nil
}

// label returns the flag or the argument as in messages.
func (f *Field) label() string {
	if f.isArg {
		return "<" + f.Name + ">"
	}
	return "--" + f.Name
}

// usage returns the flag or the argument as in help texts.
func (f *Field) usage() string {
	switch {
	case f.isArg && !f.required:
		return "[" + f.label() + "]"
	case f.negatable:
		return "--[no-]" + f.Name
	case f.isArg || f.isBool():
		return f.label()
	}
	return f.label() + "=" + f.placeholderText()
}

func (f *Field) isBool() bool { return f.target.Kind() == reflect.Bool }

func (f *Field) isSlice() bool { return f.target.Kind() == reflect.Slice }

// elem returns the type of a value, or of each value of a slice.
func (f *Field) elem() reflect.Type {
	if f.isSlice() {
		return f.target.Type().Elem()
	}
	return f.target.Type()
}

// placeholderText returns the text for the value in help texts.
func (f *Field) placeholderText() string {
	kind := f.elem()
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case f.placeholder != "":
		return f.placeholder
	case f.Default != "":
		return f.Default
	case f.Enum != nil:
		return strings.Trim(strings.Join(f.Enum, "|"), "|")
	case f.isSlice():
		return strings.ToUpper(kind.Name()) + ",…"
	}
	return strings.ToUpper(kind.Name())
}

// orVariable names the environment variable that can be set instead.
func (f *Field) orVariable() string {
	if f.Env == "" {
		return ""
	}
	return ", or the environment variable " + f.Env
}
