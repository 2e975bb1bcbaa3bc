package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/server/httpapi"
	"standin/internal/server/httpmw"
)

// contractBodyOps returns a request to each operation that reads a body and may therefore return a status,
// with valid credentials and a valid path.
func contractBodyOps(t *testing.T, h *contractHarness, status string) (requests []contractRequest) {
	t.Helper()
	id, calendar := h.create(t, h.ada, contractJob(contractFuture)), h.connectCalendar(t)
	for _, operation := range h.description.Operations() {
		if !slices.Contains(operation.Statuses, status) {
			continue
		}
		request := h.to(operation, id)
		if strings.HasPrefix(operation.Path, "/api/v1/calendars/") {
			request.in[0] = calendar
		}
		requests = append(requests, request)
	}
	return requests
}

// contractBodies tests bodies larger than 1 MiB and invalid bodies.
func contractBodies(t *testing.T, h *contractHarness) {
	for _, request := range contractBodyOps(t, h, "413") {
		if request.op == "uploadMedia" || request.op == "ingestScreenshot" || request.op == "returnAccount" {
			continue // no JSON
		}
		request.body = `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
		h.expect(t, 413, request)
		if request.op == "receivePayment" || request.op == "receiveZoom" {
			continue // only the signature is checked
		}
		for _, unreadable := range []string{"", "{", `{"a":1}x`, "\xff", "\x00", "null{}"} {
			request.body = unreadable
			reply := h.expect(t, 400, request)
			if !reply.has(`"issues":[{"path":[],"message":"`) || !reply.has(`"code":"invalid_json"`) {
				t.Errorf("%s %q: %s", request.op, unreadable, reply.body)
			}
		}
		request.body = "[]"
		if reply := h.expect(t, 400, request); !reply.has(`"code":"type"`) {
			t.Errorf("%s []: %s", request.op, reply.body)
		}
	}
}

// raw sends a request without net/http's client, and reads the response.
func (h *contractHarness) raw(t testing.TB, op string, in []string, bearer, header, body string) contractResponse {
	t.Helper()
	operation := h.operation(t, op)
	connection, err := net.Dial("tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(contractTimeout)); err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		header += "Authorization: Bearer " + bearer + "\r\n"
	}
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: standin\r\n%s\r\n%s", operation.Method, contractPath(t, operation, in), header,
		body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s: %v", op, err)
	}
	reply := contractResponse{answer.StatusCode, answer.Header, text}
	h.check(t, operation, reply)
	return reply
}

// contractSlow tests bodies that do not arrive in time.
func contractSlow(t *testing.T, coverage *contractCoverage) {
	settings := contractSettings(t)
	settings.HTTP.Timeouts = httpapi.Timeouts{ReadJSON: 200 * time.Millisecond, Stall: 200 * time.Millisecond}
	h := openContractHarness(t, coverage, settings)
	for _, request := range contractBodyOps(t, h, "408") {
		t.Run(request.op, func(t *testing.T) {
			t.Parallel()
			header := "Content-Length: 100\r\n"
			for name, value := range request.header {
				header += name + ": " + value + "\r\n"
			}
			if reply := h.raw(t, request.op, request.in, request.bearer, header, "{"); reply.status != 408 {
				t.Errorf("half a body got %d %s", reply.status, reply.body)
			}
		})
	}
}

