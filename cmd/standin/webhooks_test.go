package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/internal/webhook"
)

// signedFiles writes a webhook's body, headers and secret as files.
func signedFiles(t *testing.T, secret string, at time.Time) (body, headers, secretFile string) {
	t.Helper()
	dir := t.TempDir()
	content := []byte(`{"deliveryId":"dlv_1","event":"job.finalized","attempt":1,"data":{"jobId":"j"}}`)
	header := make(http.Header)
	if err := webhook.Sign(header, []webhook.Secret{{Value: secret}}, "dlv_1", at, content); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := header.Write(&lines); err != nil {
		t.Fatal(err)
	}
	body, headers, secretFile = filepath.Join(dir, "body"), filepath.Join(dir, "headers"), filepath.Join(dir, "secret")
	for path, content := range map[string][]byte{body: content, headers: lines.Bytes(), secretFile: []byte(secret + "\n")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return body, headers, secretFile
}

// TestWebhooksVerify checks that a genuine webhook verifies and that others exit
// with exitNotVerified.
func TestWebhooksVerify(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	body, headers, secretFile := signedFiles(t, secret, time.Now())
	_, old, _ := signedFiles(t, secret, time.Now().Add(-6*time.Minute))
	_, _, another := signedFiles(t, webhook.NewSecret(), time.Now())
	altered := filepath.Join(t.TempDir(), "altered")
	content, err := os.ReadFile(body)
	if err == nil {
		err = os.WriteFile(altered, append(content, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		out  string
		err  string
	}{
		{"genuine", []string{body, "--header-file", headers, "--secret-file", secretFile}, 0, "verified dlv_1\n", ""},
		{"another secret", []string{body, "--header-file", headers, "--secret-file", another}, exitNotVerified, "", "does not verify"},
		{"a byte more", []string{altered, "--header-file", headers, "--secret-file", secretFile}, exitNotVerified, "", "does not verify"},
		{"six minutes old", []string{body, "--header-file", old, "--secret-file", secretFile}, exitNotVerified, "", "does not verify"},
		{"no headers", []string{body, "--secret-file", secretFile}, 1, "", "webhook-id is missing"},
		{"no secret", []string{body, "--header-file", headers}, 1, "", "no webhook secret"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { // not parallel: a signature is genuine for five minutes
			var out, errs bytes.Buffer
			code := run(append([]string{"webhooks", "verify"}, test.args...), &out, &errs)
			if code != test.code || out.String() != test.out || !strings.Contains(errs.String(), test.err) {
				t.Errorf("code %d, out %q, err %q", code, out.String(), errs.String())
			}
			if strings.Contains(out.String()+errs.String(), secret) {
				t.Error("the secret is printed")
			}
		})
	}
	lines, err := os.ReadFile(headers)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"webhooks", "verify", body, "--secret-file", secretFile}
	for header := range strings.Lines(string(lines)) {
		args = append(args, "-H", strings.TrimSpace(header))
	}
	var out, errs bytes.Buffer
	if code := run(args, &out, &errs); code != 0 {
		t.Errorf("headers as flags: code %d, err %q", code, errs.String())
	}
}

// TestWebhooksListen receives a genuine webhook twice and a forged one.
func TestWebhooksListen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	secret := webhook.NewSecret()
	body, _, secretFile := signedFiles(t, secret, time.Now())
	content, err := os.ReadFile(body)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"webhooks", "listen", "--listen", "127.0.0.1:0", "--status", "503", "--count", "3", "--json", "--secret-file", secretFile}, &out, &errs)
	}()
	address := regexp.MustCompile(`http://[0-9.:]+`)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for address.FindString(errs.String()) == "" {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("it never said where it listens: %q", errs.String())
		}
	}
	send := func(signed string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.FindString(errs.String())+"/hooks", bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if err := webhook.Sign(request.Header, []webhook.Secret{{Value: signed}}, "dlv_1", time.Now(), content); err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if first, second, forged := send(secret), send(secret), send(webhook.NewSecret()); first != 503 || second != 503 || forged != 400 {
		t.Errorf("responded %d, %d and %d, want 503, 503 and 400", first, second, forged)
	}
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("code %d: %s", code, errs.String())
		}
	case <-ctx.Done():
		t.Fatal("the command did not exit after three webhooks")
	}
	var got []receivedWebhook
	for text := range strings.Lines(out.String()) {
		var one receivedWebhook
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got = append(got, one)
	}
	if len(got) != 3 || !got[0].Verified || got[0].Repeated || !got[1].Repeated || got[2].Verified || got[2].Error == "" || got[2].Body != nil ||
		string(got[0].Body) != string(content) || got[0].Path != "/hooks" {
		t.Errorf("printed %s", out.String())
	}
}

// TestConsumersRotateSecret checks that the command prints only the new secret.
func TestConsumersRotateSecret(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	command := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(append(args, "--data-dir", dir), &out, &errs); code != 0 {
			t.Fatalf("%v: code %d, %s", args, code, errs.String())
		}
		return out.String()
	}
	command("keys", "create", "--consumer", "ada")
	before := command("consumers", "show", "ada", "--secret")
	rotated := strings.TrimSuffix(command("consumers", "rotate-secret", "ada"), "\n")
	if !regexp.MustCompile(`^whsec_[A-Za-z0-9+/]{43}=$`).MatchString(rotated) || strings.Contains(before, rotated) {
		t.Errorf("rotated to %q", rotated)
	}
	if after := command("consumers", "show", "ada", "--secret"); !strings.Contains(after, rotated) {
		t.Errorf("the new secret is not stored: %s", after)
	}
	command("consumers", "set-webhook-version", "ada", "1")
	if after := command("consumers", "show", "ada"); !regexp.MustCompile(`webhook version +1\n`).MatchString(after) {
		t.Errorf("the version is not stored: %s", after)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"consumers", "set-webhook-version", "ada", "3", "--data-dir", dir}, &out, &errs); code == 0 {
		t.Error("there is a version 3")
	}
}
