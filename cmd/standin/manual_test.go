package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestManual checks that each command has a page with its flags and examples, and that man reads
// them without a warning.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if code := run([]string{"manual", dir}, t.Output(), t.Output()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	overview := readPage(t, dir, "standin")
	for _, command := range parserOf(t, new(commands)).Model.Leaves(true) {
		name := pageName(command)
		if !strings.Contains(overview, roff(name)) {
			t.Errorf("standin(1) does not name %s", name)
		}
		page := readPage(t, dir, name)
		for _, flag := range command.Flags {
			if !flag.Hidden && !strings.Contains(page, roff(flagName(flag))) {
				t.Errorf("%s(1) does not have --%s", name, flag.Name)
			}
		}
		for _, example := range examples[command.Path()] {
			if !strings.Contains(page, roff(example)) {
				t.Errorf("%s(1) does not have the example %s", name, example)
			}
		}
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"standin", "standin-serve", "standin-jobs-create"} {
		var warnings bytes.Buffer
		man := exec.CommandContext(t.Context(), "man", "--warnings", "--encoding=UTF-8", "--local-file", filepath.Join(dir, name+".1"))
		man.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80")
		man.Stderr = &warnings
		if err := man.Run(); err != nil || warnings.Len() > 0 {
			t.Errorf("%s(1): %v: %s", name, err, warnings.String())
		}
	}
}

// readPage reads a manual page whose lines begin with text or a macro of man(7).
func readPage(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".1"))
	if err != nil {
		t.Fatal(err)
	}
	macros := []string{".B", ".BR", ".I", ".SH", ".SS", ".TH", ".TP", ".nf", ".fi"}
	for row := range strings.Lines(string(text)) {
		if first, _, _ := strings.Cut(strings.TrimSpace(row), " "); strings.HasPrefix(row, ".") && !slices.Contains(macros, first) {
			t.Errorf("%s(1): unknown macro: %s", name, row)
		}
	}
	return string(text)
}
