package deploy_test

import (
	"regexp"
	"strings"
	"testing"
)

// instruction is an instruction of a Dockerfile on one line.
type instruction struct{ name, arguments string }

// instructions returns the instructions of the Dockerfile.
func instructions(t *testing.T) (all []instruction) {
	t.Helper()
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(read(t, "Dockerfile")), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	for text := range strings.Lines(text) {
		if name, arguments, ok := strings.Cut(strings.TrimSpace(text), " "); ok {
			all = append(all, instruction{name, arguments})
		}
	}
	return all
}

// dockerfileRules are rules of hadolint (https://github.com/hadolint/hadolint) that
// can be broken by one instruction.
var dockerfileRules = []struct {
	code, name string
	forbidden  *regexp.Regexp
}{
	{"DL3000", "WORKDIR", regexp.MustCompile(`^[^/]`)},
	{"DL3002", "USER", regexp.MustCompile(`^(root|0)\b`)},
	{"DL3004", "RUN", regexp.MustCompile(`\bsudo\b`)},
	{"DL3006", "FROM", regexp.MustCompile(`^(debian|golang)( |$)`)},
	{"DL3007", "FROM", regexp.MustCompile(`:latest`)},
	{"DL3020", "ADD", regexp.MustCompile(`.`)},
	{"DL3025", "CMD", regexp.MustCompile(`^[^\[]`)},
	{"DL3025", "ENTRYPOINT", regexp.MustCompile(`^[^\[]`)},
	{"DL3027", "RUN", regexp.MustCompile(`\bapt (install|update)`)},
	{"DL3045", "COPY", regexp.MustCompile(`^--from=build \S+ [^/]`)},
	{"DL4000", "MAINTAINER", regexp.MustCompile(`.`)},
	{"DL4006", "RUN", regexp.MustCompile(`[^|]\|[^|]`)},
}

// TestDockerfile checks hadolint's rules, and that both images run as the user of the
// launchers.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	all := instructions(t)
	targets := make(map[string]string) // the user of each stage
	stage := ""
	for _, one := range all {
		for _, rule := range dockerfileRules {
			if one.name == rule.name && rule.forbidden.MatchString(one.arguments) {
				t.Errorf("%s: %s %s", rule.code, one.name, one.arguments)
			}
		}
		if one.name == "RUN" && strings.Contains(one.arguments, "apt-get install") {
			for code, want := range map[string]string{
				"DL3009": "rm -rf /var/lib/apt/lists/*", "DL3014": "install -y", "DL3015": "--no-install-recommends", "SC2164": "apt-get update",
			} {
				if !strings.Contains(one.arguments, want) {
					t.Errorf("%s: RUN %s", code, one.arguments)
				}
			}
		}
		switch one.name {
		case "FROM":
			_, stage, _ = strings.Cut(one.arguments, " AS ")
			if stage == "" {
				t.Errorf("FROM %s has no name", one.arguments)
			}
		case "USER":
			targets[stage] = one.arguments
		}
	}
	for _, target := range []string{"service", "bot"} {
		if targets[target] != "10001:10001" {
			t.Errorf("the image %s runs as %q", target, targets[target])
		}
	}
	if stage != "bot" {
		t.Errorf("the default target is %s", stage)
	}
}
