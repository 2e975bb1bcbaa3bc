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
	var out, stderr bytes.Buffer
	if code := run([]string{"bot"}, &out, &stderr); code != 1 || !strings.Contains(stderr.String(), launch.EnvToken+" is not set") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	t.Setenv(launch.EnvTask, path)
	stderr.Reset()
	if code := run([]string{"bot"}, &out, &stderr); code != 2 || !strings.Contains(stderr.String(), "open the bot's task") {
		t.Errorf("without its file exit code %d: %s", code, stderr.String())
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
			t.Errorf("%q was accepted: %v", value, err)
		}
	}
}

// TestEngineFlags checks that serve reports all invalid launcher flags at once.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	var out, stderr bytes.Buffer
	code := run([]string{
		"serve", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--launcher", "docker", "--docker-memory", "lots", "--kubernetes-spool", "more",
	}, &out, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "--docker-memory") || !strings.Contains(stderr.String(), "--kubernetes-spool") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}
