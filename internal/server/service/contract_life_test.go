package service_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/server/service"
	"standin/internal/testing/await"
)

// contractCredentials checks that every operation that requires
// credentials checks them before the path and the body.
func contractCredentials(t *testing.T, h *contractHarness) {
	requests := 0
	for _, operation := range h.description.Operations() {
		if !slices.Contains(operation.Statuses, "401") {
			continue
		}
		requests++
		request := contractRequest{op: operation.ID, in: h.to(operation, "x").in, query: "limit=x&wait=x", body: "{"}
		h.expect(t, 401, request)
		if strings.HasPrefix(operation.Path, "/api/v1/ingest") {
			continue // the body of a bot is checked before its token
		}
		for _, wrong := range []string{
			"x", "standin_live_", "standin_test_" + strings.Repeat("x", 43), strings.ToUpper(h.ada), h.ada + "x", "\u00e9",
		} {
			request.bearer = wrong
			h.expect(t, 401, request)
		}
		for _, header := range []string{"", "Bearer", "Basic " + h.ada, "Token " + h.ada, h.ada} {
			request.bearer, request.header = "", map[string]string{"Authorization": header}
			reply := h.expect(t, 401, request)
			if operation.Method == http.MethodHead {
				continue
			}
			message := reply.text(t, "message")
			if bearer := reply.header.Get("WWW-Authenticate") == "Bearer"; !strings.HasPrefix(message, "Missing or invalid ") ||
				bearer != strings.HasSuffix(message, " API key.") {
				t.Errorf("%s with %.20q: %s", operation.ID, header, message)
			}
		}
	}
	if requests < 20 {
		t.Errorf("only %d operations require credentials", requests)
	}
}

// contractForeign checks that what a path names does not exist for a key of another team and for
// one of the other mode: every operation of the description that has something in its path. Below
// a job, neither do invalid IDs.
func contractForeign(t *testing.T, h *contractHarness) {
	bodies := map[string]string{
		"transcribeAgain": `{}`, "sendChatMessage": `{"text":"x"}`, "pinParticipant": `{"participantId":"x"}`,
		"playAudio": `{"uri":"https://example.com/a.mp3"}`, "speak": `{"text":"x"}`, "setCamera": `{"none":true}`, "shareScreen": `{"none":true}`,
		"patchCalendarEvent": `{"override":true}`, "testWebhookEndpoint": `{"event":"job.failed"}`,
	}
	own := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"http://127.0.0.1:1/hook"}`))
	cancelled := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"http://127.0.0.1:1/hook"}`))
	h.call(t, 204, h.ada, "cancelJob", "", cancelled)
	_, rest, _ := strings.Cut(string(h.call(t, 200, h.ada, "listDeliveries", "", cancelled).body), `"deliveryId":"`)
	delivery, _, _ := strings.Cut(rest, `"`)
	named := map[string]string{ // by the beginning of the path
		"/api/v1/jobs/{id}": own, "/api/v1/calendars/{id}": h.connectCalendar(t), "/api/v1/deliveries/{deliveryId}": delivery,
		"/api/v1/webhook-endpoints/{id}": h.call(t, 201, h.ada, "createWebhookEndpoint",
			`{"url":"https://hooks.example.com/foreign","events":["*"]}`).text(t, "id"),
		"/api/v1/accounts/{id}":  h.call(t, 201, h.ada, "createAccount", contractAccount("Foreign")).text(t, "id"),
		"/api/v1/zoom-apps/{id}": h.call(t, 201, h.ada, "createZoomApp", `{"clientId":"foreign","clientSecret":"x","secretToken":"foreign"}`).text(t, "id"),
		"/api/v1/keys/{id}":      h.call(t, 201, h.ada, "createKey", `{"name":"foreign"}`).text(t, "id"),
	}
	requests := 0
	for _, operation := range h.description.Operations() {
		if operation.Security != "apiKey" || !strings.Contains(operation.Path, "{") {
			continue
		}
		id := ""
		for beginning, of := range named {
			if strings.HasPrefix(operation.Path, beginning) {
				id = of
			}
		}
		if id == "" {
			t.Errorf("%s: name what is in its path", operation.ID)
			continue
		}
		requests++
		body := cmp.Or(bodies[operation.ID], map[bool]string{true: `{}`}[operation.Method == http.MethodPatch])
		for _, other := range []string{h.bob, h.adasTest} {
			h.call(t, 404, other, operation.ID, body, h.to(operation, id).in...)
		}
		for _, invalid := range []string{uuid.NewString(), "x", "{" + own + "}", strings.ReplaceAll(own, "-", ""), "\x00"} {
			if id == own {
				h.call(t, 404, h.ada, operation.ID, body, h.to(operation, invalid).in...)
			}
		}
	}
	if requests < 40 {
		t.Errorf("only %d operations name something", requests)
	}
}

