package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	recordingbuild "standin/internal/recording/build"
	"standin/internal/service"
)

// command runs a command line in this process.
func command(args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = run(args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// simulated runs a job of a test key and returns its ID. The service runs until
// the test ends.
func simulated(t *testing.T, dir string) string {
	t.Helper()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: dir}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	_, secret, err := s.Keys.Issue(t.Context(), "ada", "", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.NewReader(`{"externalId":"weekly-17","meetingUrl":"https://meet.google.com/abc-defg-hij"}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.BaseURL()+"/api/v1/jobs", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var created job.Job
	if err := json.NewDecoder(answer.Body).Decode(&created); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(4 * time.Minute); ; <-ticker.C {
		r, err := s.Store().Job(t.Context(), created.ID)
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Status == job.Completed && r.WakeAt.IsZero():
			return r.ID.String()
		case r.Status == job.Failed || time.Now().After(deadline):
			t.Fatalf("the job is %s: %s", r.Status, r.FailureDetail)
		}
	}
}

// TestRecordingsVerify verifies one recording, all recordings, and a recording
// that was truncated on disk, while the service runs.
func TestRecordingsVerify(t *testing.T) {
	t.Parallel()
	if _, err := recordingbuild.FindTools(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := newDataDir(t)
	id := simulated(t, dir)
	for _, which := range [][]string{nil, {id}} {
		code, out, stderr := command(append([]string{"recordings", "verify", "--data-dir", dir}, which...)...)
		if code != 0 || !strings.Contains(out, id+"  valid  \"weekly-17\"") || !strings.HasSuffix(out, "1 valid, 0 invalid\n") {
			t.Errorf("verify %v: exit code %d, %s%s", which, code, out, stderr)
		}
	}
	path := filepath.Join(dir, "recordings", "jobs", id, "media", "recording.mp4")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)-100], 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := command("recordings", "verify", "--data-dir", dir)
	if code != 1 || !strings.Contains(out, "INVALID") || !strings.Contains(out, "SHA-256 is") || !strings.Contains(stderr, "1 recordings do not match") {
		t.Errorf("truncated recording: exit code %d, %s%s", code, out, stderr)
	}
	code, out, _ = command("recordings", "verify", "--data-dir", dir, "--json", id)
	var verdict recordingbuild.VerifyReport
	if err := json.Unmarshal([]byte(out), &verdict); err != nil || code != 1 || verdict.JobID != id || verdict.OK() || len(verdict.Files) == 0 {
		t.Errorf("--json: exit code %d, %v, %s", code, err, out)
	}
	if code, _, stderr := command("recordings", "verify", "--data-dir", dir, "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"); code != 1 || !strings.Contains(stderr, "no such job") {
		t.Errorf("unknown job: exit code %d, %s", code, stderr)
	}
}

// TestRecordingsSweep checks that the command deletes only with --delete.
func TestRecordingsSweep(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	stray := filepath.Join(dir, "recordings", "jobs", "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", "manifest.json")
	if err := os.MkdirAll(filepath.Dir(stray), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stray, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := command("recordings", "sweep", "--data-dir", dir); code != 0 || !strings.Contains(out, "unused objects of 0 jobs") {
		t.Errorf("recently written object: exit code %d, %s%s", code, out, stderr)
	}
	if err := os.Chtimes(stray, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := command("recordings", "sweep", "--data-dir", dir)
	if _, err := os.Stat(stray); code != 0 || err != nil || !strings.Contains(out, "unused objects of 1 jobs listed") {
		t.Errorf("listed: exit code %d, %v, %s%s", code, err, out, stderr)
	}
	code, out, stderr = command("recordings", "sweep", "--delete", "--data-dir", dir)
	if _, err := os.Stat(stray); code != 0 || err == nil || !strings.Contains(out, "unused objects of 1 jobs deleted") {
		t.Errorf("deleted: exit code %d, %v, %s%s", code, err, out, stderr)
	}
}

func TestConsumersSetRetention(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	if code, _, stderr := command("keys", "create", "--consumer", "acme", "--data-dir", dir); code != 0 {
		t.Fatal(stderr)
	}
	for _, test := range []struct{ set, shown string }{
		{"30d", "30d"}, {"36h", "36h0m0s"}, {"forever", "forever"}, {"default", "service default"},
	} {
		if code, out, stderr := command("consumers", "set", "acme", "--retention", test.set, "--data-dir", dir); code != 0 {
			t.Errorf("set %s: exit code %d, %s%s", test.set, code, out, stderr)
		}
		if code, out, stderr := command("consumers", "set", "acme", "--job-retention", test.set, "--data-dir", dir); code != 0 {
			t.Errorf("set %s for jobs: exit code %d, %s%s", test.set, code, out, stderr)
		}
		if _, out, _ := command("consumers", "show", "acme", "--data-dir", dir); !strings.Contains(out, "recordings kept for  "+test.shown+"\n") ||
			!strings.Contains(out, "jobs kept for        "+test.shown+"\n") {
			t.Errorf("after %s: %s", test.set, out)
		}
	}
	for _, choice := range []string{"on", "off"} {
		code, out, stderr := command("consumers", "set", "acme", "--transcript-event", choice, "--command-event", choice, "--data-dir", dir)
		if want := "webhook job.transcript_ready of acme: " + choice + "\nwebhook bot.command_outcome of acme: " + choice + "\n"; code != 0 || out != want {
			t.Errorf("set the events %s: exit code %d, %s%s", choice, code, out, stderr)
		}
		if _, out, _ := command("consumers", "show", "acme", "--data-dir", dir); !strings.Contains(out, "transcript event     "+choice+"\ncommand event        "+choice+"\n") {
			t.Errorf("after setting the events %s: %s", choice, out)
		}
	}
	for _, test := range []struct {
		flags []string
		shown string
	}{
		{[]string{"--camera-name", "--say-on-join", "Hello"}, `{"onJoin":{"text":"Hello"},"camera":{"nameCard":true}}`}, {[]string{"--no-output"}, "none"},
	} {
		if code, out, stderr := command(append([]string{"consumers", "set", "acme", "--data-dir", dir}, test.flags...)...); code != 0 || out != "output of acme: "+test.shown+"\n" {
			t.Errorf("%v: exit code %d, %s%s", test.flags, code, out, stderr)
		}
		if _, out, _ := command("consumers", "show", "acme", "--data-dir", dir); !strings.Contains(out, "output               "+test.shown+"\n") {
			t.Errorf("after %v: %s", test.flags, out)
		}
	}
	if code, _, stderr := command("consumers", "set", "acme", "--camera-page", "ftp://example.com/", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "camera page uri") {
		t.Errorf("invalid page: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("consumers", "set", "acme", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "--job-retention") {
		t.Errorf("nothing to set: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("consumers", "set", "acme", "--retention", "soon", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "30d") {
		t.Errorf("invalid duration: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := command("consumers", "set", "unknown", "--retention", "1d", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "no such consumer") {
		t.Errorf("unknown consumer: exit code %d, %s", code, stderr)
	}
}

// TestConsumersDelete deletes a consumer, with confirmation.
func TestConsumersDelete(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	for _, name := range []string{"acme", "other"} {
		if code, _, stderr := command("keys", "create", "--consumer", name, "--data-dir", dir); code != 0 {
			t.Fatal(stderr)
		}
	}
	if code, _, stderr := command("consumers", "delete", "acme", "--data-dir", dir); code == 0 || !strings.Contains(stderr, "--yes") {
		t.Errorf("without confirmation: exit code %d, %s", code, stderr)
	}
	if code, out, stderr := command("consumers", "delete", "acme", "--yes", "--data-dir", dir); code != 0 || out != "deleted team acme and 0 jobs\n" {
		t.Errorf("delete: exit code %d, %s%s", code, out, stderr)
	}
	if code, _, stderr := command("consumers", "delete", "acme", "--yes", "--data-dir", dir); code != 1 || !strings.Contains(stderr, "no such consumer") {
		t.Errorf("delete again: exit code %d, %s", code, stderr)
	}
	if _, out, _ := command("consumers", "list", "--data-dir", dir); strings.Contains(out, "acme") || !strings.Contains(out, "other") {
		t.Errorf("left: %s", out)
	}
}
