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

// completionScript writes the output of standin completions to a file. It skips
// the test if the shell is missing, and fails it in CI.
func completionScript(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var out, stderr bytes.Buffer
	if code := run([]string{"completions", shell}, &out, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	path := filepath.Join(t.TempDir(), "standin")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// outputWords runs a command and returns the sorted words of its output.
func outputWords(t *testing.T, command *exec.Cmd) []string {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%q: %v: %s%s", command.Args, err, out, stderr.String())
	}
	words := strings.Fields(string(out))
	slices.Sort(words)
	return words
}

// completions are command lines with words that must and must not be offered.
var completions = []struct {
	typed     string
	has, lack []string
}{
	{"", []string{"serve", "jobs", "recordings", "login"}, []string{"create", "download"}},
	{"jo", []string{"jobs"}, []string{"serve"}},
	{"jobs ", []string{"create", "watch", "cancel"}, []string{"serve"}},
	{"jobs create --", []string{"--external-id", "--json", "--watch"}, []string{"--status", "--data-dir"}},
	{"jobs create --json --plat", []string{"--platform"}, nil},
	{"jobs create --platform ", []string{"meet", "teams", "zoom-web"}, []string{"--json"}},
	{"recordings d", []string{"download"}, []string{"verify"}},
	{"completions ", []string{"bash", "zsh", "fish"}, nil},
}

// TestCompletions asks the binary for completions, as bash and zsh do.
func TestCompletions(t *testing.T) {
	t.Parallel()
	for _, test := range completions {
		command := exec.CommandContext(t.Context(), os.Args[0])
		command.Env = append(os.Environ(), "COMP_LINE=standin "+test.typed)
		checkOffered(t, test.typed, outputWords(t, command), test.has, test.lack)
	}
}

// TestCompletionScripts checks that bash and zsh register the binary.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, script := range map[string]string{
		"bash": `source "$1"; complete -p standin`,
		"zsh":  `autoload -U compinit; compinit -D -u; source "$1"; print -r -- $_comps[standin]`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path := completionScript(t, shell)
			words := outputWords(t, exec.CommandContext(t.Context(), shell, "-c", script, shell, path))
			if text := strings.Join(words, " "); !strings.Contains(text, os.Args[0]) && !strings.Contains(text, "_bash_complete") {
				t.Errorf("%s registers %q", shell, words)
			}
		})
	}
}

// TestFishCompletions asks fish for completions.
func TestFishCompletions(t *testing.T) {
	t.Parallel()
	path := completionScript(t, "fish")
	for _, test := range completions {
		command := exec.CommandContext(t.Context(), "fish", "--no-config", "-c", `source $argv[1]; complete -C "$argv[2]"; true`, path, "standin "+test.typed)
		checkOffered(t, test.typed, outputWords(t, command), test.has, test.lack)
	}
}

func checkOffered(t *testing.T, typed string, offered, has, lack []string) {
	t.Helper()
	for _, word := range has {
		if !slices.Contains(offered, word) {
			t.Errorf("after %q, %s is not offered, only %q", typed, word, offered)
		}
	}
	for _, word := range lack {
		if slices.Contains(offered, word) {
			t.Errorf("after %q, %s is offered", typed, word)
		}
	}
}
