package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"standin/client"
	"standin/internal/account"
	"standin/internal/service"
	"standin/internal/webhook"
)

// TestUse asks for the status, sends requests, and lists, opens and deletes recordings.
func TestUse(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	if out, _ := d.run(t, 0, "status", "--json"); !strings.Contains(out, `"ready": true`) || !strings.Contains(out, `"mode": "test"`) || !strings.Contains(out, d.base) {
		t.Errorf("status: %s", out)
	}
	out, _ := d.run(t, 0, "api", "post", "jobs", "-F", "externalId=one", "-F", "meetingUrl=https://meet.google.com/abc-defg-hij", "-F", `autoLeave={"afterSoloSeconds":5}`)
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil || created.AutoLeave.AfterSoloSeconds != 5 {
		t.Fatalf("api: %v: %s", err, out)
	}
	_, stderr := d.run(t, 0, "jobs", "watch", created.ID)
	if !strings.HasPrefix(stderr, "Recorded 0:") || !strings.Contains(stderr, "standin recordings download "+created.ID+" · "+d.base+"/jobs/"+created.ID) {
		t.Errorf("watch ends with %q", stderr)
	}
	if out, _ := d.run(t, 0, "api", "GET", "/api/v1/jobs?externalId=one", "-F", "limit=1"); !strings.Contains(out, created.ID) {
		t.Errorf("api: %s", out)
	}
	if out, stderr := d.run(t, exitNotFound, "api", "GET", "nowhere"); !strings.Contains(out, "not_found") || !strings.Contains(stderr, "404") {
		t.Errorf("api of a missing path: %s%s", out, stderr)
	}
	if out, _ := d.run(t, 0, "recordings", "list"); !strings.Contains(out, created.ID) {
		t.Errorf("recordings list: %s", out)
	}
	if out, _ := d.run(t, 0, "jobs", "events", created.ID, "--output", "yaml"); !strings.Contains(out, "kind: manifest.finalized") {
		t.Errorf("jobs events: %s", out)
	}
	if out, _ := d.run(t, 0, "jobs", "deliveries", created.ID); !strings.HasPrefix(out, "WHEN ") {
		t.Errorf("jobs deliveries: %s", out)
	}
	if out, _ := d.run(t, 0, "jobs", "rerun", created.ID, "--join-at", "tomorrow 10:00"); !strings.Contains(out, "status      scheduled") {
		t.Errorf("jobs rerun: %s", out)
	}
	d.run(t, exitFailed, "recordings", "delete", created.ID)
	d.run(t, 0, "recordings", "delete", created.ID, "--yes")
	if _, stderr := d.run(t, exitNotFound, "recordings", "transcript", created.ID); !strings.Contains(stderr, "has no transcript") || !strings.Contains(stderr, "standin jobs events") {
		t.Errorf("recordings transcript: %s", stderr)
	}
}

// TestContexts signs in to two services and chooses between them.
func TestContexts(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	if err := saveContext(d.config, "other", credentials{URL: "http://127.0.0.1:1", APIKey: "standin_live_b"}); err != nil {
		t.Fatal(err)
	}
	d.run(t, exitNotReachable, "api", "GET", "jobs")
	d.run(t, 0, "jobs", "list", "--url", d.base)
	d.run(t, 0, "jobs", "list", "--context", contextName(d.base))
	d.run(t, exitUnauthorized, "jobs", "list", "--context", "third")
	d.run(t, exitUnauthorized, "jobs", "list", "--url", "http://127.0.0.1:2")
	out, _ := d.run(t, 0, "context", "list")
	if strings.Count(out, "current") != 1 || !strings.Contains(strings.Join(strings.Fields(out), " "), "other http://127.0.0.1:1 - current") || strings.Contains(out, "standin_live_b") {
		t.Errorf("context list: %s", out)
	}
	d.run(t, 0, "context", "use", contextName(d.base))
	d.run(t, 0, "jobs", "list")
	d.run(t, 0, "logout")
	if _, stderr := d.run(t, exitUnauthorized, "jobs", "list"); !strings.Contains(stderr, "standin context use") {
		t.Errorf("after the sign-out: %s", stderr)
	}
}

// TestSetup creates the first user, who can sign in, and no second one.
func TestSetup(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	setup := func() (string, error) {
		process := exec.CommandContext(t.Context(), testedBinary(), "setup", "--email", "ada@example.test", "--team", "crew", "--domain", "standin.example.test", "--data-dir", dir)
		process.Stdin = strings.NewReader(testPassword + "\n")
		out, err := process.CombinedOutput()
		return string(out), err
	}
	out, err := setup()
	if err != nil || !strings.Contains(out, "STANDIN_BASE_URL=https://standin.example.test\n") || !strings.Contains(out, "server_name standin.example.test;") || strings.Contains(out, "%!") {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := (dataFlags{DataSettings: service.DataSettings{DataDir: dir}}).open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if user, err := account.NewUsers(account.UserSettings{Store: s, Now: time.Now}).SignIn(t.Context(), "ada@example.test", testPassword); err != nil || !user.Operator {
		t.Errorf("sign in: %+v, %v", user, err)
	}
	if out, err := setup(); err == nil || !strings.Contains(out, "standin users invite") {
		t.Errorf("again: %v: %s", err, out)
	}
}

// TestForward receives a webhook with the secret of the only team and forwards it.
func TestForward(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	if code, _, stderr := command("teams", "create", "crew", "--data-dir", dir); code != 0 {
		t.Fatal(stderr)
	}
	_, shown, _ := command("teams", "show", "crew", "--secret", "--json", "--data-dir", dir)
	var team struct {
		WebhookSecret string `json:"webhookSecret"`
	}
	if err := json.Unmarshal([]byte(shown), &team); err != nil {
		t.Fatal(err)
	}
	content := `{"deliveryId":"dlv_1","event":"job.finalized","attempt":1,"data":{"jobId":"j"}}`
	received := make(chan error, 1)
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := client.ReceiveWebhook(r, team.WebhookSecret)
		received <- err
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(own.Close)
	stderr := newPrompt()
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"webhooks", "listen", "--listen", "127.0.0.1:0", "--count", "1", "--data-dir", dir, "--forward-to", own.URL}, io.Discard, stderr)
	}()
	address := strings.TrimSuffix(stderr.await(t, "listening on "), ";")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Sign(request.Header, []webhook.Secret{{Value: team.WebhookSecret}}, "dlv_1", time.Now(), []byte(content)); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusTeapot {
		t.Errorf("responded %s", response.Status)
	}
	if err := <-received; err != nil {
		t.Error(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
