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

// script is what standin completions prints for a shell, in a file; the test is
// skipped where the shell is missing, and fails there in CI.
func script(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var out, stderr bytes.Buffer
	if code := run([]string{"completions", shell}, &out, &stderr); code != 0 {
		t.Fatalf("it ended with %d: %s", code, stderr.String())
	}
	path := filepath.Join(t.TempDir(), "_standin")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines are what a shell prints, sorted.
func lines(t *testing.T, shell string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), shell, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %q: %v: %s%s", shell, args, err, out, stderr.String())
	}
	words := strings.Fields(string(out))
	slices.Sort(words)
	return words
}

// completions are places on a command line, with what must and must not be
// offered there.
var completions = []struct {
	line      []string // the last word is what is being typed
	has, lack []string
}{
	{[]string{""}, []string{"serve", "jobs", "recordings", "login"}, []string{"create", "download"}},
	{[]string{"jo"}, []string{"jobs"}, []string{"serve"}},
	{[]string{"jobs", ""}, []string{"create", "watch", "cancel"}, []string{"serve"}},
	{[]string{"jobs", "create", "--"}, []string{"--external-id", "--json", "--watch"}, []string{"--status", "--data-dir"}},
	{[]string{"jobs", "create", "--json", "--plat"}, []string{"--platform"}, nil},
	{[]string{"jobs", "create", "--platform", ""}, []string{"meet", "teams", "zoom-web"}, []string{"--json"}},
	{[]string{"recordings", "d"}, []string{"download"}, []string{"verify"}},
	{[]string{"completions", ""}, []string{"bash", "zsh", "fish"}, nil},
}

func TestBashCompletions(t *testing.T) {
	t.Parallel()
	path := script(t, "bash")
	for _, one := range completions {
		words := append([]string{"standin"}, one.line...)
		offered := lines(t, "bash", append([]string{"-c", `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _standin; printf '%s\n' "${COMPREPLY[@]}"`, path}, words...)...)
		offers(t, one.line, offered, one.has, one.lack)
	}
}

func TestFishCompletions(t *testing.T) {
	t.Parallel()
	path := script(t, "fish")
	for _, one := range completions {
		line := "standin " + strings.Join(one.line, " ")
		offered := lines(t, "fish", "--no-config", "-c", `source $argv[1]; complete -C "$argv[2]" | string replace -r '\t.*' ''; true`, path, line)
		offers(t, one.line, offered, one.has, one.lack)
	}
}

// TestZshCompletions asks the function with the builtins of zsh's completion
// in the place of those that need a terminal: they print what they are given.
func TestZshCompletions(t *testing.T) {
	t.Parallel()
	path := script(t, "zsh")
	const ask = `compdef() { }; compadd() { shift; print -l -- "$@" }; _files() { }
		_describe() { local list=$4 entry; for entry in "${(@P)list}"; do print -r -- "${entry%%:*}"; done }
		source "$1"; shift; words=("$@"); CURRENT=$#; _standin`
	for _, one := range completions {
		words := append([]string{"standin"}, one.line...)
		offered := lines(t, "zsh", append([]string{"-f", "-c", ask, "zsh", path}, words...)...)
		offers(t, one.line, matching(offered, one.line[len(one.line)-1]), one.has, one.lack)
	}
}

// matching is what zsh itself keeps of what is offered.
func matching(offered []string, typed string) []string {
	return slices.DeleteFunc(offered, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

func offers(t *testing.T, line, offered, has, lack []string) {
	t.Helper()
	for _, word := range has {
		if !slices.Contains(offered, word) {
			t.Errorf("after %q, %s is not offered, only %q", line, word, offered)
		}
	}
	for _, word := range lack {
		if slices.Contains(offered, word) {
			t.Errorf("after %q, %s is offered", line, word)
		}
	}
}
