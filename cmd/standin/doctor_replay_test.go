package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalkThrough runs the commands of docs/platforms.md that repair a profile from
// a capture, and compares their output with the document.
func TestWalkThrough(t *testing.T) {
	needTools(t)
	document, err := os.ReadFile("../../docs/platforms.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(document), "## Adapting a profile to a changed page")
	if !found {
		t.Fatal("the section is missing")
	}
	t.Chdir("../..")
	profiles := filepath.Join(t.TempDir(), "my-profiles")
	commands := 0
	for i, block := range strings.Split(section, "```") {
		text, isConsole := strings.CutPrefix(block, "console\n")
		if i%2 == 0 || !isConsole {
			continue
		}
		for _, entry := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(entry, "\n")
			commands++
			command = strings.ReplaceAll(command, "my-profiles", profiles)
			compareOutput(t, command, output(t, command), want)
		}
	}
	if commands != 6 {
		t.Errorf("%d commands ran", commands)
	}
}

// output runs a command of the document and returns its output.
func output(t *testing.T, command string) string {
	t.Helper()
	if args, ok := strings.CutPrefix(command, "standin "); ok {
		var out bytes.Buffer
		run(strings.Fields(args), &out, &out)
		return out.String()
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// compareOutput compares an output with what the document shows, where … stands for
// any rows.
func compareOutput(t *testing.T, command, got, want string) {
	t.Helper()
	rest := got
	if want == "" {
		want = "…\n"
	}
	for i, part := range strings.Split(strings.TrimRight(want, "\n")+"\n", "…\n") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			t.Errorf("%s: the output lacks\n%s\nin\n%s", command, part, got)
			return
		}
		rest = rest[at+len(part):]
	}
	if !strings.HasSuffix(strings.TrimSpace(want), "…") && rest != "" {
		t.Errorf("%s: the document lacks\n%s", command, rest)
	}
}
