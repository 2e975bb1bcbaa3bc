package reference

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// row is one field, parameter or header.
type row struct {
	Depth    int // of nesting; 0 is the outermost object
	Name     string
	Where    string // of a parameter: path, query or header
	Type     []word
	Required bool
	Old      bool // deprecated
	About    template.HTML
	Facts    []string // bounds and defaults
	Values   []string // that are allowed, when they are listed
}

// word is a part of the name of a type, with a link to its schema.
type word struct {
	Text   string
	Schema string
}

// schema is a named schema.
type schema struct {
	Name   string
	About  template.HTML
	Type   []word
	Facts  []string
	Values []string
	Rows   []row
}

// reader reads the schemas of a document.
type reader struct {
	document *value
	manifest *value // the schema of the recording manifest, another document
}

// manifestName is the name of the manifest's schema on the page.
const (
	manifestName = "RecordingManifest"
	manifestRef  = "manifest.schema.json"
)

// schemas returns all named schemas, the manifest last.
func (r reader) schemas() ([]schema, error) {
	var all []schema
	for _, f := range r.document.at("components", "schemas").all() {
		one, err := r.schema(f.name, f.value)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", f.name, err)
		}
		all = append(all, one)
	}
	of := reader{document: r.manifest, manifest: r.manifest}
	one, err := of.schema(manifestName, r.manifest)
	if err != nil {
		return nil, fmt.Errorf("the manifest's schema: %w", err)
	}
	return append(all, one), nil
}

func (r reader) schema(name string, of *value) (schema, error) {
	rows, err := r.rows(of, 0, 0)
	if err != nil {
		return schema{}, err
	}
	one := schema{Name: name, About: paragraphs(of.at("description").text()), Rows: rows}
	if len(rows) == 0 {
		one.Type, one.Facts, one.Values = r.words(of), facts(of), values(of)
	}
	return one, nil
}

// rows returns the fields of an object, each followed by its nested fields.
// References are followed to the given depth; below it, the type of a field links
// to its schema.
func (r reader) rows(of *value, depth, follow int) ([]row, error) {
	of, err := of.resolve(r.document)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, part := range of.at("allOf").list() {
		inherited, err := r.rows(part, depth, follow)
		if err != nil {
			return nil, err
		}
		rows = merge(rows, inherited)
	}
	required := of.at("required").texts()
	for i := range rows {
		rows[i].Required = rows[i].Required || rows[i].Depth == depth && slices.Contains(required, rows[i].Name)
	}
	var own []row
	for _, f := range of.at("properties").all() {
		one := r.row(f.name, f.value, depth)
		one.Required = slices.Contains(required, f.name)
		within, err := r.within(f.value, depth+1, follow)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		own = append(append(own, one), within...)
	}
	return merge(rows, own), nil
}

// within returns the fields of a nested object, or of the objects in an array.
func (r reader) within(of *value, depth, follow int) ([]row, error) {
	for _, inner := range []*value{of, of.at("items")} {
		if inner.at("$ref") != nil && !strings.HasPrefix(inner.at("$ref").text(), "#/$defs/") {
			if follow == 0 {
				continue
			}
			return r.rows(inner, depth, follow-1)
		}
		rows, err := r.rows(inner, depth, follow)
		if err != nil || len(rows) > 0 {
			return rows, err
		}
	}
	return nil, nil
}

// merge appends rows to others. A row that exists already is replaced together with
// its nested rows, because allOf can narrow a field.
func merge(rows, more []row) []row {
	for len(more) > 0 {
		end := 1 + slices.IndexFunc(more[1:], func(below row) bool { return below.Depth <= more[0].Depth })
		if end == 0 {
			end = len(more)
		}
		block := more[:end]
		more = more[end:]
		at := slices.IndexFunc(rows, func(known row) bool { return known.Depth == block[0].Depth && known.Name == block[0].Name })
		if at < 0 {
			rows = append(rows, block...)
			continue
		}
		after := at + 1
		for after < len(rows) && rows[after].Depth > rows[at].Depth {
			after++
		}
		narrowed := slices.Clone(block)
		narrowed[0].Required = narrowed[0].Required || rows[at].Required
		rows = slices.Concat(rows[:at], narrowed, rows[after:])
	}
	return rows
}

func (r reader) row(name string, of *value, depth int) row {
	about := of.at("description").text()
	if about == "" {
		if target, err := of.resolve(r.document); err == nil {
			about = target.at("description").text()
		}
	}
	return row{
		Depth: depth, Name: name, Type: r.words(of), About: inline(about),
		Facts: facts(of), Values: values(of), Old: of.at("deprecated").isTrue(),
	}
}

// words returns the name of a type.
func (r reader) words(of *value) []word {
	if ref := of.at("$ref").text(); ref != "" {
		if ref == manifestRef {
			return []word{{manifestName, manifestName}}
		}
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if strings.HasPrefix(ref, "#/$defs/") { // of the manifest, and not shown separately
			target, err := of.resolve(r.document)
			if err != nil {
				return []word{{Text: name}}
			}
			return r.words(target)
		}
		return []word{{name, name}}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if choices := of.at(key).list(); len(choices) > 0 {
			var words []word
			for i, choice := range choices {
				if i > 0 {
					words = append(words, word{Text: " or "})
				}
				words = append(words, r.words(choice)...)
			}
			return words
		}
	}
	types := of.at("type").texts()
	switch {
	case len(types) == 0 && of.at("allOf") != nil:
		return []word{{Text: "object"}}
	case len(types) == 0:
		return nil // const and enum are shown as values
	case slices.Contains(types, "array"):
		return append([]word{{Text: "array of "}}, r.items(of)...)
	}
	name := strings.Join(types, " or ")
	if format := of.at("format").text(); format != "" {
		name = strings.Replace(name, "string", format, 1)
	}
	return []word{{Text: name}}
}

func (r reader) items(of *value) []word {
	if words := r.words(of.at("items")); len(words) > 0 {
		return words
	}
	return []word{{Text: "anything"}}
}

// facts returns the bounds and the default of a value.
func facts(of *value) []string {
	var list []string
	say := func(key, form string) {
		if bound := of.at(key); bound != nil {
			list = append(list, fmt.Sprintf(form, bound.plain()))
		}
	}
	low, high := of.at("minimum"), of.at("maximum")
	switch {
	case low != nil && high != nil:
		list = append(list, low.plain()+" to "+high.plain())
	default:
		say("minimum", "at least %s")
		say("maximum", "at most %s")
	}
	if of.at("minLength").plain() == "1" {
		list = append(list, "not empty")
	} else {
		say("minLength", "at least %s characters")
	}
	say("maxLength", "at most %s characters")
	say("maxItems", "at most %s items")
	if pattern := of.at("pattern").text(); pattern == `\S` {
		list = append(list, "not blank")
	} else if pattern != "" {
		list = append(list, "matches "+pattern)
	}
	say("default", "default %s")
	return list
}

// values returns the values of a const or an enum.
func values(of *value) []string {
	if only := of.at("const"); only != nil {
		return []string{strings.TrimSpace(only.plain())}
	}
	var list []string
	for _, one := range of.at("enum").list() {
		list = append(list, one.plain())
	}
	return list
}
