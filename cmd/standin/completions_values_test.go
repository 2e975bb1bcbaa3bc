package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"standin/client"
)

// TestCompletedValues checks that jobs, teams and statuses are offered, and the jobs with a text
// where the shell shows it.
func TestCompletedValues(t *testing.T) {
	t.Parallel()
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
	offered := func(typed, descriptions string) string {
		t.Helper()
		ask := exec.CommandContext(t.Context(), testedBinary(), "standin")
		ask.Env = append(os.Environ(), "COMP_LINE=standin "+typed, "STANDIN_CONFIG_DIR="+d.config, "STANDIN_DATA_DIR="+data, envDescriptions+"="+descriptions)
		out, err := ask.Output()
		if err != nil {
			t.Errorf("after %q: %v", typed, err)
		}
		return string(out)
	}
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
		if words := offered(test.typed, test.descriptions); !slices.Contains(strings.Split(words, "\n"), test.want) {
			t.Errorf("after %q, %q is not offered, only %q", test.typed, test.want, words)
		}
	}
	if platforms := offered("jobs create --platform ", ""); strings.HasPrefix(platforms, "\n") || strings.Contains(platforms, "\n\n") {
		t.Errorf("an empty platform is offered: %q", platforms)
	}
}
