package service_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/httpapi"
	"standin/internal/httpapi/ratelimit"
)

// contractBodyOps are the operations that read a JSON body, each asked with
// good credentials and a path that leads to the body.
func contractBodyOps(t *testing.T, h *contractHarness) []contractAsk {
	t.Helper()
	id := h.create(t, h.ada, contractJob(contractFuture))
	return []contractAsk{
		{op: "createJob", bearer: h.ada},
		{op: "patchJob", in: []string{id}, bearer: h.ada},
		{op: "sendChatMessage", in: []string{id}, bearer: h.ada},
		{op: "pinParticipant", in: []string{id}, bearer: h.ada},
		{op: "ingestEvent", bearer: contractToken(id, 0)},
		{op: "heartbeat", bearer: contractToken(id, 0)},
		{op: "intakeInvite", header: map[string]string{"x-service-intake-secret": contractIntakeSecret}},
		{op: "completeLogin"},
		{op: "redeliverFailed", bearer: h.ada},
		{op: "receivePayment", header: map[string]string{"Payment-Signature": "t=1,v1=00"}},
	}
}

// contract, Errors and limits: a body of 1 MiB, and what cannot be read.
func contractBodies(t *testing.T, h *contractHarness) {
	for _, ask := range contractBodyOps(t, h) {
		ask.body = `{"x":"` + strings.Repeat("x", 1<<20) + `"}`
		h.expectCode(t, 413, "payload_too_large", ask)
		if ask.op == "receivePayment" {
			continue // only its signature is looked at
		}
		for _, unreadable := range []string{"", "{", `{"a":1}x`, "\xff", "\x00", "null{}"} {
			ask.body = unreadable
			reply := h.expectCode(t, 400, "invalid_input", ask)
			if !strings.Contains(string(reply.body), `"issues":[{"path":[],"message":"`) || !strings.Contains(string(reply.body), `"code":"invalid_json"`) {
				t.Errorf("%s %q: %s", ask.op, unreadable, reply.body)
			}
		}
		ask.body = "[]"
		if reply := h.expectCode(t, 400, "invalid_input", ask); !strings.Contains(string(reply.body), `"code":"type"`) {
			t.Errorf("%s []: %s", ask.op, reply.body)
		}
	}
}

// raw sends a request past net/http's client, and reads the answer.
func (h *contractHarness) raw(t testing.TB, op string, in []string, bearer, header, body string) contractReply {
	t.Helper()
	operation := h.operation(t, op)
	connection, err := net.Dial("tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(contractPatience)); err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		header += "Authorization: Bearer " + bearer + "\r\n"
	}
	_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: standin\r\n%s\r\n%s", operation.Method, contractPath(t, operation, in), header, body)
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
	reply := contractReply{answer.StatusCode, answer.Header, text}
	h.check(t, operation, reply)
	return reply
}

// contractSlow: a body that does not come in time.
func contractSlow(t *testing.T, walk *contractWalk) {
	settings := contractSettings(t.TempDir())
	settings.HTTP = httpapi.Timeouts{Body: 200 * time.Millisecond, Stall: 200 * time.Millisecond}
	h := openContractHarness(t, walk, settings)
	id := h.create(t, h.ada, contractJob(contractFuture))
	asks := append(contractBodyOps(t, h), contractAsk{
		op: "uploadMedia", in: []string{id, "0", "recording-000-000000.mp4s"}, bearer: contractToken(id, 0), header: contractSum("x"),
	})
	for _, ask := range asks {
		t.Run(ask.op, func(t *testing.T) {
			t.Parallel()
			header := "Content-Length: 100\r\n"
			for name, value := range ask.header {
				header += name + ": " + value + "\r\n"
			}
			if reply := h.raw(t, ask.op, ask.in, ask.bearer, header, "{"); reply.status != 408 {
				t.Errorf("half a body answers %d %s", reply.status, reply.body)
			}
		})
	}
}

