package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/client"
	"standin/internal/jobs/webhook"
)

const webhookBody = `{"deliveryId":"dlv_1","event":"job.finalized","attempt":1,"data":{"jobId":"j"}}`

// signedHeader returns the header of webhookBody.
func signedHeader(t *testing.T, secret string, at time.Time) http.Header {
	t.Helper()
	header := make(http.Header)
	if err := webhook.Sign(header, []webhook.Secret{{Value: secret}}, "dlv_1", at, []byte(webhookBody)); err != nil {
		t.Fatal(err)
	}
	return header
}

// headerLines returns a header as it is sent.
func headerLines(t *testing.T, header http.Header) string {
	t.Helper()
	var lines bytes.Buffer
	if err := header.Write(&lines); err != nil {
		t.Fatal(err)
	}
	return lines.String()
}

// TestWebhooksVerify checks that a genuine webhook verifies, and that others do not. No
// output has the secret.
func TestWebhooksVerify(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	c := &cli{t, nil, map[string]string{}}
	genuine := headerLines(t, signedHeader(t, secret, time.Now()))
	for name, content := range map[string]string{
		"BODY": webhookBody, "ALTERED": webhookBody + "\n", "SECRET": secret + "\n", "ANOTHER": webhook.NewSecret(),
		"HEADERS": genuine, "OLD": headerLines(t, signedHeader(t, secret, time.Now().Add(-6*time.Minute))),
	} {
		c.values[name] = c.file(name, content)
	}
	flags := regexp.MustCompile(`(?m)^.+$`).ReplaceAllString(strings.ReplaceAll(genuine, "\r", ""), " -H '$0'")
	without := `^[^$]*does not verify`
	c.rows(
		row{"webhooks verify $BODY --header-file $HEADERS --secret-file $SECRET", 0, `^verified dlv_1\n$`, `^$`},
		row{"webhooks verify $BODY --secret-file $SECRET" + strings.ReplaceAll(flags, "\n", " "), 0, `^verified dlv_1\n$`, `^$`},
		row{"webhooks verify $BODY --header-file $HEADERS --secret-file $ANOTHER", exitNotVerified, `^$`, without},
		row{"webhooks verify $ALTERED --header-file $HEADERS --secret-file $SECRET", exitNotVerified, `^$`, without},
		row{"webhooks verify $BODY --header-file $OLD --secret-file $SECRET", exitNotVerified, `^$`, without},
		row{"webhooks verify $BODY --secret-file $SECRET", exitFailed, `^$`, `webhook-id is missing`},
		row{"webhooks verify $BODY --header-file $HEADERS", exitFailed, `^$`, `no webhook secret`},
	)
}

// TestWebhooksListen receives a genuine webhook twice and a forged one, as a receiver that
// fails, and as one that forwards webhooks of the only team.
func TestWebhooksListen(t *testing.T) {
	t.Parallel()
	c := newAdmin(t)
	c.rows(row{"teams create crew", 0, ``, ``}, row{"teams show crew --secret", 0, `(?P<SECRET>whsec_\S+)`, ``})
	secret := c.values["SECRET"]
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := client.ReceiveWebhook(r, secret); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(own.Close)
	for flags, want := range map[string]int{
		"--status 503 --secret-file " + c.file("secret", secret): 503, "--forward-to " + own.URL: http.StatusTeapot,
	} {
		out := new(lockedBuffer)
		stderr, ended := background(out, append(wordsOf("webhooks listen --listen 127.0.0.1:0 --count 3 --json "+flags), c.flags...)...)
		address := stderr.await(t, `listening on (http://[0-9.:]+)`)
		var statuses []int
		for _, signed := range []string{secret, secret, webhook.NewSecret()} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/hooks", strings.NewReader(webhookBody))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = signedHeader(t, signed, time.Now())
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			statuses = append(statuses, answer.StatusCode)
		}
		if code := <-ended; code != 0 || statuses[0] != want || statuses[1] != want || statuses[2] != http.StatusBadRequest {
			t.Errorf("listen %s: exit code %d, responses %v: %s", flags, code, statuses, stderr.String())
		}
		const lines = `(?s)^\{[^\n]*"path":"/hooks","verified":true,[^\n]*"repeated":false,"body":\{"deliveryId":"dlv_1"[^\n]*\n` +
			`[^\n]*"repeated":true[^\n]*\n[^\n]*"verified":false,"error":"[^"]+"[^\n]*"repeated":false\}\n$`
		if !regexp.MustCompile(lines).MatchString(out.String()) {
			t.Errorf("listen %s prints %s", flags, out.String())
		}
	}
}