// contractAll returns a request to each operation that needs the database, with valid
// credentials.
func contractAll(id string, h *contractHarness) (requests []contractRequest) {
	beat := `{"jobId":"` + id + `","attempt":0`
	event := `{"id":"evt_all"}`
	bodies := map[string]string{
		"createJob": contractJob(""), "createJobs": `{"jobs":[` + contractJob("") + `]}`, "createKey": `{"name":"CI"}`,
		"createWebhookEndpoint": `{"url":"https://example.com/","events":["*"]}`,
		"redeliverFailed":       `{"url":"https://example.com/"}`, "ingestEvent": beat +
			`,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		"heartbeat": beat + `}`, "ingestTexts": beat + contractTexts("m-1", "Hello") +
			`}`, "uploadMedia": "", "ingestScreenshot": contractPicture(160), "borrowAccount": beat + `}`, "returnAccount": `{}`,
		"signUpload":    beat + `,"name":"a.mp4","bytes":7,"sha256":"` + strings.Repeat("0", 64) + `"}`,
		"createAccount": contractAccount("All"), "createZoomApp": `{"clientId":"all","clientSecret":"x","secretToken":"x"}`,
		"intakeInvite":  `{"organizerEmail":"a@example.com","meetingUrl":"https://meet.google.com/abc","platform":"meet","joinAt":"2999-01-01T00:00:00Z"}`,
		"completeLogin": `{"nonce":"` + strings.Repeat("x", 43) + `","apiKey":"k"}`, "receivePayment": event,
		"createCalendar": contractCalendarBody, "patchCalendar": `{"name":"Ada"}`, "patchCalendarEvent": `{"override":null}`,
	}
	for _, operation := range h.description.Operations() {
		if !slices.Contains(operation.Statuses, "500") {
			continue
		}
		request, known := h.to(operation, id), false
		if request.body, known = bodies[operation.ID]; !known {
			request.body = `{"text":"hello","participantId":"p-1","uri":"https://example.com/a.mp3","none":true}` // valid for every other operation
		}
		switch operation.ID {
		case "searchTexts":
			request.query = "q=budget"
		case "receivePayment":
			request.header = contractSigned(contractPaymentSecret, event, time.Now())
		}
		requests = append(requests, request)
	}
	return requests
}

// contractBroken tests that responses do not reveal an unavailable database.
func contractBroken(t *testing.T, coverage *contractCoverage) {
	h := openContractHarness(t, coverage, contractSettings(t))
	id := h.create(t, h.ada, contractJob(contractFuture))
	if err := h.Store().Close(); err != nil {
		t.Fatal(err)
	}
	for _, request := range contractAll(id, h) {
		reply := h.expect(t, 500, request)
		quoted := strings.ToLower(reply.header.Get("x-request-id")) // random, so it may contain any word
		text := strings.ToLower(string(reply.body))
		if request.op == "headMedia" {
			continue
		}
		for _, inside := range []string{"database", "sql", "closed", ".go"} {
			if strings.Contains(strings.ReplaceAll(text, quoted, ""), inside) {
				t.Errorf("%s reveals %s", request.op, text)
			}
		}
		if reply.text(t, "error") != "internal_server_error" || quoted == "" || !strings.Contains(text, quoted) {
			t.Errorf("%s returned %s", request.op, text)
		}
	}
	h.call(t, 200, "", "health", "") // the process runs
}

// contractLimited tests the rate limits.
func contractLimited(t *testing.T, coverage *contractCoverage) {
	settings := contractSettings(t)
	settings.HTTP.RateLimit = httpmw.Rate{Requests: 1, Per: 24 * time.Hour}
	h := openContractHarness(t, coverage, settings)
	id := h.create(t, h.ada, contractJob(contractFuture))
	for _, request := range contractAll(id, h) {
		if request.bearer != h.ada {
			continue
		}
		reply := h.expect(t, 429, request)
		if request.op != "headMedia" && (reply.text(t, "error") != "rate_limited" || len(reply.header.Get("Retry-After")) != len("86400")) {
			t.Errorf("%s returned %s with Retry-After %s", request.op, reply.body, reply.header.Get("Retry-After"))
		}
		request.bearer = "standin_live_x"
		h.expect(t, 401, request) // before the rate limit
	}
	h.call(t, 201, h.bob, "createJob", contractJob(contractFuture)) // another key has its own limit

	for _, row := range []struct {
		request contractRequest
		allowed int
		status  int
	}{
		{contractRequest{op: "initLogin"}, 60, 201},
		{contractRequest{op: "completeLogin", body: `{"nonce":"x","apiKey":"k"}`}, 60, 410},
		{contractRequest{op: "pollLogin", in: []string{"x"}}, 600, 410},
		{contractRequest{op: "describeManifest"}, 600, 200},
		{contractRequest{op: "hostMetrics"}, 60, 401},
	} {
		if served := h.untilRefused(t, row.request, row.status, 20*row.allowed); served < row.allowed {
			t.Errorf("%s succeeded only %d times", row.request.op, served)
		}
	}
	for _, row := range []struct {
		op         string
		status     int
		with       string // shares its limit, and is cheap
		withStatus int
	}{
		{"describe", 200, "describeManifest", 200},
		{"describeYAML", 200, "describeManifest", 200},
		{"securityText", 404, "describeManifest", 200},
		{"reference", 200, "describeManifest", 200},
		{"intakeInvite", 401, "hostMetrics", 401},
		{"receiveZoom", 401, "hostMetrics", 401},
	} {
		refused := false
		for try := 0; try < 300 && !refused; try++ { // a response may take as long as the limit needs for one more request
			h.untilRefused(t, contractRequest{op: row.with}, row.withStatus, 12_000)
			reply := h.do(t, contractRequest{op: row.op})
			refused = reply.status == http.StatusTooManyRequests
			if !refused && reply.status != row.status {
				t.Fatalf("%s returned %d %s", row.op, reply.status, reply.body)
			}
		}
		if !refused {
			t.Errorf("%s has its own limit", row.op)
		}
	}
	// the correct secret is accepted
	h.expect(t, 200, contractRequest{op: "hostMetrics", header: map[string]string{"x-service-admin-secret": contractAdminSecret}})
	h.call(t, 200, "", "health", "")
}

// untilRefused repeats a request until the status is 429, and returns the number of
// responses before, which must have the given status.
func (h *contractHarness) untilRefused(t *testing.T, request contractRequest, status, limit int) int {
	t.Helper()
	for served := range limit {
		switch reply := h.do(t, request); reply.status {
		case http.StatusTooManyRequests:
			return served
		case status:
		default:
			t.Fatalf("%s returned %d %s", request.op, reply.status, reply.body)
		}
	}
	t.Errorf("%s succeeded %d times", request.op, limit)
	return limit
}
