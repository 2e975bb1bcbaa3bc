package service_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/testing/storetest"
)

// hostileTexts are JSON escapes, and a long text, that are added to every text of
// every request.
var hostileTexts = map[string]string{
	"NUL": `\u0000`, "lone surrogate": `\ud800`, "direction": `\u202e`, "escape": `\u001b[31m`, "long": strings.Repeat("x", 40_000),
}

// TestContractHostileTexts adds a hostile text to every text of every request:
// bodies with the keys and values of their free objects, queries, paths and headers.
// None may be an internal error, whatever is stored must be readable, and jobs of
// other consumers must still be dispatched. The short run has no text that differs from
// the others only in its character, and no long one.
func TestContractHostileTexts(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		settings := contractSettings(t)
		settings.HTTP.TrustedProxies = 1
		if strings.HasPrefix(address, "postgres") {
			settings.DatabaseURL = address
		}
		h := openContractHarness(t, newContractCoverage(), settings)
		for name, hostile := range hostileTexts {
			if testing.Short() && name != "NUL" && name != "lone surrogate" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				h.hostileBodies(t, hostile)
				h.hostileAddresses(t, hostile)
			})
		}
		h.checkReadable(t)
		id := h.create(t, h.bob, contractJob(""))
		h.awaitStatus(t, h.bob, id, job.Dispatching)
	})
}

// hostileRequests returns functions that return a valid request to each operation
// with a JSON body. A job in a request is new and due in the far future; a bot may
// report for it already.
func (h *contractHarness) hostileRequests(t *testing.T) []func() contractRequest {
	t.Helper()
	const link = `"meetingUrl":"https://meet.google.com/abc-defg-hij"`
	next := 0
	anyAddress := func() map[string]string { // logins are limited per client address
		next++
		return map[string]string{"X-Forwarded-For": fmt.Sprintf("10.0.%d.%d", next/256, next%256)}
	}
	ofJob := func(op, body string) func() contractRequest {
		return func() contractRequest {
			id := h.create(t, h.ada, contractJob(contractFuture))
			return contractRequest{op: op, in: []string{id}, bearer: h.ada, body: strings.ReplaceAll(body, "ID", id)}
		}
	}
	ofBot := func(op, fields string) func() contractRequest {
		return func() contractRequest {
			id := h.create(t, h.ada, contractJob(contractFuture))
			return contractRequest{op: op, bearer: contractToken(id, 0), body: `{"jobId":"` + id + `","attempt":0,` + fields + `}`}
		}
	}
	event := func(kind, data string) func() contractRequest {
		return ofBot("ingestEvent", `"kind":"`+kind+`","emittedAt":"2026-11-20T13:00:00Z","data":`+data)
	}
	return []func() contractRequest{
		func() contractRequest {
			return contractRequest{op: "createJob", bearer: h.ada, body: contractJob(contractFuture + `,"platform":"meet","displayName":"Notes",
				"webhooks":{"onStatusChange":"https://hooks.example/s","onFinalize":"https://hooks.example/f"},"metadata":{"a":"b","c":[{"d":"e"}]}`)}
		},
		func() contractRequest { // simulated at once
			return contractRequest{op: "createJob", bearer: h.adasTest, body: contractJob(`,"metadata":{"simulate":"completed","a":"b"}`)}
		},
		ofJob("patchJob", `{"joinAt":"2998-01-01T00:00:00Z","displayName":"Notes","webhooks":{"onStatusChange":"https://hooks.example/s","onFinalize":null},"metadata":{"a":"b","c":[{"d":"e"}]}}`),
		func() contractRequest {
			return contractRequest{
				op: "createJobs", bearer: h.ada,
				body: `{"jobs":[` + contractJob(contractFuture+
					`,"title":"Standup","captions":{"language":"en"},"transcript":{"language":"de-DE","live":true,"keyterms":["Standin"]}`) + `]}`,
			}
		},
		ofJob("sendChatMessage", `{"text":"hello"}`),
		ofJob("pinParticipant", `{"participantId":"p-1"}`),
		ofJob("playAudio", `{"uri":"https://example.com/a.mp3"}`),
		ofJob("setCamera", `{"image":{"uri":"https://example.com/a.png"}}`),
		ofJob("shareScreen", `{"page":{"uri":"https://example.com/"}}`),
		ofJob("speak", `{"text":"hello","voice":"alloy","language":"en"}`),
		ofJob("transcribeAgain", `{"model":"whisper-1","language":"de","keyterms":["Standin"]}`),
		func() contractRequest {
			return contractRequest{
				op: "redeliverFailed", bearer: h.ada,
				body: `{"jobId":"` + uuid.NewString() + `","url":"https://hooks.example/s","from":"2026-11-20T13:00:00Z","to":"2026-11-20T14:00:00Z"}`,
			}
		},
		func() contractRequest {
			return contractRequest{op: "intakeInvite", header: map[string]string{
				"x-service-intake-secret": contractIntakeSecret,
			}, body: `{"organizerEmail":"ada@example.com",
				"subject":"Standup",` + link + `,"platform":"meet","joinAt":"2999-01-01T00:00:00Z","icalUid":"` + uuid.NewString() + `"}`}
		},
		func() contractRequest {
			nonce := h.expect(t, http.StatusCreated, contractRequest{op: "initLogin", header: anyAddress()}).text(t, "nonce")
			return contractRequest{
				op: "completeLogin", header: anyAddress(), body: `{"nonce":"` + nonce + `","apiKey":"standin_live_x","email":"ada@example.com"}`,
			}
		},
		ofBot("heartbeat", `"acked":["`+uuid.NewString()+`"],"stats":{"roster":{"participants":[{"id":"p-1","name":"Ada"}]}}`),
		ofBot("ingestTexts", `"texts":[{"id":"c-1","kind":"caption","participantId":"p-1","author":"Ada","text":"Hello","language":"en",
			"startedAt":"2026-11-20T13:00:00Z","endedAt":"2026-11-20T13:00:00Z"}]`),
		event("lifecycle.exited", `{"failureCode":"internal_error","failureDetail":"broken","endReason":"removed","screens":[{"at":"now","screen":"x","evidence":[{"kind":"text"}]}]}`),
		event("lifecycle.permission_response", `{"granted":true,"outcome":"granted","detail":"The host agreed."}`),
		event("lifecycle.competing_bot_detected", `{"detectedBotName":"Otter","leftMeeting":false}`),
		event("manifest.finalized", `{"manifestUri":"`+h.BaseURL()+`/x"}`),
	}
}

