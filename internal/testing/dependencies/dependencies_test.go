// Package dependencies compares docs/dependencies.md with go.mod and with what is
// built.
package dependencies

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// documented returns the use of each module in the document.
func documented(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	uses := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (program|demo|tests) \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		if uses[row[1]] != "" {
			t.Errorf("%s is listed twice", row[1])
		}
		uses[row[1]] = row[2]
	}
	return uses
}

// required returns the modules that go.mod requires directly.
func required(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\t(\S+) v\S+(.*)$`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(row[2], "indirect") {
			modules[row[1]] = true
		}
	}
	if len(modules) < 20 {
		t.Fatalf("only %d modules were found in go.mod", len(modules))
	}
	return modules
}

// TestDependencies checks that the document lists the direct dependencies, and no
// others.
func TestDependencies(t *testing.T) {
	t.Parallel()
	uses, modules := documented(t), required(t)
	for module := range modules {
		if uses[module] == "" {
			t.Errorf("docs/dependencies.md has no complete row for %s", module)
		}
	}
	for module := range uses {
		if !modules[module] {
			t.Errorf("docs/dependencies.md lists %s, which go.mod does not require directly", module)
		}
	}
}

// TestUses checks that the program contains the modules that the document says, and
// not those of the demo and of tests.
func TestUses(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/standin")
	command.Dir = root
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("list the dependencies of the program: %v", err)
	}
	built := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		built[module] = true
	}
	for module, use := range documented(t) {
		if built[module] != (use == "program") {
			t.Errorf("%s is documented for %s; in the program: %v", module, use, built[module])
		}
	}
}