// contractAll is a request to each operation that needs the database, with good
// credentials.
func contractAll(id string, h *contractHarness) []contractAsk {
	beat := `{"jobId":"` + id + `","attempt":0`
	event := `{"id":"evt_all"}`
	asks := []contractAsk{
		{op: "createJob", bearer: h.ada, body: contractJob("")},
		{op: "listJobs", bearer: h.ada},
		{op: "listWebhookEndpoints", bearer: h.ada},
		{op: "redeliverFailed", bearer: h.ada, body: `{"url":"https://example.com/"}`},
		{op: "rotateWebhookSecret", bearer: h.ada},
		{op: "ingestEvent", bearer: contractToken(id, 0), body: beat + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`},
		{op: "heartbeat", bearer: contractToken(id, 0), body: beat + `}`},
		{op: "uploadMedia", in: []string{id, "0", "a.mp4"}, bearer: contractToken(id, 0), header: contractSum("")},
		{op: "intakeInvite", header: map[string]string{"x-service-intake-secret": contractIntakeSecret},
			body: `{"organizerEmail":"a@example.com","meetingUrl":"https://meet.google.com/abc","platform":"meet","joinAt":"2999-01-01T00:00:00Z"}`},
		{op: "initLogin"},
		{op: "pollLogin", in: []string{strings.Repeat("x", 43)}},
		{op: "completeLogin", body: `{"nonce":"` + strings.Repeat("x", 43) + `","apiKey":"k"}`},
		{op: "hostMetrics", header: map[string]string{"x-service-admin-secret": contractAdminSecret}},
		{op: "receivePayment", header: contractSigned(contractPaymentSecret, event, time.Now()), body: event},
	}
	for _, op := range []string{
		"getJob", "getJobSettings", "patchJob", "cancelJob", "requestRecordingPermission", "pauseRecording", "resumeRecording", "stopRecording", "leaveCall",
		"sendChatMessage", "pinParticipant", "listTimeline", "listDeliveries", "getManifest", "deleteRecording",
	} {
		asks = append(asks, contractAsk{op: op, in: []string{id}, bearer: h.ada, body: "{}"})
	}
	for _, op := range []string{"redeliver", "getMedia", "headMedia"} {
		asks = append(asks, contractAsk{op: op, in: []string{id, "x"}, bearer: h.ada})
	}
	return asks
}

// contractBroken: the database is away. Nobody is told so.
func contractBroken(t *testing.T, walk *contractWalk) {
	h := openContractHarness(t, walk, contractSettings(t.TempDir()))
	id := h.create(t, h.ada, contractJob(contractFuture))
	if err := h.Store().Close(); err != nil {
		t.Fatal(err)
	}
	for _, ask := range contractAll(id, h) {
		reply := h.expect(t, 500, ask)
		quoted := strings.ToLower(reply.header.Get("x-request-id")) // random, so it may spell anything
		text := strings.ToLower(string(reply.body))
		if ask.op == "headMedia" {
			continue
		}
		for _, inside := range []string{"database", "sql", "closed", ".go"} {
			if strings.Contains(strings.ReplaceAll(text, quoted, ""), inside) {
				t.Errorf("%s tells %s", ask.op, text)
			}
		}
		if reply.text(t, "error") != "internal_server_error" || quoted == "" || !strings.Contains(text, quoted) {
			t.Errorf("%s answers %s", ask.op, text)
		}
	}
	h.expect(t, 200, contractAsk{op: "health"}) // the process is up
}

// contractLimited: more requests than are allowed.
func contractLimited(t *testing.T, walk *contractWalk) {
	settings := contractSettings(t.TempDir())
	settings.RateLimit = ratelimit.Rate{Requests: 1, Per: 24 * time.Hour}
	h := openContractHarness(t, walk, settings)
	id := h.create(t, h.ada, contractJob(contractFuture))
	for _, ask := range contractAll(id, h) {
		if ask.bearer != h.ada {
			continue
		}
		reply := h.expect(t, 429, ask)
		if ask.op != "headMedia" && (reply.text(t, "error") != "rate_limited" || len(reply.header.Get("Retry-After")) != len("86400")) {
			t.Errorf("%s answers %s after %s s", ask.op, reply.body, reply.header.Get("Retry-After"))
		}
		ask.bearer = "standin_live_x"
		h.expect(t, 401, ask) // before anything else
	}
	h.expect(t, 201, contractAsk{op: "createJob", bearer: h.bob, body: contractJob(contractFuture)}) // another key

	for _, row := range []struct {
		ask     contractAsk
		allowed int
		status  int
	}{
		{contractAsk{op: "initLogin"}, 60, 201},
		{contractAsk{op: "completeLogin", body: `{"nonce":"x","apiKey":"k"}`}, 60, 410},
		{contractAsk{op: "pollLogin", in: []string{"x"}}, 600, 410},
		{contractAsk{op: "describeManifest"}, 600, 200},
		{contractAsk{op: "hostMetrics"}, 60, 401},
	} {
		if served := h.untilRefused(t, row.ask, row.status, 20*row.allowed); served < row.allowed {
			t.Errorf("%s was served only %d times", row.ask.op, served)
		}
	}
	for op, status := range map[string]int{"describe": 200, "reference": 200, "intakeInvite": 401} { // they share a limit with those above
		if served := h.untilRefused(t, contractAsk{op: op}, status, 300); served >= 50 && op == "intakeInvite" {
			t.Errorf("%s was served %d times more", op, served)
		}
	}
	h.expect(t, 200, contractAsk{op: "hostMetrics", header: map[string]string{"x-service-admin-secret": contractAdminSecret}}) // the right one is let in
	h.expect(t, 200, contractAsk{op: "health"})
}

// untilRefused asks until the answer is 429, and returns how often it was
// another, which must be the one given.
func (h *contractHarness) untilRefused(t *testing.T, ask contractAsk, status, limit int) int {
	t.Helper()
	for served := range limit {
		switch reply := h.ask(t, ask); reply.status {
		case http.StatusTooManyRequests:
			return served
		case status:
		default:
			t.Fatalf("%s answers %d %s", ask.op, reply.status, reply.body)
		}
	}
	t.Errorf("%s was served %d times", ask.op, limit)
	return limit
}