// hostileBodies sends each request once for each of its texts. Nothing is made of a
// request that is refused, so that the next one can be for the same job.
func (h *contractHarness) hostileBodies(t *testing.T, hostile string) {
	t.Helper()
	texts := 0
	for _, build := range h.hostileRequests(t) {
		request := build()
		for n := 0; ; n++ {
			body, ok := addToText(t, request.body, n, hostile)
			if !ok {
				break
			}
			texts++
			changed := request
			changed.body = body
			reply := h.do(t, changed)
			if reply.status >= 500 {
				t.Errorf("%s %.300s: %d %s", request.op, body, reply.status, reply.body)
			}
			if reply.status < 300 {
				request = build()
			}
		}
	}
	if texts < 70 {
		t.Errorf("only %d texts were found", texts)
	}
	body := `{"id":"evt_` + hostile + `","type":"customer.created","data":{"object":{"id":"cus_` + hostile + `","email":"ada` + hostile +
		`@example.com"}}}`
	h.expect(t, http.StatusOK, contractRequest{
		op: "receivePayment", header: contractSigned(contractPaymentSecret, body, time.Now()), body: body,
	})
}

// addToText adds an escaped text to the nth text of a JSON document: a value, or a
// key of a free object. It reports false if the document has fewer.
func addToText(t *testing.T, document string, n int, escaped string) (string, bool) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(document), &value); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	const mark = "<hostile>"
	var visit func(value any, free bool) any
	visit = func(value any, free bool) any {
		switch value := value.(type) {
		case string:
			if n--; n == -1 {
				return value + mark
			}
		case []any:
			for i, item := range value {
				value[i] = visit(item, free)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				value[key] = visit(value[key], free || key == "metadata" || key == "data")
				if !free {
					continue
				}
				if n--; n == -1 {
					value[key+mark] = value[key]
				}
			}
		}
		return value
	}
	value = visit(value, false)
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(encoded), `\u003chostile\u003e`, escaped), n < 0
}

