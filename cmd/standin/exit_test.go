package main

import (
	"bytes"
	"strings"
	"testing"

	"standin/internal/credentials"
)

// keyOf is the key of a signed-in command line.
func keyOf(t *testing.T, d desk) string {
	t.Helper()
	kept, err := credentials.Load(d.config)
	if err != nil {
		t.Fatal(err)
	}
	return kept.APIKey
}

// keep signs a command line in with a key.
func (d desk) keep(t *testing.T, key string) {
	t.Helper()
	if err := credentials.Save(d.config, credentials.Credentials{URL: d.base, APIKey: key}); err != nil {
		t.Fatal(err)
	}
}

// TestExitCodes are those of docs/cli.md, each with what to do next.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	revoked := desk{base: d.base, config: t.TempDir()}
	revoked.keep(t, "standin_test_"+strings.Repeat("A", 43))
	gone := desk{base: "http://127.0.0.1:1", config: t.TempDir()}
	gone.keep(t, keyOf(t, d))
	nobody := desk{base: d.base, config: t.TempDir()}
	for name, one := range map[string]struct {
		by     desk
		code   int
		advice string
		args   []string
	}{
		"all is well":       {d, 0, "", []string{"jobs", "list"}},
		"no such command":   {d, exitMisread, "standin --help", []string{"jobs", "dance"}},
		"no such flag":      {d, exitMisread, "standin --help", []string{"jobs", "list", "--loud"}},
		"a bad address":     {d, exitFailed, "begins with https://", []string{"jobs", "create", "nonsense"}},
		"not signed in":     {nobody, exitSignIn, "standin login --url", []string{"jobs", "list"}},
		"a revoked key":     {revoked, exitSignIn, "Run standin login again", []string{"jobs", "list"}},
		"no such job":       {d, exitNotFound, "standin jobs list", []string{"jobs", "get", "01a1ff00-0000-7000-8000-000000000000"}},
		"nobody listens":    {gone, exitNoService, "Is the service running", []string{"jobs", "list"}},
		"a job that failed": {d, exitJobFailed, "auth_failure", []string{"jobs", "create", "https://meet.google.com/a", "--metadata", `{"simulate":"auth_failure"}`, "--watch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, told bytes.Buffer
			if code := run(append(one.args, "--config-dir", one.by.config), &out, &told); code != one.code || !strings.Contains(told.String(), one.advice) {
				t.Errorf("it ended with %d, want %d, and told: %s", code, one.code, told.String())
			}
		})
	}
}
