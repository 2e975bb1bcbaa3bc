package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestManual checks that each command has a page with its flags and examples, whose lines begin
// with text or a macro of man(7). TestShells reads some with man.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, stderr := command("manual", dir); code != 0 {
		t.Fatal(stderr)
	}
	macros := []string{".B", ".BR", ".I", ".SH", ".SS", ".TH", ".TP", ".nf", ".fi"}
	wanted := map[string][]string{"standin": nil}
	for _, command := range parserOf(t, new(commands)).Model.Leaves(true) {
		name := pageName(command)
		wanted["standin"] = append(wanted["standin"], name)
		wanted[name] = examples[command.Path()]
		for _, flag := range command.Flags {
			if !flag.Hidden {
				wanted[name] = append(wanted[name], flagName(flag))
			}
		}
	}
	for name, texts := range wanted {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(page), roff(text)) {
				t.Errorf("%s(1) does not have %s", name, text)
			}
		}
		for line := range strings.Lines(string(page)) {
			if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, ".") && !slices.Contains(macros, first) {
				t.Errorf("%s(1): unknown macro: %s", name, line)
			}
		}
	}
}
