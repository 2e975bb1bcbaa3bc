package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishAs gives a copy of the repository another module path, images and chart,
// builds it, and renders its chart.
func TestPublishAs(t *testing.T) {
	t.Parallel()
	long(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	run := func(dir, name string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
		}
		return string(output)
	}
	// The files of the working tree, so that changes are tested before they are committed.
	run(root, "bash", "-c", `git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done | tar --null -cf - -T - | tar -xf - -C "$0"`, copied)
	run(copied, "git", "init", "-q")
	run(copied, "git", "add", "-A")
	run(copied, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Copy")
	run(copied, "scripts/publish-as.sh", "git.acme.test/meetings/standin", "images.acme.test/standin", "images.acme.test/charts/acme-standin")
	for _, text := range []string{`"standin/`, "registry.example/standin", "registry.example/charts"} {
		// git grep exits with 1 if nothing is found.
		if left := run(copied, "bash", "-c", `git grep -lF "$0" -- :!clients :!docs/internals/publishing.md :!deploy/publish_test.go :!scripts/publish-as.sh || true`, text); left != "" {
			t.Errorf("these files still contain %s:\n%s", text, left)
		}
	}
	if version := run(copied, "go", "list", "-m"); strings.TrimSpace(version) != "git.acme.test/meetings/standin" {
		t.Errorf("the module is %s", version)
	}
	if unformatted := run(copied, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("gofmt would change %s", unformatted)
	}
	run(copied, "go", "build", "./...")
	run(copied, "go", "vet", "./...", "git.acme.test/meetings/standin/client")
	run(copied, "go", "test", "-count=1", "-run", "Chart", "./deploy")
}
