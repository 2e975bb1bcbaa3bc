package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/launch"
)

// TestTaskFile: a bot whose task is in a file needs no more than that; here
// all but the token is in it, and the token is what it misses.
func TestTaskFile(t *testing.T) {
	task := map[string]string{
		launch.EnvJob: "3f0c1d5e-0000-4000-8000-000000000001", launch.EnvService: "http://127.0.0.1:1", launch.EnvMeeting: "https://meet.google.com/abc-defg-hij",
	}
	for name := range task {
		t.Setenv(name, "") // put back after the test
	}
	t.Setenv(launch.EnvToken, "")
	content, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "task")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(launch.EnvTask, path)
	var out, told bytes.Buffer
	if code := run([]string{"bot"}, &out, &told); code != 1 || !strings.Contains(told.String(), launch.EnvToken+" is not set") {
		t.Errorf("it ended with %d: %s", code, told.String())
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	t.Setenv(launch.EnvTask, path)
	told.Reset()
	if code := run([]string{"bot"}, &out, &told); code != 2 || !strings.Contains(told.String(), "open the bot's task") {
		t.Errorf("without its file it ended with %d: %s", code, told.String())
	}
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int64{"0": 0, "1073741824": 1 << 30, "3Gi": 3 << 30, "256Mi": 256 << 20, "1G": 1e9} {
		if got, err := parseQuantity("docker-memory", value); err != nil || got.Value() != want {
			t.Errorf("%s is %d (%v), want %d", value, got.Value(), err, want)
		}
	}
	for _, value := range []string{"", "much", "-1", "3GB"} {
		if _, err := parseQuantity("docker-memory", value); err == nil || !strings.Contains(err.Error(), "--docker-memory") {
			t.Errorf("%q was taken: %v", value, err)
		}
	}
}

// TestEngineFlags: what is set wrongly is told before anything starts, all at
// once.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	var out, told bytes.Buffer
	code := run([]string{
		"serve", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--launcher", "docker", "--docker-memory", "lots", "--kubernetes-spool", "more",
	}, &out, &told)
	if code != 1 || !strings.Contains(told.String(), "--docker-memory") || !strings.Contains(told.String(), "--kubernetes-spool") {
		t.Errorf("it ended with %d: %s", code, told.String())
	}
}