// contractIdempotency checks that a POST with an Idempotency-Key is executed once for each team and
// mode, that its key is not for another request, and that what was refused can be corrected.
func contractIdempotency(t *testing.T, h *contractHarness) {
	once := map[string]string{"Idempotency-Key": uuid.NewString()}
	send := func(status int, bearer, op, body string) contractResponse {
		t.Helper()
		return h.expect(t, status, contractRequest{op: op, bearer: bearer, body: body, header: once})
	}
	send(400, h.ada, "createKey", `{"name":""}`)
	first := send(201, h.ada, "createKey", `{"name":"once"}`)
	again := send(201, h.ada, "createKey", `{"name":"once"}`)
	if string(first.body) != string(again.body) || first.header.Get("Idempotent-Replayed") != "" ||
		again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeated: %s %s, %v", first.body, again.body, again.header)
	}
	send(409, h.ada, "createKey", `{"name":"twice"}`)
	send(409, h.ada, "createCalendar", `{"name":"once"}`)
	for _, operation := range h.description.Operations() {
		if operation.Method == http.MethodPost && operation.Security == "apiKey" {
			request := h.to(operation, uuid.NewString())
			request.header = once
			h.expect(t, 409, request)
			for _, unusable := range []string{"", strings.Repeat("x", 256)} {
				request.header = map[string]string{"Idempotency-Key": unusable}
				h.expect(t, 400, request)
			}
		}
	}
	for _, other := range []string{h.adasTest, h.bob} {
		if made := send(201, other, "createKey", `{"name":"once"}`); made.text(t, "id") == first.text(t, "id") ||
			made.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("another key of the same name: %s", made.body)
		}
	}
	once["Idempotency-Key"] = uuid.NewString()
	var made sync.Map // IDs of what concurrent requests have created
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			if answer := h.do(t, contractRequest{
				op: "createKey", bearer: h.ada, body: `{"name":"race"}`, header: once,
			}); answer.status == http.StatusCreated {
				made.Store(answer.text(t, "id"), true)
			} else if answer.status != http.StatusServiceUnavailable || answer.header.Get("Retry-After") == "" {
				t.Errorf("%d %s", answer.status, answer.body)
			}
		})
	}
	sending.Wait()
	keys := 0
	made.Range(func(any, any) bool { keys++; return true })
	if keys != 1 {
		t.Errorf("%d keys were made by one request", keys)
	}
}

