package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// login runs standin login. authorize gets the link and the code that it shows, and lets
// the user in.
func (c *cli) login(authorize func(link, code string)) {
	c.Helper()
	out := new(lockedBuffer)
	stderr, ended := background(out, append(wordsOf("login --no-browser --url "+c.values["BASE"]), c.flags...)...)
	authorize(stderr.await(c.T, `http://\S+/cli\?nonce=\S+`), stderr.await(c.T, `[A-Z]{4}-[A-Z]{4}`))
	if code := <-ended; code != 0 || !strings.Contains(out.String(), "signed in to "+c.values["BASE"]+" as ada@example.com") ||
		strings.Contains(out.String(), "standin_live_") {
		c.Fatalf("login: exit code %d, %s%s", code, out.String(), stderr.String())
	}
}

// TestContexts signs in to services, chooses between them, and signs out. Only the user can
// read the keys.
func TestContexts(t *testing.T) {
	t.Parallel()
	c := newCLI(t, job.Live)
	c.values["FIRST"] = contextName(c.values["BASE"])
	c.login(func(link, _ string) {
		_, nonce, _ := strings.Cut(link, "nonce=")
		c.rows(row{"api post cli-auth/complete -F apiKey=$KEY -F email=ada@example.com -F nonce=" + nonce, 0, ``, ``})
	})
	c.keep("revoked", c.values["BASE"], "standin_test_"+strings.Repeat("A", 43))
	c.keep("other", "http://127.0.0.1:1", "standin_live_b")
	c.rows(
		row{"api GET jobs", exitNotReachable, ``, `Check that the service is running`},
		row{"jobs list --url $BASE --context $FIRST", 0, ``, ``},
		row{"jobs list --context revoked", exitUnauthorized, ``, `Run standin login again`},
		row{"jobs list --context third", exitUnauthorized, ``, `standin context list`},
		row{"jobs list --url http://127.0.0.1:2", exitUnauthorized, ``, `standin login --url`},
		row{"context use third", exitFailed, ``, `standin context list`},
		row{"context list", 0, `\nother +http://127\.0\.0\.1:1 +- +current\nrevoked [^\n]*-\n$`, ``},
		row{"context list --json", 0, `^[^A]*$`, ``},
		row{"context use $FIRST", 0, ``, ``},
		row{"jobs list", 0, `^ID `, ``},
		row{"logout --json", 0, `"signedOut": true`, ``},
		row{"jobs list", exitUnauthorized, ``, `standin context use`},
		row{"logout", exitFailed, ``, ``},
	)
	path := credentialsPath(c.values["CONFIG"])
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	c.rows(row{"context list", exitFailed, ``, `chmod 600`})
	for _, text := range []string{"%s", "%+v", "%#v"} {
		if text = fmt.Sprintf(text, credentials{APIKey: "standin_live_secret"}); strings.Contains(text, "secret") {
			t.Errorf("the text contains the key: %s", text)
		}
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	c.rows(row{"jobs list", exitUnauthorized, ``, `standin login --url`})
}
