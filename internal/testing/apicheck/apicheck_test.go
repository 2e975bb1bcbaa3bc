package apicheck_test

import (
	"testing"

	"standin/api"
	"standin/internal/testing/apicheck"
)

func newTestChecker(t *testing.T) *apicheck.Checker {
	t.Helper()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	return apicheck.New(t, description)
}

func TestResponse(t *testing.T) {
	t.Parallel()
	c := newTestChecker(t)
	for _, test := range []struct {
		method, path string
		status       int
		body         string
		valid        bool
	}{
		{"GET", "/healthz", 200, "ok\n", true},
		{"GET", "/healthz", 500, "", false},
		{"GET", "/nowhere", 200, "", false},
		{"DELETE", "/api/v1/jobs/{id}", 204, "", true},
		{"DELETE", "/api/v1/jobs/{id}", 204, "{}", false},
		{"GET", "/api/v1/jobs/{id}", 404, `{"error":"not_found"}`, true},
		{"GET", "/api/v1/jobs/{id}", 404, `{"error":"Not Found"}`, false},
		{"GET", "/api/v1/jobs/{id}", 404, `{"message":"gone"}`, false},
		{"GET", "/api/v1/jobs/{id}", 404, `gone`, false},
		{"GET", "/api/v1/jobs/{id}", 200, `{}`, false},
		{"POST", "/api/v1/jobs", 400, `{"error":"invalid_input","issues":[{"path":["a",0],"message":"","code":"x"}]}`, true},
		{"POST", "/api/v1/jobs", 400, `{"error":"invalid_input","issues":[{"path":[null],"message":"","code":"x"}]}`, false},
		{"POST", "/webhooks/payments", 400, "", true},
		{"POST", "/webhooks/payments", 400, `{"error":"invalid_input"}`, false},
		{"POST", "/api/v1/cli-auth/poll/{nonce}", 410, `{"status":"expired"}`, true},
		{"POST", "/api/v1/cli-auth/poll/{nonce}", 410, `{"status":"pending"}`, false},
		{"POST", "/api/v1/ingest", 200, `{"ok":true,"applied":true,"status":"joining","commands":[]}`, true},
		{"POST", "/api/v1/ingest", 200, `{"ok":true,"applied":true,"status":"joining","commands":null}`, false},
	} {
		if err := c.Response(test.method, test.path, test.status, []byte(test.body)); (err == nil) != test.valid {
			t.Errorf("%s %s %d %s: %v, want valid %v", test.method, test.path, test.status, test.body, err, test.valid)
		}
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	c := newTestChecker(t)
	const job = `"job":{"id":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","externalId":"x","status":"failed","meetingUrl":"https://meet.google.com/abc",
		"platform":"meet","joinAt":"2026-11-20T13:00:00.000Z","attempts":1,"createdAt":"2026-11-20T13:00:00.000Z","startedAt":null,"finalizedAt":null,
		"manifestUri":null,"failureCode":"lobby_timeout","failureDetail":"x","metadata":{},"autoLeave":{"afterEntryDelaySeconds":600,
		"afterSilenceSeconds":1200,"afterSoloSeconds":60,"afterMaxSeconds":14400,"onBotDetected":false}}`
	envelope := func(event, data string) string {
		return `{"deliveryId":"dlv_1","event":"` + event + `","emittedAt":"2026-11-20T13:00:00.000Z","attempt":1,"version":2,
			"data":{"event":"job.failed","jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","status":"failed",` + data + `}}`
	}
	for _, test := range []struct {
		event, body string
		valid       bool
	}{
		{"job.failed", envelope("job.failed", `"failure_code":"lobby_timeout","failure_detail":"x",`+job), true},
		{"job.failed", envelope("job.failed", `"failure_code":"bored","failure_detail":"x",`+job), false},
		{"job.failed", envelope("job.failed", `"failure_detail":"x",`+job), false},
		{"job.failed", envelope("job.failed", `"failure_code":"lobby_timeout","failure_detail":"x"`), false},
		{"job.failed", envelope("job.finalized", `"failure_code":"lobby_timeout","failure_detail":"x",`+job), false},
		{"job.finalized", envelope("job.failed", `"failure_code":"lobby_timeout","failure_detail":"x",`+job), false},
		{"job.forgotten", `{}`, false},
	} {
		if err := c.Webhook(test.event, []byte(test.body)); (err == nil) != test.valid {
			t.Errorf("%s %s: %v, want valid %v", test.event, test.body, err, test.valid)
		}
	}
}
