// Package wording checks the language of the source: names that the glossary of
// CONTRIBUTING.md replaces, and comments that cite documents outside of the
// repository.
package wording

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// replaced maps names that no identifier may have to the names to use instead.
// Names are compared without case.
var replaced = map[string]string{
	"hands": "pageQueue", "desk": "recordingQueue", "lane": "taskQueue", "errand": "task",
	"take": "recordingSession", "stretch": "recordingPart", "ending": "exitResult", "unclear": "needsDiagnostics",
	"patience": "timeouts", "walls": "egress", "venue": "hostpolicy",
	"tell": "emit", "told": "emitted", "hear": "updateLastAudio", "heard": "updateLastAudio",
	"saw": "handleSnapshot", "sight": "snapshot", "sighting": "snapshot", "look": "poll",
	"voices": "participantAudio", "chorus": "trackIndex", "intake": "chunkServer or calendar",
	"room": "capacity", "place": "slot", "places": "scheduler",
	"hold": "leaseGuard", "firm": "valid", "letgo": "cleanUp", "held": "withLease", "leased": "withLease",
	"news": "notification", "steady": "uncancelledTx", "kepttext": "escapeNUL",
	"flight": "inFlight", "landing": "completion", "lesson": "outcome", "standing": "endpointHealth", "apart": "deferred", "parked": "deferred",
	"watched": "tracker", "why": "reason",
	"wish": "options", "course": "scenario", "tape": "timeline", "pace": "speed",
	"footprint": "procusage", "lead": "prelaunch", "exchange": "requestLog",
	"order": "command", "obey": "execute", "turn": "setPaused", "turning": "setPaused",
	"house": "harness", "hall": "harness", "outing": "harness", "world": "harness",
	"line": "notifier, or text for a line of text", "way": "claimQuery",
}

// files returns the tracked files that match the patterns.
func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "ls-files", "--"}, patterns...)...).Output()
	if err != nil {
		t.Fatalf("list files: %v", err)
	}
	return strings.Fields(string(out))
}

// TestIdentifiers checks every declared name.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	for _, name := range files(t, "*.go") {
		file, err := parser.ParseFile(set, root+"/"+name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		check := func(id *ast.Ident) {
			if id == nil {
				return
			}
			if use, found := replaced[strings.ToLower(id.Name)]; found {
				t.Errorf("%s:%d: %s: use %s", name, set.Position(id.Pos()).Line, id.Name, use)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				check(n.Name)
			case *ast.TypeSpec:
				check(n.Name)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					check(id)
				}
			case *ast.Field:
				for _, id := range n.Names {
					check(id)
				}
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					break
				}
				for _, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok {
						check(id)
					}
				}
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					for _, expression := range []ast.Expr{n.Key, n.Value} {
						if id, ok := expression.(*ast.Ident); ok {
							check(id)
						}
					}
				}
			}
			return true
		})
	}
}

// phrases match wording that CONTRIBUTING.md asks to avoid. They are extended regular
// expressions, compared without case.
var phrases = map[string]string{
	"cites a document outside of the repository": `//.*\((contract|specification|platforms)[,)]`,
	"uses a figure of speech": `\b(mends?|mended|tells? of|told of|hears? of|heard of|goes by itself|by itself does|nobody is left|` +
		`walls? of|at work\b|rooms of the house|what waits|whatever waits|who waits|lives? as long|lets? go of|hand(s|ed)? in\b|gives? way)`,
}

// TestSecurityTests checks that the tests that docs/security.md names exist.
func TestSecurityTests(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(read(t, "docs/security.md"), -1)
	if len(names) == 0 {
		t.Fatal("docs/security.md names no tests")
	}
	var tests strings.Builder
	for _, name := range files(t, "*_test.go") {
		tests.WriteString(read(t, name))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "func "+name+"(") {
			t.Errorf("docs/security.md names %s, which does not exist", name)
		}
	}
}

// TestPhrases checks source, pages and documents. Git searches the tracked files: Go's
// regular expressions take seven seconds with the race detector.
func TestPhrases(t *testing.T) {
	t.Parallel()
	searched := []string{
		"*.go", "*.js", "*.css", "*.html", "*.yaml", "*.yml", "*.md", "*.sql", "*.sh", "Makefile",
		":(exclude)internal/testing/wording/", ":(exclude)*/testdata/*",
	}
	for problem, pattern := range phrases {
		arguments := append([]string{"-C", root, "grep", "-n", "-o", "-i", "-I", "-E", "-e", pattern, "--"}, searched...)
		command := exec.CommandContext(t.Context(), "git", arguments...)
		command.Env = append(os.Environ(), "LC_ALL=C")
		out, err := command.Output()
		if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: no match
			t.Fatalf("search files: %v", err)
		}
		for found := range strings.Lines(string(out)) {
			t.Errorf("%s: %s", strings.TrimSpace(found), problem)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
