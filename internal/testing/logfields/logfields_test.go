// Package logfields compares the fields of log lines in the code with
// docs/logging.md.
package logfields

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../../.."

// loggerMethods are the methods of slog.Logger, with the number of arguments before
// the fields.
var loggerMethods = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "With": 0,
	"DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3, "LogAttrs": 3,
}

// attributes are the functions of slog that return a field.
var attributes = []string{"String", "Int", "Int64", "Uint64", "Float64", "Bool", "Duration", "Time", "Any", "Group"}

// TestLogFields checks that the document has a row for each field in the code, and no
// other rows.
func TestLogFields(t *testing.T) {
	t.Parallel()
	used := usedFields(t)
	if len(used) < 20 {
		t.Fatalf("only %d fields were found", len(used))
	}
	documented := documentedFields(t)
	for field, position := range used {
		if !slices.Contains(documented, field) {
			t.Errorf("docs/logging.md does not describe the field %s of %s", field, position)
		}
	}
	for _, field := range documented {
		if _, ok := used[field]; !ok {
			t.Errorf("docs/logging.md describes the field %s, which no log line has", field)
		}
	}
}

// documentedFields returns the fields in the first column of the document's tables.
func documentedFields(t *testing.T) (fields []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "logging.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(string(text), -1) {
		for _, field := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			fields = append(fields, field[1])
		}
	}
	return fields
}

// usedFields returns the fields of all log lines, each with a position.
func usedFields(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testing" || entry.Name() == "testdata" || entry.Name() == "replica") {
				return fs.SkipDir
			}
			if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				return addFields(path, used)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return used
}

// addFields adds the fields of a file.
func addFields(path string, used map[string]string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"log/slog"` }) && !usesLogger(file) {
		return nil
	}
	ast.Inspect(file, func(node ast.Node) bool {
		var fields []string
		switch node := node.(type) {
		case *ast.CallExpr:
			fields = fieldsOf(node)
		case *ast.CompositeLit: // the fields of a loop, such as {"job_id", id}
			if len(node.Elts) == 2 {
				fields = slices.DeleteFunc(literal(node.Elts[0]), func(text string) bool { return !strings.HasSuffix(text, "_id") })
			}
		}
		for _, field := range fields {
			used[field] = files.Position(node.Pos()).String()
		}
		return true
	})
	return nil
}

// usesLogger reports whether a file uses a logger that another file declares.
func usesLogger(file *ast.File) (uses bool) {
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		uses = uses || ok && (selector.Sel.Name == "Log" || selector.Sel.Name == "log")
		return !uses
	})
	return uses
}

// fieldsOf returns the fields that a call adds to a log line.
func fieldsOf(call *ast.CallExpr) (fields []string) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if receiver, ok := selector.X.(*ast.Ident); ok && receiver.Name == "slog" {
		if slices.Contains(attributes, selector.Sel.Name) && len(call.Args) > 1 {
			return literal(call.Args[0])
		}
		return nil
	}
	first, ok := loggerMethods[selector.Sel.Name]
	if !ok || !isLogger(selector.X) || call.Ellipsis.IsValid() {
		return nil
	}
	for i := first; i < len(call.Args); i++ {
		if attribute, ok := call.Args[i].(*ast.CallExpr); ok && len(fieldsOf(attribute)) > 0 {
			continue // it is inspected itself
		}
		fields = append(fields, literal(call.Args[i])...)
		i++ // the value
	}
	return fields
}

// isLogger reports whether an expression is named like a logger.
func isLogger(x ast.Expr) bool {
	name := ""
	switch x := x.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	case *ast.CallExpr:
		if selector, ok := x.Fun.(*ast.SelectorExpr); ok {
			return isLogger(selector.X) || isLogger(selector.Sel)
		}
		if function, ok := x.Fun.(*ast.Ident); ok {
			name = function.Name
		}
	}
	return strings.Contains(strings.ToLower(name), "log")
}

func literal(x ast.Expr) []string {
	constant, ok := x.(*ast.BasicLit)
	if !ok || constant.Kind != token.STRING {
		return nil
	}
	text, err := strconv.Unquote(constant.Value)
	if err != nil {
		return nil
	}
	return []string{text}
}
