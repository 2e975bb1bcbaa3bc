package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// TestEveryGapIsExplained checks the reasons of gaps in the source of the recording.
func TestEveryGapIsExplained(t *testing.T) {
	t.Parallel()
	for _, reason := range constants(t, filepath.Join("..", "..", "recording", "manifest.go"), "Gap") {
		if gapText(reason) == reason {
			t.Errorf("the gap %s is not explained", reason)
		}
	}
}

// constants returns the values of the string constants in a file whose names have a
// prefix.
func constants(t *testing.T, path, prefix string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text)
		}
		return true
	})
	return found
}

// TestEveryStatusIsDescribed checks that each status has a display name and a CSS
// class.
func TestEveryStatusIsDescribed(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if strings.Contains(statusText(status), "_") || tone(status) == "" {
			t.Errorf("%s has the name %q and the class %q", status, statusText(status), tone(status))
		}
	}
}
