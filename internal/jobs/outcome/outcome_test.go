package outcome

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

// TestEveryFailureIsExplained checks that each failure code has a unique title, a
// text, a side and an action.
func TestEveryFailureIsExplained(t *testing.T) {
	t.Parallel()
	titles := make(map[string]job.FailureCode)
	for _, code := range job.FailureCodes() {
		e := Explain(job.Job{State: job.State{Status: job.Failed, FailureCode: code}}, "", "", false)
		if e.Text == "" || e.Side == "" || e.Action == "" || titles[e.Title] != "" {
			t.Errorf("%s is explained as %+v", code, e)
		}
		titles[e.Title] = code
	}
	if e := Explain(job.Job{State: job.State{Status: job.Failed, FailureCode: "nonsense"}}, "", "", false); !strings.Contains(e.Text, "nonsense") {
		t.Errorf("an unknown code is explained as %+v", e)
	}
}

// TestEveryEndIsExplained checks the end reasons in the source of the bot and those of
// the service.
func TestEveryEndIsExplained(t *testing.T) {
	t.Parallel()
	reasons := append(constants(t, filepath.Join("..", "..", "bot", "report", "report.go"), "Reason"), "bot_lost", "cancelled", "recording_failed", "unknown")
	if len(reasons) < 15 {
		t.Errorf("found only %d reasons: %q", len(reasons), reasons)
	}
	for _, reason := range reasons {
		if e, known := endings[reason]; !known || e.Title == "" || e.Text == "" {
			t.Errorf("%s is not explained", reason)
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

// TestEveryStageIsDescribed checks that each status in which a job can fail has a stage.
func TestEveryStageIsDescribed(t *testing.T) {
	t.Parallel()
	for _, status := range job.Statuses() {
		if !status.Terminal() && stages[status] == "" {
			t.Errorf("%s has no stage", status)
		}
	}
}
