package dashboard

import (
	"io/fs"
	"reflect"
	"testing"
	"text/template/parse"
)

// TestTemplatesUseFields: every name in the pages is a field of their data. A
// template that calls a method would fail when its page is shown (functions).
func TestTemplatesUseFields(t *testing.T) {
	t.Parallel()
	fields := make(map[string]bool)
	for _, data := range []any{
		view{}, jobView{}, historyView{}, jobList{}, keysView{}, cliView{}, mailView{}, newJobForm{}, operatorView{}, botsView{},
		payloadView{}, signInForm{}, invitationForm{}, teamView{}, usageView{}, webhooksView{}, searchView{}, errorView{}, deliveryRow{},
	} {
		addFields(fields, reflect.TypeOf(data), make(map[reflect.Type]bool))
	}
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, file := range files {
		text, err := pageFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, trees := parse.New(file), make(map[string]*parse.Tree)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(string(text), "", "", trees); err != nil {
			t.Fatal(err)
		}
		for _, part := range trees {
			for _, name := range namesIn(reflect.ValueOf(part.Root)) {
				if !fields[name] {
					t.Errorf("%s: %s is not a field of the page's data; methods need a template function", file, name)
				}
			}
		}
	}
}

// addFields adds the names of the exported fields of a type and the types it uses.
func addFields(fields map[string]bool, of reflect.Type, seen map[reflect.Type]bool) {
	if seen[of] {
		return
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addFields(fields, of.Elem(), seen)
	case reflect.Struct:
		for field := range of.Fields() {
			if field.IsExported() {
				fields[field.Name] = true
			}
			if field.IsExported() || field.Anonymous {
				addFields(fields, field.Type, seen)
			}
		}
	}
}

// namesIn returns the names of fields in a part of a template's tree.
func namesIn(part reflect.Value) (names []string) {
	switch part.Kind() {
	case reflect.Interface, reflect.Pointer:
		switch node := part.Interface().(type) {
		case *parse.Tree:
			return nil // the nodes refer back to it
		case *parse.FieldNode:
			names = node.Ident
		case *parse.VariableNode:
			names = node.Ident[1:]
		case *parse.ChainNode:
			names = node.Field
		}
		if !part.IsNil() {
			names = append(names, namesIn(part.Elem())...)
		}
	case reflect.Struct:
		for i := range part.NumField() {
			if part.Type().Field(i).IsExported() {
				names = append(names, namesIn(part.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range part.Len() {
			names = append(names, namesIn(part.Index(i))...)
		}
	}
	return names
}