// hostileAddresses sends requests with the text in each parameter of the path and of
// the query, and in headers.
func (h *contractHarness) hostileAddresses(t *testing.T, hostile string) {
	t.Helper()
	var plain string
	if err := json.Unmarshal([]byte(`"`+hostile+`"`), &plain); err != nil {
		t.Fatal(err)
	}
	plain = plain[:min(len(plain), 10_000)]
	id := h.create(t, h.ada, contractJob(contractFuture))
	refuse := func(request contractRequest) {
		if reply := h.do(t, request); reply.status >= 500 {
			t.Errorf("%s %.100q %.100q: %d %s", request.op, request.in, request.query, reply.status, reply.body)
		}
	}
	for _, operation := range h.description.Operations() {
		for i := range h.to(operation, id).in {
			request := h.to(operation, id)
			request.in[i] = "x" + plain
			refuse(request)
		}
	}
	for _, name := range []string{
		"cursor", "status", "platform", "externalId", "createdFrom", "joinTo", "limit", "metadata.a", "metadata.", "metadata", "metadata[a]",
		"unknown", plain, "metadata." + plain,
	} {
		for _, text := range []string{"x" + plain, "\xff", "\xed\xa0\x80"} {
			refuse(contractRequest{op: "listJobs", bearer: h.ada, query: escapeQuery(name, text)})
		}
	}
	for _, op := range []string{"listTimeline", "listDeliveries"} {
		refuse(contractRequest{op: op, in: []string{id}, bearer: h.ada, query: escapeQuery("cursor", plain)})
	}
	for _, op := range []string{"listWebhookEndpoints", "listKeys", "listCalendars"} {
		refuse(contractRequest{op: op, bearer: h.ada, query: escapeQuery("cursor", plain)})
	}
	for _, name := range []string{"cursor", "event", "endpointId", "jobId"} {
		refuse(contractRequest{op: "listTeamDeliveries", bearer: h.ada, query: escapeQuery(name, plain)})
	}
	refuse(contractRequest{op: "getTranscript", in: []string{id}, bearer: h.ada, query: escapeQuery("format", plain)})
	for _, header := range []string{"User-Agent", "Last-Event-ID", "Accept", "Payment-Signature", "Authorization", ingest.ChecksumHeader} {
		refuse(contractRequest{op: "initLogin", header: map[string]string{header: "\xff\xed\xa0\x80é\u202e"}})
	}
}

// checkReadable reads everything that ada's requests have stored.
func (h *contractHarness) checkReadable(t *testing.T) {
	t.Helper()
	for _, key := range []string{h.ada, h.adasTest} {
		for cursor := ""; ; {
			page := h.call(t, http.StatusOK, key, "listJobs?limit=100"+cursor, "")
			var list struct {
				Jobs []struct {
					ID string `json:"id"`
				} `json:"jobs"`
				Next string `json:"nextCursor"`
			}
			if err := json.Unmarshal(page.body, &list); err != nil {
				t.Fatalf("%s: %v", page.body, err)
			}
			for _, j := range list.Jobs {
				for _, op := range []string{"getJob", "listTimeline", "listDeliveries"} {
					h.call(t, http.StatusOK, key, op, "", j.ID)
				}
			}
			if list.Next == "" {
				break
			}
			cursor = "&" + escapeQuery("cursor", list.Next)
		}
		h.call(t, http.StatusOK, key, "listJobs?metadata.a=b", "")
		h.call(t, http.StatusOK, key, "listWebhookEndpoints", "")
	}
}

// contractIssues checks that a text with a control character is a 400
// that names its field, and that a bot's manifest URI is one.
func contractIssues(t *testing.T, h *contractHarness) {
	finalized := func(uri string) contractRequest {
		return contractEvent(h.create(t, h.ada, contractJob(contractFuture)), 0, "manifest.finalized", `{"manifestUri":"`+h.BaseURL()+uri+`"}`)
	}
	for path, request := range map[string]contractRequest{
		`["externalId"]`:          {op: "createJob", bearer: h.ada, body: `{"externalId":"a\u0000","meetingUrl":"https://meet.google.com/abc"}`},
		`["metadata","a",0]`:      {op: "createJob", bearer: h.ada, body: contractJob(`,"metadata":{"a":["\ud800"]}`)},
		`["data","manifestUri"]`:  finalized(`/x\u0000y`),
		`["externalId"] (query)`:  {op: "listJobs", bearer: h.ada, query: "externalId=%00"},
		`["metadata.a"] (query)`:  {op: "listJobs", bearer: h.ada, query: "metadata.a=%1b"},
		`["cursor"] (query)`:      {op: "listJobs", bearer: h.ada, query: "cursor=%00"},
		`["meetingUrl"] (invite)`: {op: "intakeInvite", header: map[string]string{"x-service-intake-secret": contractIntakeSecret}, body: `{"organizerEmail":"a@example.com","meetingUrl":"https://meet.google.com/\u0007","platform":"meet","joinAt":"2999-01-01T00:00:00Z"}`},
	} {
		path, _, _ := strings.Cut(path, " ")
		if reply := h.expect(t, 400, request); !reply.has(`"issues":[{"path":` + path + `,`) {
			t.Errorf("%s: %s, want an issue of %s", request.op, reply.body, path)
		}
	}
}

// escapeQuery returns a parameter of a query. Unlike net/url, it escapes invalid
// UTF-8 byte by byte.
func escapeQuery(name, value string) string {
	escape := func(text string) string {
		var out strings.Builder
		for _, c := range []byte(text) {
			if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.~", rune(c)) {
				out.WriteByte(c)
			} else {
				fmt.Fprintf(&out, "%%%02X", c)
			}
		}
		return out.String()
	}
	return escape(name) + "=" + escape(value)
}
