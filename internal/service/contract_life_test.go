package service_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/service"
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
		for _, wrong := range []string{"x", "standin_live_", "standin_test_" + strings.Repeat("x", 43), strings.ToUpper(h.ada), h.ada + "x", "\u00e9"} {
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

// contractForeign checks that every path below a job returns 404
// for a job of another consumer, of the other mode, and for invalid IDs.
func contractForeign(t *testing.T, h *contractHarness) {
	bodies := map[string]string{"patchJob": `{}`, "transcribeAgain": `{}`, "sendChatMessage": `{"text":"x"}`, "pinParticipant": `{"participantId":"x"}`, "playAudio": `{"uri":"https://example.com/a.mp3"}`, "speak": `{"text":"x"}`, "setCamera": `{"none":true}`, "shareScreen": `{"none":true}`}
	own := h.create(t, h.ada, contractJob(contractFuture))
	jobs := []string{
		h.create(t, h.bob, contractJob(contractFuture)), h.create(t, h.adasTest, contractJob(contractFuture)), // of another consumer and of the other mode
		uuid.NewString(), "x", "{" + own + "}", strings.ReplaceAll(own, "-", ""), "\x00",
	}
	requests := 0
	for _, operation := range h.description.Operations() {
		if !strings.HasPrefix(operation.Path, "/api/v1/jobs/{id}") {
			continue
		}
		requests++
		for _, id := range jobs {
			h.call(t, 404, h.ada, operation.ID, bodies[operation.ID], h.to(operation, id).in...)
		}
	}
	if requests < 16 {
		t.Errorf("only %d operations are below a job", requests)
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
	beat := contractRequest{op: "heartbeat", query: "wait=60", bearer: contractToken(id, 0), body: `{"jobId":"` + id + `","attempt":0,"stats":{"bytesRecorded":1}}`}

	var acquired contractResponse
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		acquired = h.do(t, beat)
	}()
	waitUntil(t, "a heartbeat", func() bool {
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
