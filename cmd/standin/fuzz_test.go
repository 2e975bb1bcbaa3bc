package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

// FuzzParseTime checks that what people write as a time is a time near to it, or an error that
// quotes it.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{
		"now", "+15m", "-1h30m", "10:00", "Tomorrow 9:30", "2026-11-26", "2026-11-26T10:00:00+05:30", "", "soon", "25:00", "tomorrow",
		"+292y", "0000-01-01",
	} {
		f.Add(text)
	}
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.FixedZone("", 3600))
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseTime(text, now)
		if err != nil {
			return
		}
		written := at.Format(time.RFC3339Nano)
		if again, err := parseTime(written, now); err != nil || !again.Equal(at) {
			t.Errorf("%q is %s, which is %s (%v)", text, written, again, err)
		}
	})
}

// FuzzEnvFile checks that a file of settings sets the variables that its lines name, and no
// others.
func FuzzEnvFile(f *testing.F) {
	f.Add("# settings\n\n; more\nSTANDIN_LISTEN=\nSTANDIN_DATA_DIR=\"/data\"\n")
	f.Add("STANDIN_A='b\nSTANDIN_A=c=d\r\n =e\nSTANDIN_\x00=f\nexport STANDIN_G=h")
	f.Add(strings.Repeat("a", 70_000) + "=b")
	f.Fuzz(func(t *testing.T, content string) {
		path := (&cli{T: t}).file("standin.env", content)
		before := os.Environ()
		t.Cleanup(func() {
			os.Clearenv()
			for _, variable := range before {
				name, value, _ := strings.Cut(variable, "=")
				_ = os.Setenv(name, value)
			}
		})
		os.Clearenv()
		if err := readEnvFile(path); err != nil {
			return
		}
		for _, variable := range os.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			if !strings.Contains(content, name) || !strings.Contains(content, value) || value == "" {
				t.Errorf("%q sets %s to %q", content, name, value)
			}
		}
	})
}

// FuzzContexts checks that commands survive any file of credentials, and do not show it.
func FuzzContexts(f *testing.F) {
	f.Add(`{"current":"a","contexts":{"a":{"url":"http://127.0.0.1:1","apiKey":"standin_live_secret"}}}`)
	f.Add(`{"current":"a","contexts":{"b":{"url":":","apiKey":"standin_live_secret"}}}`)
	f.Add(`{"apiKey":"standin_live_secret"`)
	f.Add(`{"contexts":{"":null}}`)
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		if err := os.WriteFile(credentialsPath(dir), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"context list", "context use a", "logout"} {
			_, out, stderr := command(append(wordsOf(line), "--config-dir", dir)...)
			if checkHarmless(t, out+stderr); strings.Contains(out+stderr, "standin_live_secret") &&
				!strings.Contains(strings.ReplaceAll(content, `"apiKey":"standin_live_secret"`, ""), "standin_live_secret") {
				t.Errorf("standin %s shows the key of %s: %s%s", line, content, out, stderr)
			}
		}
	})
}

// FuzzWebhookHeaders checks that no file of headers makes a webhook genuine.
func FuzzWebhookHeaders(f *testing.F) {
	f.Add("webhook-id: dlv_1\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,a\r\nx-service-signature: sha256=b\r\n")
	f.Add(":\n webhook-id : \x00")
	f.Fuzz(func(t *testing.T, headers string) {
		c := &cli{T: t}
		code, out, stderr := command("webhooks", "verify", c.file("body", webhookBody), "--secret-file", c.file("secret", "whsec_c2VjcmV0"),
			"--header-file", c.file("headers", headers))
		if checkHarmless(t, out+stderr); code == 0 {
			t.Errorf("%q verifies: %s", headers, out)
		}
	})
}