// contractAudit checks that every operation with which a key changes something of its team is in the
// audit log, but those of jobs, which have a history of their own, and those that change nothing.
func contractAudit(t *testing.T, h *contractHarness) {
	unchanged := []string{"testWebhookEndpoint", "syncCalendar"}
	admin, _ := h.newKey(t, "audited", job.Live)
	cancelled := h.create(t, admin, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"http://127.0.0.1:1/hook"}`))
	h.call(t, 204, admin, "cancelJob", "", cancelled)
	_, rest, _ := strings.Cut(string(h.call(t, 200, admin, "listDeliveries", "", cancelled).body), `"deliveryId":"`)
	delivery, _, _ := strings.Cut(rest, `"`)
	endpoint := h.call(t, 201, admin, "createWebhookEndpoint", `{"url":"https://hooks.example.com/audited","events":["*"]}`).text(t, "id")
	calendar := h.call(t, 201, admin, "createCalendar", contractCalendarBody).text(t, "id")
	key := h.call(t, 201, admin, "createKey", `{"name":"audited"}`).text(t, "id")
	signIn := h.call(t, 201, admin, "createAccount", contractAccount("Audited")).text(t, "id")
	zoomApp := h.call(t, 201, admin, "createZoomApp", `{"clientId":"audited","clientSecret":"x","secretToken":"audited"}`).text(t, "id")
	requests := map[string]contractRequest{
		"createZoomApp": {body: `{"clientId":"again","clientSecret":"x","secretToken":"again"}`}, "deleteZoomApp": {in: []string{zoomApp}},
		"createWebhookEndpoint": {body: `{"url":"https://hooks.example.com/again","events":["*"]}`}, "patchWebhookEndpoint": {
			in: []string{endpoint}, body: `{"enabled":true}`,
		},
		"retryWebhookEndpoint": {in: []string{endpoint}}, "redeliverFailed": {
			body: `{"from":"2026-01-01T00:00:00Z"}`,
		}, "redeliverDelivery": {in: []string{delivery}}, "rotateWebhookSecret": {}, "createKey": {body: `{"name":"again"}`},
		"createAccount": {body: contractAccount("Again")}, "patchAccount": {in: []string{signIn}, body: `{"group":"x"}`},
		"deleteAccount": {in: []string{signIn}}, "createCalendar": {body: contractCalendarBody}, "patchCalendar": {in: []string{calendar}, body: `{"name":"Bea"}`},
		"deleteCalendar": {in: []string{calendar}}, "deleteWebhookEndpoint": {in: []string{endpoint}}, "revokeKey": {in: []string{key}},
	}
	for _, operation := range h.description.Operations() {
		if operation.Security != "apiKey" || operation.Method == http.MethodGet || operation.Method == http.MethodHead ||
			strings.HasPrefix(operation.Path, "/api/v1/jobs") || slices.Contains(unchanged, operation.ID) {
			continue
		}
		request, known := requests[operation.ID]
		if !known {
			if operation.ID != "patchCalendarEvent" { // contractCalendars has an event
				t.Errorf("%s changes something: send it here", operation.ID)
			}
			continue
		}
		if operation.Method == http.MethodDelete {
			continue // at the end
		}
		h.checkAudited(t, admin, operation.ID, request)
	}
	twice := contractRequest{
		op: "createCalendar", bearer: admin, body: contractCalendarBody, header: map[string]string{"Idempotency-Key": "audited"},
	}
	h.expect(t, 201, twice)
	made := h.expect(t, 201, twice).text(t, "id")
	if log := h.call(t, 200, admin, "listAuditLog?limit=100", ""); strings.Count(string(log.body), `"connected a calendar","target":"`+
		made) != 1 {
		t.Errorf("a request that was repeated is not in the audit log once: %s", log.body)
	}
	for _, deleting := range []string{"deleteCalendar", "deleteWebhookEndpoint", "revokeKey"} {
		h.checkAudited(t, admin, deleting, requests[deleting])
	}
}

// checkAudited sends a request that must succeed, or wait for something, and checks that it is the newest
// entry of the audit log.
func (h *contractHarness) checkAudited(t *testing.T, admin, operation string, request contractRequest) {
	t.Helper()
	newest := func() string {
		text := string(h.call(t, 200, admin, "listAuditLog?limit=1", "").body)
		return text
	}
	before := newest()
	request.op, request.bearer = operation, admin
	answer := h.do(t, request)
	waiting := operation == "redeliverDelivery" && answer.status == http.StatusConflict
	if after := newest(); !waiting && (answer.status >= 300 || after == before) {
		t.Errorf("%s: %d %s, and the audit log still ends with %s", operation, answer.status, answer.body, after)
	}
}

