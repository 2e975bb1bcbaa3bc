package testprocess

import (
	"os"
	"os/exec"
	"testing"
)

// Run runs a tool and skips the test, or fails it in CI, when it is missing.
func Run(t testing.TB, tool string, arguments ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing; run scripts/setup.sh test", tool)
		}
		t.Skipf("%s is missing; run scripts/setup.sh test", tool)
	}
	output, err := exec.CommandContext(t.Context(), path, arguments...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return output
}
