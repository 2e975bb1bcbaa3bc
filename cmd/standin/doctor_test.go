package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"standin/internal/replica"
)

// TestDoctorReportsFailures checks that a failed check appears in the output and
// in the exit code, and that a usage error has its own exit code.
func TestDoctorReportsFailures(t *testing.T) {
	t.Parallel()
	needTools(t)
	folder := filepath.Join(t.TempDir(), "data")
	for _, test := range []struct {
		args []string
		code int
		out  string
		err  string
	}{
		{[]string{"--data-dir", folder}, 0, "SQLite " + folder, ""},
		{[]string{"--data-dir", folder, "--browser", "/no/such/browser"}, 1, "fail  browser ", "1 check failed, "},
		{[]string{"--platform", "meet"}, 2, "", "--url"},
		{[]string{"--platform", "meet", "--url", "https://evil.test/abc-defg-hij"}, 1, "", "--allow-host evil.test"},
	} {
		var out, err bytes.Buffer
		code := run(append([]string{"doctor"}, test.args...), &out, &err)
		if code != test.code || !strings.Contains(out.String(), test.out) || !strings.Contains(err.String(), test.err) {
			t.Errorf("standin doctor %s: code %d\n%s%s", strings.Join(test.args, " "), code, out.String(), err.String())
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	t.Parallel()
	needTools(t)
	var out, err bytes.Buffer
	code := run([]string{"doctor", "--json", "--data-dir", t.TempDir(), "--browser", "/no/such/browser", "--profiles", "/no/such/folder"}, &out, &err)
	var report struct {
		OK     bool
		Checks []struct{ Name, State, Found, Fix string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	failed := slices.ContainsFunc(report.Checks, func(check struct{ Name, State, Found, Fix string }) bool {
		return check.Name == "profiles" && check.State == "fail" && check.Fix != ""
	})
	if code != 1 || report.OK || !failed {
		t.Errorf("code %d:\n%s", code, out.String())
	}
}

// TestDoctorInspectsPage runs the command against a replica meeting.
func TestDoctorInspectsPage(t *testing.T) {
	t.Parallel()
	needTools(t)
	media, err := replica.PrepareSmallMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	server, err := replica.Start(t.Context(), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	meeting, err := server.Open(replica.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run([]string{
		"doctor", "--platform", "meet", "--url", meeting.URL(), "--wait", "30s", "--loopback-peers",
		"--allow-host", strings.TrimPrefix(server.URL(), "http://"),
	}, &out, &errs)
	if code != 0 {
		t.Fatalf("code %d\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{"screen   preJoin, by element joinButton, nameInput", `"Ask to join"`, "missing  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
}