// TestContractGracefulStop closes and restarts the service while a heartbeat is
// pending, a bot and a simulated job are running, and a command is unacknowledged.
func TestContractGracefulStop(t *testing.T) {
	t.Parallel()
	settings := contractSettings(t)
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.ada, contractJob(""))
	h.awaitStatus(t, h.ada, id, job.Dispatching)
	h.sendEvent(t, id, "lifecycle.recording_started", "")
	simulated := h.create(t, h.adasTest, contractJob(`,"metadata":{"simulate":{"outcome":"slow_meeting","seconds":3600}}`))
	h.awaitStatus(t, h.adasTest, simulated, job.RecordingStarted)
	beat := contractRequest{
		op: "heartbeat", query: "wait=60", bearer: contractToken(id, 0),
		body: `{"jobId":"` + id + `","attempt":0,"stats":{"bytesRecorded":1}}`,
	}

	var acquired contractResponse
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		acquired = h.do(t, beat)
	}()
	await.Until(t, "a heartbeat", func() bool {
		r, err := h.Store().Job(t.Context(), uuid.MustParse(id))
		return err == nil && len(r.Stats) > 0
	})
	began := time.Now()
	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second { // the heartbeat is held for longer
		t.Errorf("closing took %s", took)
	}
	<-answered
	if acquired.status != 200 {
		t.Errorf("the open heartbeat got %d %s", acquired.status, acquired.body)
	}
	checkConnectionRefused(t, h.Service)

	key, testKey := h.ada, h.adasTest
	h = openContractHarness(t, newContractCoverage(), settings)
	if now := h.awaitStatus(t, key, id, job.RecordingStarted); now.field(t, "attempts") != 1.0 {
		t.Errorf("after the restart the bot's job: %s", now.body)
	}
	h.call(t, 202, key, "pauseRecording", "", id)
	beat.query = "wait=10"
	if again := h.expect(t, 200, beat); !again.has("pause_recording") {
		t.Errorf("heartbeat after the restart: %s", again.body)
	}
	if now := h.call(t, 200, testKey, "getJob", "", simulated); job.Status(now.text(t, "status")).Terminal() {
		t.Errorf("the simulated job did not continue after the restart: %s", now.body)
	}
}

// checkConnectionRefused checks that the service does not accept connections.
func checkConnectionRefused(t *testing.T, s *service.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(request); err == nil {
		answer.Body.Close()
		t.Error("a closed service still responds")
	}
}

// TestContractFreeTier uses up the free tier and then subscribes to a plan.
func TestContractFreeTier(t *testing.T) {
	t.Parallel()
	settings := contractSettings(t)
	settings.FreeTierJobs = 2
	h := openContractHarness(t, newContractCoverage(), settings)
	invite := func(n, status int) contractResponse {
		t.Helper()
		return h.invite(t, status, fmt.Sprintf(
			`{"organizerEmail":"ada@example.com","meetingUrl":"https://meet.google.com/%d","platform":"meet","joinAt":"2999-05-01T10:00:00Z","icalUid":"u-%d"}`, n, n))
	}
	invite(1, 201)
	invite(2, 201)
	invite(2, 200)
	spent := invite(3, 200)
	if spent.text(t, "kind") != "free_tier_exhausted" {
		t.Fatalf("the third invite returned %s", spent.body)
	}
	failed := h.call(t, 200, h.ada, "getJob", "", spent.text(t, "jobId"))
	if failed.text(t, "status") != "failed" || failed.text(t, "failureCode") != "quota_exceeded" || failed.text(t, "failureDetail") == "" {
		t.Errorf("job %s", failed.body)
	}
	event := `{"id":"evt_1","type":"customer.subscription.created","created":1,"data":{"object":{"id":"sub_1","status":"active","metadata":{"consumer":"ada"}}}}`
	h.expect(t, 200, contractRequest{op: "receivePayment", header: contractSigned(contractPaymentSecret, event, time.Now()), body: event})
	if paid := invite(3, 201); paid.text(t, "kind") != "scheduled" {
		t.Errorf("with a plan the third invite returned %s", paid.body)
	}
}
