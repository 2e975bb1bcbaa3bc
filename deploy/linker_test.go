package deploy_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"standin/internal/testing/gobuild"
)

// TestUnusedMethodsAreRemoved links the program as in a release and checks that no
// reachable function calls methods by name or number. Otherwise the linker keeps every
// exported method of every reachable type, which adds 10 MB.
func TestUnusedMethodsAreRemoved(t *testing.T) {
	t.Parallel()
	arguments := append([]string{"build", "-tags", "grpcnotrace"}, gobuild.Flags()...)
	command := exec.CommandContext(t.Context(), "go", append(arguments, "-ldflags=-dumpdep", "-o", filepath.Join(t.TempDir(), "standin"), "./cmd/standin")...)
	command.Dir = ".."
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out[:min(len(out), 2000)])
	}
	callers := make(map[string]string) // a symbol's first user
	reflecting := ""                   // the first symbol that calls methods; more follow because they are then kept
	for edge := range bytes.Lines(out) {
		from, to, ok := strings.Cut(strings.TrimSpace(string(edge)), " -> ")
		if !ok {
			continue
		}
		symbol, marks, _ := strings.Cut(to, " <")
		from, _, _ = strings.Cut(from, " <")
		if callers[symbol] == "" {
			callers[symbol] = from
		}
		if reflecting == "" && strings.Contains(marks, "ReflectMethod") {
			reflecting = symbol
		}
	}
	if callers["standin/internal/service.Start"] == "" {
		t.Fatalf("the linker lists %d symbols, without those of the service", len(callers))
	}
	if reflecting != "" {
		t.Errorf("%s calls methods by name or number; callers: %s", reflecting, strings.Join(chain(callers, reflecting), ", "))
	}
}

// chain returns up to ten callers above a symbol, the nearest first.
func chain(callers map[string]string, symbol string) (above []string) {
	for len(above) < 10 {
		symbol = callers[symbol]
		if symbol == "" || slices.Contains(above, symbol) {
			return above
		}
		above = append(above, symbol)
	}
	return above
}
