package conformance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
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

// The event of a later version.
const (
	laterEvent = "event bot.levitated"
	laterBody  = `{"deliveryId":"dlv_1","event":"bot.levitated","emittedAt":"2026-11-20T13:00:00Z","attempt":1,"version":2,` +
		`"data":{"event":"bot.levitated","jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","height":3}}`
)

// eventBodies returns the examples of webhooks in the API description, by event.
func eventBodies(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		Webhooks map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct {
						Examples map[string]struct {
							Value json.RawMessage `json:"value"`
						} `json:"examples"`
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		} `json:"webhooks"`
	}
	if err := json.Unmarshal(content, &description); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for event, described := range description.Webhooks {
		var compact bytes.Buffer
		if err := json.Compact(&compact, described.Post.RequestBody.Content["application/json"].Examples["version2"].Value); err != nil {
			t.Fatalf("the example of %s: %v", event, err)
		}
		bodies[event] = compact.String()
	}
	return bodies
}

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
	type signed struct {
		name    string
		secrets []webhook.Secret
		secret  string
		later   time.Duration
		body    string
		change  func([][2]string) [][2]string
		valid   bool
	}
	signings := []signed{
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
		{laterEvent, rotating[:1], current, 0, laterBody, nil, true},
	}
	bodies := eventBodies(t)
	for _, event := range slices.Sorted(maps.Keys(bodies)) {
		signings = append(signings, signed{"event " + event, rotating[:1], current, 0, bodies[event], nil, true})
	}
	for _, example := range signings {
		header := http.Header{}
		content := body
		if strings.HasPrefix(example.name, "event ") {
			content = example.body
		}
		if err := webhook.Sign(header, example.secrets, "dlv_1", sent, []byte(content)); err != nil {
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
