package conformance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/webhook"
)

var update = flag.Bool("update", false, "write clients/webhooks.json")

// TestWebhookExamples makes clients/webhooks.json with the signatures of the service.
func TestWebhookExamples(t *testing.T) {
	t.Parallel()
	const (
		current = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		old     = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3"
		plain   = "correct horse battery staple"
		body    = `{"deliveryId":"dlv_1","event":"job.finalized","data":{"name":"Zoë 🎥 & <b>"}}`
	)
	sent := time.Unix(1790000000, 0)
	rotating := []webhook.Secret{{Value: current}, {Value: old, ExpiresAt: sent.Add(time.Hour)}}
	without := func(name string) func([][2]string) [][2]string {
		return func(headers [][2]string) [][2]string {
			return slices.DeleteFunc(headers, func(pair [2]string) bool { return pair[0] == name })
		}
	}
	with := func(name, value string) func([][2]string) [][2]string {
		return func(headers [][2]string) [][2]string { return append(without(name)(headers), [2]string{name, value}) }
	}
	joined := func(headers [][2]string) [][2]string {
		var values []string
		for _, pair := range headers {
			if pair[0] == webhook.SignatureHeader {
				values = append(values, pair[1])
			}
		}
		return with(webhook.SignatureHeader, strings.Join(values, ", "))(headers)
	}
	upper := func(headers [][2]string) [][2]string {
		for i := range headers {
			headers[i][0] = http.CanonicalHeaderKey(headers[i][0])
		}
		return headers
	}
	examples := exampleWebhooks{
		About: "Signed requests, and whether a client accepts them. Written by go test ./internal/testing/conformance -run TestWebhookExamples -update.",
	}
	for _, example := range []struct {
		name    string
		secrets []webhook.Secret
		secret  string
		later   time.Duration
		body    string
		change  func([][2]string) [][2]string
		valid   bool
	}{
		{"genuine", rotating[:1], current, 0, body, nil, true},
		{"names of headers in upper case", rotating[:1], current, 0, body, upper, true},
		{"secret in another form", []webhook.Secret{{Value: plain}}, plain, 0, body, nil, true},
		{"secret that is no base64", []webhook.Secret{{Value: "whsec_no base64!"}}, "whsec_no base64!", 0, body, nil, true},
		{"rotated, the new secret", rotating, current, 0, body, nil, true},
		{"rotated, the old secret", rotating, old, 0, body, nil, true},
		{"rotated, headers joined with a comma", rotating, old, 0, body, joined, true},
		{"four minutes old", rotating[:1], current, 4 * time.Minute, body, nil, true},
		{"six minutes old", rotating[:1], current, 6 * time.Minute, body, nil, false},
		{"six minutes ahead", rotating[:1], current, -6 * time.Minute, body, nil, false},
		{"another secret", rotating[:1], old, 0, body, nil, false},
		{"a byte altered", rotating[:1], current, 0, strings.Replace(body, "dlv_1", "dlv_2", 1), nil, false},
		{"a byte more", rotating[:1], current, 0, body + " ", nil, false},
		{"another ID", rotating[:1], current, 0, body, with(webhook.StandardIDHeader, "dlv_2"), false},
		{"another time", rotating[:1], current, 0, body, with(webhook.StandardTimestampHeader, "1790000001"), false},
		{"no time", rotating[:1], current, 0, body, without(webhook.StandardTimestampHeader), false},
		{"a time that is no number", rotating[:1], current, 0, body, with(webhook.StandardTimestampHeader, "1790000000.0"), false},
		{"no standard signature", rotating[:1], current, 0, body, without(webhook.StandardSignatureHeader), false},
		{"an empty standard signature", rotating[:1], current, 0, body, with(webhook.StandardSignatureHeader, "v1,"), false},
		{"no service signature", rotating[:1], current, 0, body, without(webhook.SignatureHeader), false},
		{"an empty service signature", rotating[:1], current, 0, body, with(webhook.SignatureHeader, "sha256="), false},
		{"no headers", rotating[:1], current, 0, body, func([][2]string) [][2]string { return [][2]string{} }, false},
	} {
		header := http.Header{}
		if err := webhook.Sign(header, example.secrets, "dlv_1", sent, []byte(body)); err != nil {
			t.Fatal(err)
		}
		headers := [][2]string{}
		for _, name := range []string{
			webhook.StandardIDHeader, webhook.StandardTimestampHeader, webhook.StandardSignatureHeader, webhook.SignatureHeader,
		} {
			for _, value := range header.Values(name) {
				headers = append(headers, [2]string{name, value})
			}
		}
		if example.change != nil {
			headers = example.change(headers)
		}
		examples.Cases = append(examples.Cases, exampleWebhook{
			Name: example.name, Valid: example.valid, Secret: example.secret, Now: sent.Add(example.later).Unix(), Headers: headers,
			Body: example.body,
		})
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(examples); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "webhooks.json")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s differs from the signatures of the service (%v); run the test with -update", path, err)
	}
}
