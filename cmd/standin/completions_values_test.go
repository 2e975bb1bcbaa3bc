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
	for typed, want := range map[string]string{
		"jobs get ":               created.ID,
		"recordings download ":    created.ID,
		"jobs list --status can":  "cancelled",
		"jobs create --simulate ": "lobby_timeout",
		"teams show ":             "crew",
		"keys create --team ":     "crew",
	} {
		ask := exec.CommandContext(t.Context(), testedBinary(), "standin")
		ask.Env = append(os.Environ(), "COMP_LINE=standin "+typed, "STANDIN_CONFIG_DIR="+d.config, "STANDIN_DATA_DIR="+data)
		if words := outputWords(t, ask); !slices.Contains(words, want) {
			t.Errorf("after %q, %s is not offered, only %q", typed, want, words)
		}
		ask = exec.CommandContext(t.Context(), testedBinary(), "standin")
		ask.Env = append(os.Environ(), "COMP_LINE=standin "+typed, "STANDIN_CONFIG_DIR="+d.config, "STANDIN_DATA_DIR="+data, envDescriptions+"=1")
		if described, err := ask.Output(); err != nil || want == created.ID && !strings.Contains(string(described), want+"\tscheduled https://meet.google.com/abc-defg-hij\n") {
			t.Errorf("after %q, %s is offered: %v", typed, described, err)
		}
	}
	ask := exec.CommandContext(t.Context(), testedBinary(), "standin")
	ask.Env = append(os.Environ(), "COMP_LINE=standin jobs create --platform ")
	if offered, err := ask.Output(); err != nil || strings.HasPrefix(string(offered), "\n") || strings.Contains(string(offered), "\n\n") {
		t.Errorf("an empty platform is offered: %q, %v", offered, err)
	}
}
