package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"standin/client"

	"standin/internal/jobs/webhook"
)

// posted is a received request, and whether it is genuine.
type posted struct {
	Name    string            `json:"name"`
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"` // in base64
	Want    bool              `json:"want"`

	header http.Header
	body   []byte
}

// postedExamples are the requests that every verification is tested with.
func postedExamples(t *testing.T) []posted {
	t.Helper()
	current, old := webhook.NewSecret(), webhook.NewSecret()
	now := time.Now()
	rotating := []webhook.Secret{{Value: current}, {Value: old, ExpiresAt: now.Add(time.Hour)}}
	over := []webhook.Secret{{Value: current}, {Value: old, ExpiresAt: now.Add(-time.Hour)}}
	text := []byte(`{"deliveryId":"dlv_1","event":"job.finalized","data":{"name":"Zoë 🎥 & <b>"}}`)
	altered := bytes.Clone(text)
	altered[len(altered)-3] ^= 1
	examples := []struct {
		name    string
		secrets []webhook.Secret
		at      time.Time
		body    []byte
		secret  string
		want    bool
	}{
		{"genuine", rotating[:1], now, text, current, true},
		{"rotated, the new secret", rotating, now, text, current, true},
		{"rotated, the old secret", rotating, now, text, old, true},
		{"rotated more than a day ago, the old secret", over, now, text, old, false},
		{"four minutes old", rotating[:1], now.Add(-4 * time.Minute), text, current, true},
		{"six minutes old", rotating[:1], now.Add(-6 * time.Minute), text, current, false},
		{"six minutes ahead", rotating[:1], now.Add(6 * time.Minute), text, current, false},
		{"a byte altered", rotating[:1], now, altered, current, false},
		{"a byte more", rotating[:1], now, append(bytes.Clone(text), ' '), current, false},
		{"another's secret", rotating[:1], now, text, webhook.NewSecret(), false},
	}
	var all []posted
	for _, e := range examples {
		header := make(http.Header)
		if err := webhook.Sign(header, e.secrets, "dlv_1", e.at, text); err != nil {
			t.Fatal(err)
		}
		flat := map[string]string{}
		for name := range header {
			flat[strings.ToLower(name)] = header.Get(name)
		}
		all = append(all, posted{
			Name: e.name, Secret: e.secret, Headers: flat, Body: base64.StdEncoding.EncodeToString(e.body), Want: e.want,
			header: header, body: e.body,
		})
	}
	unsigned := all[0]
	unsigned.Name, unsigned.Want = "unsigned", false
	unsigned.Headers = map[string]string{"webhook-id": "dlv_1"}
	unsigned.header = http.Header{"Webhook-Id": {"dlv_1"}}
	moved := all[0]
	moved.Name, moved.Want = "under another id", false
	moved.Headers = map[string]string{
		"webhook-id": "dlv_2", "webhook-timestamp": moved.Headers["webhook-timestamp"],
		"webhook-signature": moved.Headers["webhook-signature"],
	}
	moved.header = moved.header.Clone()
	moved.header.Set("webhook-id", "dlv_2")
	return append(all, unsigned, moved)
}

// Our verification and the Standard Webhooks library agree.
func TestVerifications(t *testing.T) {
	t.Parallel()
	for _, e := range postedExamples(t) {
		if err := client.VerifyWebhook(e.header, e.body, e.Secret, time.Now()); (err == nil) != e.Want {
			t.Errorf("%s: Verify says %v, want verified %v", e.Name, err, e.Want)
		}
		if err := library(t, e.Secret).Verify(e.body, e.header); (err == nil) != e.Want {
			t.Errorf("%s: the library says %v, want verified %v", e.Name, err, e.Want)
		}
	}
}

// TestSnippets runs the files that verify webhooks without a library.
func TestSnippets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file        string
		interpreter string
		flags       []string
		harness     string // reads examples from standard input, writes its verdicts
	}{
		{"verify_webhook.py", "python3", []string{"-c"}, `
import json, sys
print(json.dumps([verify_webhook(e["secret"], e["headers"], base64.b64decode(e["body"])) for e in json.load(sys.stdin)]))
`},
		{"verify_webhook.js", "node", []string{"-e"}, `
const examples = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(examples.map((e) => verifyWebhook(e.secret, e.headers, Buffer.from(e.body, 'base64')))));
`},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			code, err := os.ReadFile("../../../clients/" + test.file)
			if err != nil {
				t.Fatal(err)
			}
			path, err := exec.LookPath(test.interpreter)
			if err != nil {
				t.Skipf("%s is not installed; its snippet is not run", test.interpreter)
			}
			examples := postedExamples(t)
			input, err := json.Marshal(examples)
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), path, append(test.flags, string(code)+"\n"+test.harness)...)
			command.Stdin = bytes.NewReader(input)
			var stderr bytes.Buffer
			command.Stderr = &stderr
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			var verdicts []bool
			if err := json.Unmarshal(output, &verdicts); err != nil || len(verdicts) != len(examples) {
				t.Fatalf("it wrote %s (%v)", output, err)
			}
			for i, e := range examples {
				if verdicts[i] != e.Want {
					t.Errorf("%s: verified %v, want %v", e.Name, verdicts[i], e.Want)
				}
			}
		})
	}
}
