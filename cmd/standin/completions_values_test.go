package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"standin/client"
)

// TestCompletedValues checks that jobs, teams and statuses are offered, and the jobs with a text
// where the shell shows it. It sets environment variables, so it does not run in parallel.
func TestCompletedValues(t *testing.T) {
	d := newTestCLI(t)
	out, _ := d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--join-at", "tomorrow 10:00", "--json")
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	data := newDataDir(t)
	if code, _, stderr := command("teams", "create", "crew", "--data-dir", data); code != 0 {
		t.Fatal(stderr)
	}
	t.Setenv("STANDIN_CONFIG_DIR", d.config)
	t.Setenv("STANDIN_DATA_DIR", data)
	described := created.ID + "\tscheduled https://meet.google.com/abc-defg-hij"
	for _, test := range []struct{ typed, descriptions, want string }{
		{"jobs get ", "", created.ID},
		{"jobs get ", "1", described},
		{"recordings download ", "1", described},
		{"jobs list --status can", "1", "cancelled"},
		{"jobs create --simulate ", "", "lobby_timeout"},
		{"teams show ", "", "crew"},
		{"keys create --team ", "1", "crew"},
	} {
		t.Setenv(envDescriptions, test.descriptions)
		if words := completionsOf(t, test.typed); !slices.Contains(strings.Split(words, "\n"), test.want) {
			t.Errorf("after %q, %q is not offered, only %q", test.typed, test.want, words)
		}
	}
	t.Setenv(envDescriptions, "")
	if platforms := completionsOf(t, "jobs create --platform "); strings.HasPrefix(platforms, "\n") || strings.Contains(platforms, "\n\n") {
		t.Errorf("an empty platform is offered: %q", platforms)
	}
}
