// Package testpython finds a Python for tests of examples.
package testpython

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Find returns the path of a Python that has a module: that of scripts/clients.sh below the
// folder of the repository, or that of the system. Without one it skips the test, and fails
// it in CI.
func Find(t testing.TB, repository, module string) string {
	t.Helper()
	installed, err := filepath.Abs(filepath.Join(repository, "bin/clients/venv/bin/python"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{installed, "python3"} {
		if exec.CommandContext(t.Context(), path, "-c", "import "+module).Run() == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("Python with %s is missing; run scripts/clients.sh setup", module)
	}
	t.Skipf("Python with %s is missing; run scripts/clients.sh setup", module)
	return ""
}
