package main

import (
	"bytes"
	"strings"
	"testing"
)

// storedKey returns the key of a signed-in command line.
func storedKey(t *testing.T, d testCLI) string {
	t.Helper()
	stored, err := loadCredentials(d.config)
	if err != nil {
		t.Fatal(err)
	}
	return stored.APIKey
}

// keep signs a command line in with a key.
func (d testCLI) keep(t *testing.T, key string) {
	t.Helper()
	if err := saveCredentials(d.config, credentials{URL: d.base, APIKey: key}); err != nil {
		t.Fatal(err)
	}
}

// TestExitCodes checks the exit codes of docs/commands.md and the advice that is
// printed with them.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	revoked := testCLI{base: d.base, config: t.TempDir()}
	revoked.keep(t, "standin_test_"+strings.Repeat("A", 43))
	unreachable := testCLI{base: "http://127.0.0.1:1", config: t.TempDir()}
	unreachable.keep(t, storedKey(t, d))
	signedOut := testCLI{base: d.base, config: t.TempDir()}
	for name, one := range map[string]struct {
		by     testCLI
		code   int
		advice string
		args   []string
	}{
		"success":             {d, 0, "", []string{"jobs", "list"}},
		"no such command":     {d, exitUsage, "Run standin jobs --help", []string{"jobs", "dance"}},
		"no such flag":        {d, exitUsage, "Run standin jobs list --help", []string{"jobs", "list", "--loud"}},
		"invalid meeting URL": {d, exitFailed, "starts with https://", []string{"jobs", "create", "nonsense"}},
		"not signed in":       {signedOut, exitUnauthorized, "standin login --url", []string{"jobs", "list"}},
		"revoked key":         {revoked, exitUnauthorized, "Run standin login again", []string{"jobs", "list"}},
		"no such job":         {d, exitNotFound, "standin jobs list", []string{"jobs", "get", "01a1ff00-0000-7000-8000-000000000000"}},
		"service not running": {unreachable, exitNotReachable, "Check that the service is running", []string{"jobs", "list"}},
		"failed job":          {d, exitJobFailed, "auth_failure", []string{"jobs", "create", "https://meet.google.com/a", "--metadata", `{"simulate":"auth_failure"}`, "--watch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, stderr bytes.Buffer
			if code := run(append(one.args, "--config-dir", one.by.config), &out, &stderr); code != one.code || !strings.Contains(stderr.String(), one.advice) {
				t.Errorf("exit code %d, want %d; stderr: %s", code, one.code, stderr.String())
			}
		})
	}
}
