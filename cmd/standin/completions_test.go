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

// outputWords runs a command and returns the sorted first words of the lines of its
// output. Descriptions may follow them.
func outputWords(t *testing.T, command *exec.Cmd) []string {
	t.Helper()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%q: %v: %s%s", command.Args, err, out, stderr.String())
	}
	var words []string
	for row := range strings.Lines(string(out)) {
		if fields := strings.Fields(row); len(fields) > 0 {
			words = append(words, fields[0])
		}
	}
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

// TestCompletions asks for completions, as the scripts do. It sets environment variables, so it
// does not run in parallel.
func TestCompletions(t *testing.T) {
	for _, test := range completions {
		var words []string
		for row := range strings.Lines(completionsOf(t, test.typed)) {
			words = append(words, strings.TrimSpace(row))
		}
		checkOffered(t, test.typed, words, test.has, test.lack)
	}
}

// completionsOf returns the completions of what a user has typed after standin.
func completionsOf(t *testing.T, typed string) string {
	t.Helper()
	t.Setenv("COMP_LINE", "standin "+typed)
	code, out, stderr := command("standin")
	if code != 0 || stderr != "" {
		t.Errorf("after %q: exit code %d: %s", typed, code, stderr)
	}
	return out
}

// TestBashCompletions checks that bash asks the binary.
func TestBashCompletions(t *testing.T) {
	t.Parallel()
	path := completionScript(t, "bash")
	words := outputWords(t, exec.CommandContext(t.Context(), "bash", "-c", `source "$1"; complete -p standin`, "bash", path))
	if !slices.Equal(words, []string{"complete"}) {
		t.Errorf("bash registers %q", words)
	}
}

// withStandin returns an environment in which the test binary is standin.
func withStandin(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "standin")); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
}

// TestZshCompletions checks that zsh asks the binary, as bash does.
func TestZshCompletions(t *testing.T) {
	t.Parallel()
	path := completionScript(t, "zsh")
	words := outputWords(t, exec.CommandContext(t.Context(), "zsh", "-c", `autoload -U compinit; compinit -D -u; source "$1"; print -r -- $_comps[standin]`, "zsh", path))
	if !slices.Equal(words, []string{"_bash_complete"}) {
		t.Errorf("zsh registers %q", words)
	}
	// As packages install it.
	if err := os.Rename(path, filepath.Join(filepath.Dir(path), "_standin")); err != nil {
		t.Fatal(err)
	}
	words = outputWords(t, exec.CommandContext(t.Context(), "zsh", "-c", `fpath=("$1" $fpath); autoload -U compinit; compinit -D -u; print -r -- $_comps[standin]`, "zsh", filepath.Dir(path)))
	if !slices.Equal(words, []string{"_standin"}) {
		t.Errorf("zsh registers %q from its path", words)
	}
}

// TestFishCompletions checks that fish asks the binary for the words of a command line, also
// for the one that is not complete.
func TestFishCompletions(t *testing.T) {
	t.Parallel()
	path, environment := completionScript(t, "fish"), withStandin(t)
	for typed, want := range map[string]string{"jo": "jobs", "jobs ": "create", "jobs create --json --plat": "--platform"} {
		command := exec.CommandContext(t.Context(), "fish", "--no-config", "-c", `source $argv[1]; complete -C "$argv[2]"; true`, path, "standin "+typed)
		command.Env = environment
		checkOffered(t, typed, outputWords(t, command), []string{want}, nil)
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
