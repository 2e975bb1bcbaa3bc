package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"standin/client"
	"standin/internal/job"
	"standin/internal/service"
)

// testCLI is a command line that is signed in to a running service with a test
// key, so that its jobs run in the simulator.
type testCLI struct {
	base, config string
}

func newTestCLI(t *testing.T) testCLI {
	t.Helper()
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: newDataDir(t)}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, IngestSigningKey: "key", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	_, key, err := s.Keys.Issue(t.Context(), "ada", "ada@example.com", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	d := testCLI{base: s.BaseURL(), config: filepath.Join(t.TempDir(), "standin")}
	d.login(t, key)
	return d
}

// login signs in by the device flow. A plain request replaces the page that
// authorizes it.
func (d testCLI) login(t *testing.T, key string) {
	t.Helper()
	stderr := newPrompt()
	done := make(chan int, 1)
	var out bytes.Buffer
	go func() {
		done <- run([]string{"login", "--no-browser", "--url", d.base, "--config-dir", d.config}, &out, stderr)
	}()
	nonce := stderr.await(t, "/cli?nonce=")
	body := `{"nonce":"` + nonce + `","apiKey":"` + key + `","email":"ada@example.com"}`
	answer, err := http.Post(d.base+"/api/v1/cli-auth/complete", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if code := <-done; code != 0 || !strings.Contains(out.String(), "signed in to "+d.base+" as ada@example.com") {
		t.Fatalf("login ended with %d: %s", code, out.String())
	}
	if strings.Contains(out.String(), key) {
		t.Error("the sign-in shows the key")
	}
}

// prompt is a terminal output that tests can wait for.
type prompt struct{ lines chan string }

func newPrompt() prompt { return prompt{lines: make(chan string, 100)} }

func (p prompt) Write(text []byte) (int, error) {
	p.lines <- string(text)
	return len(text), nil
}

// await returns the word that follows a text.
func (p prompt) await(t *testing.T, after string) string {
	t.Helper()
	timeout := time.After(4 * time.Minute)
	for {
		select {
		case text := <-p.lines:
			if _, rest, found := strings.Cut(text, after); found {
				return strings.Fields(rest)[0]
			}
		case <-timeout:
			t.Fatalf("the terminal never showed %q", after)
		}
	}
}

// run runs a command of the signed-in command line.
func (d testCLI) run(t *testing.T, wantCode int, args ...string) (out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append(args, "--config-dir", d.config), &stdout, &stderr); code != wantCode {
		t.Fatalf("standin %s ended with %d, want %d: %s%s", strings.Join(args, " "), code, wantCode, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

// TestLinkWarningBeforeSending checks that the warning about a link that leads to no
// meeting is shown before the job is created.
func TestLinkWarningBeforeSending(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	stderr := newPrompt()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if got := stderr.await(t, "warning: This Zoom link lists "); got != "telephone" {
			t.Errorf("the warning goes on with %q", got)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer service.Close()
	if code := run([]string{"jobs", "create", "https://zoom.us/u/abc", "--url", service.URL, "--config-dir", d.config}, io.Discard, stderr); code == 0 {
		t.Error("the job was created")
	}
}

// TestJobsCommands creates, watches, changes, lists and cancels jobs.
func TestJobsCommands(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	const meeting = "https://meet.google.com/abc-defg-hij"

	out, _ := d.run(t, 0, "jobs", "create", meeting, "--external-id", "one", "--metadata", `{"team":"a"}`, "--watch")
	for _, want := range []string{"externalId  one", "Starting a bot  (dispatching)", "Bot joined the meeting", "Recording ready  (completed)"} {
		if !strings.Contains(out, want) {
			t.Errorf("create --watch does not show %q:\n%s", want, out)
		}
	}
	out, stderr := d.run(t, 0, "jobs", "create", meeting, "--external-id", "one", "--json")
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil || created.ExternalID != "one" || !strings.Contains(stderr, "already exists") {
		t.Errorf("create again: %v: %s%s", err, out, stderr)
	}

	_, stderr = d.run(t, 0, "jobs", "create", "https://zoom.us/u/abc", "--join-at", "2099-01-01T10:00:00Z")
	if strings.Count(stderr, "warning: This Zoom link lists telephone numbers.") != 1 {
		t.Errorf("a link without a meeting is accepted with %q", stderr)
	}

	_, stderr = d.run(t, exitJobFailed, "jobs", "create", meeting, "--metadata", `{"simulate":"lobby_timeout"}`, "--watch")
	if !strings.Contains(stderr, "failed (lobby_timeout): ") {
		t.Errorf("a failed job is reported as %s", stderr)
	}

	out, _ = d.run(t, 0, "jobs", "create", meeting, "--external-id", "later", "--join-at", "2099-01-01T10:00:00Z", "--json")
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	out, _ = d.run(t, 0, "jobs", "patch", created.ID, "--join-at", "2099-01-02T10:00:00Z", "--auto-leave", `{"afterSoloSeconds":5}`, "--json")
	if err := json.Unmarshal([]byte(out), &created); err != nil || created.JoinAt.Day() != 2 || created.AutoLeave.AfterSoloSeconds != 5 {
		t.Errorf("patch: %v: %s", err, out)
	}
	for _, said := range []string{"", "already cancelled\n"} {
		if out, stderr = d.run(t, 0, "jobs", "cancel", created.ID); !strings.Contains(out, "cancelled") || stderr != said {
			t.Errorf("cancel: %s%s, want %q", out, stderr, said)
		}
	}
	if out, _ = d.run(t, 0, "jobs", "get", created.ID); !strings.Contains(out, "cancelled") {
		t.Errorf("get: %s", out)
	}
	if out, _ = d.run(t, 0, "jobs", "list", "--status", "cancelled"); strings.Count(out, "\n") != 2 || !strings.Contains(out, created.ID) {
		t.Errorf("list: %s", out)
	}
	if _, stderr = d.run(t, 1, "jobs", "leave", created.ID); !strings.Contains(stderr, "invalid_state") {
		t.Errorf("leave of a cancelled job: %s", stderr)
	}
	if _, stderr = d.run(t, 1, "jobs", "create", "no url"); !strings.Contains(stderr, "meetingUrl: ") {
		t.Errorf("create without a URL: %s", stderr)
	}

	d.run(t, 0, "logout")
	if _, stderr = d.run(t, exitUnauthorized, "jobs", "list"); !strings.Contains(stderr, "standin login") {
		t.Errorf("without a sign-in: %s", stderr)
	}
}

// TestControlCommands queues every bot command during a recording.
func TestControlCommands(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	out, _ := d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--metadata", `{"simulate":{"outcome":"success","seconds":600}}`, "--json")
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(d.base, "")
	if err != nil || api.BaseURL() != d.base {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(4 * time.Minute); created.Status != "recording_started"; {
		if time.Now().After(deadline) || created.Ended() {
			t.Fatalf("the job is %s", created.Status)
		}
		out, _ = d.run(t, 0, "jobs", "get", created.ID, "--json")
		if err := json.Unmarshal([]byte(out), &created); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range [][]string{{"pause"}, {"resume"}, {"chat", "hello"}, {"pin", "p-1"}, {"ask"}, {"stop"}, {"leave"}} {
		args := append([]string{"jobs", verb[0], created.ID}, verb[1:]...)
		if out, _ := d.run(t, 0, args...); len(strings.TrimSpace(out)) != 36 {
			t.Errorf("%s prints %q, want only a command ID", verb[0], out)
		}
	}
	d.run(t, 0, "jobs", "watch", created.ID)
}
