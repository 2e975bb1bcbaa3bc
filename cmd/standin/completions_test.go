package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// completionsOf returns the completions of what a user has typed after standin.
func completionsOf(t *testing.T, typed string) []string {
	t.Helper()
	t.Setenv("COMP_LINE", "standin "+typed)
	code, out, stderr := command("standin")
	if code != 0 || stderr != "" {
		t.Errorf("after %q: exit code %d: %s", typed, code, stderr)
	}
	return strings.Split(out, "\n")
}

// TestCompletions asks for completions, as the scripts do: of commands, flags and values, and
// of jobs and teams with a text where the shell shows it.
func TestCompletions(t *testing.T) { // not parallel: it changes the environment
	c, admin := newCLI(t, job.Test), newAdmin(t)
	c.rows(row{"jobs create $MEET --join-at 'tomorrow 10:00' --json", 0, `"id": "(?P<ID>[^"]+)"`, ``})
	admin.rows(row{"teams create crew", 0, ``, ``})
	t.Setenv("XDG_CONFIG_HOME", filepath.Dir(c.values["CONFIG"]))
	t.Setenv("STANDIN_DATA_DIR", admin.values["DATA"])
	described := c.values["ID"] + "\tscheduled https://meet.google.com/abc-defg-hij"
	for _, test := range []struct {
		typed, descriptions, has, lack string // lists are separated by |
	}{
		{"", "", "serve|jobs|recordings|login", "create|download"},
		{"jo", "", "jobs", "serve"},
		{"jobs ", "", "create|watch|cancel", "serve"},
		{"jobs create --", "", "--external-id|--json|--watch", "--status|--data-dir"},
		{"jobs create --json --plat", "", "--platform", ""},
		{"jobs create --platform ", "", "meet|teams|zoom-web", "--json"},
		{"recordings d", "", "download", "verify"},
		{"completions ", "", "bash|zsh|fish", ""},
		{"jobs get ", "", c.values["ID"], ""},
		{"jobs get ", "1", described, ""},
		{"recordings download ", "1", described, ""},
		{"jobs list --status can", "1", "cancelled", ""},
		{"jobs create --simulate ", "", "lobby_timeout", ""},
		{"teams show ", "", "crew", ""},
		{"keys create --team ", "1", "crew", ""},
		{"jobs get 'a \"b $(c) \x1b[31m\u202e --status=", "1", "", ""},
	} {
		t.Setenv(envDescriptions, test.descriptions)
		offered := completionsOf(t, test.typed)
		for word := range strings.SplitSeq(test.has, "|") {
			if word != "" && !slices.Contains(offered, word) {
				t.Errorf("after %q, %s is not offered, only %q", test.typed, word, offered)
			}
		}
		if slices.ContainsFunc(strings.Split(test.lack, "|"), func(word string) bool {
			return word != "" && slices.Contains(offered, word)
		}) || slices.Contains(offered[:len(offered)-1], "") {
			t.Errorf("after %q, %q is offered", test.typed, offered)
		}
	}
}

// TestShells checks that bash, zsh and fish ask the binary for completions, and that man reads
// the manual pages without a warning.
func TestShells(t *testing.T) {
	long(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "standin")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("manual", dir); code != 0 {
		t.Fatal(stderr)
	}
	for name, test := range map[string]struct{ program, script, want string }{
		"bash": {"bash", `source <(standin completions bash); complete -p standin | cut -d ' ' -f 1`, "complete\n"},
		"zsh":  {"zsh", `autoload -U compinit; compinit -D -u; source <(standin completions zsh); print -r -- ${_comps[standin]%% *}`, "_bash_complete\n"},
		"zsh, installed by a package": {
			"zsh",
			`standin completions zsh >` + dir + `/_standin; fpath=(` + dir +
				` $fpath); autoload -U compinit; compinit -D -u; print -r -- $_comps[standin]`,
			"_standin\n",
		},
		"fish": {"fish", `standin completions fish | source; for line in "jo" "jobs crea" "jobs create --json --plat"; complete -C "standin $line"; end | string replace -r '\t.*' ''; true`,
			"jobs\ncreate\n--platform\n"},
		"man": {
			"bash",
			`for page in standin standin-serve standin-jobs-create; do man --warnings --encoding=UTF-8 --local-file ` + dir +
				`/$page.1 2>&1 >/dev/null; done`,
			"",
		},
	} {
		if _, err := exec.LookPath(test.program); err != nil {
			if os.Getenv("CI") != "" {
				t.Error(err)
			}
			continue
		}
		shell := exec.CommandContext(t.Context(), test.program, "-c", test.script)
		shell.Dir = dir
		shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=80")
		if out, err := shell.CombinedOutput(); err != nil || string(out) != test.want {
			t.Errorf("%s: %v: %q, want %q", name, err, out, test.want)
		}
	}
}
