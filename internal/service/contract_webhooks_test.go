package service_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/job"
)

// contractWebhooks tests the endpoints, the redelivery of failed deliveries and the
// rotation of the secret.
func contractWebhooks(t *testing.T, h *contractHarness) {
	hooks := newContractHooks(t, h.checker)
	hooks.status = http.StatusGone
	key, _ := h.newKey(t, "carol", job.Live)
	test, _ := h.newKey(t, "carol", job.Test)
	id := h.create(t, key, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	h.sendEvent(t, id, "lifecycle.joined", "")
	var listed string
	waitUntil(t, "a failing endpoint", func() bool {
		listed = string(h.expect(t, 200, contractRequest{op: "listWebhookEndpoints", bearer: key}).body)
		return strings.Contains(listed, `"state":"failing"`)
	})
	if !strings.Contains(listed, hooks.URL) || !strings.Contains(listed, `"lastStatus":410`) || !strings.Contains(listed, `"lastDeliveredAt":null`) {
		t.Errorf("endpoints %s", listed)
	}
	if other := h.expect(t, 200, contractRequest{op: "listWebhookEndpoints", bearer: h.bob}); strings.Contains(string(other.body), hooks.URL) {
		t.Errorf("endpoints of another consumer: %s", other.body)
	}
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "listWebhookEndpoints", bearer: key, query: "cursor=%20"})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "listWebhookEndpoints", bearer: key, query: "limit=101"})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "listWebhookEndpoints"})

	of := `{"jobId":"` + id + `"}`
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "redeliverFailed", body: of})
	h.expectCode(t, 404, "not_found", contractRequest{op: "redeliverFailed", bearer: h.bob, body: of})
	h.expectCode(t, 404, "not_found", contractRequest{op: "redeliverFailed", bearer: test, body: of})
	h.expectCode(t, 404, "not_found", contractRequest{op: "redeliverFailed", bearer: key, body: `{"jobId":"` + uuid.NewString() + `"}`})
	for _, body := range []string{`{}`, `{"jobId":"x"}`, `{"jobId":null}`, `{"url":""}`, `{"from":"yesterday"}`, `{"to":1}`} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "redeliverFailed", bearer: key, body: body})
	}
	hooks.mu.Lock()
	hooks.status = http.StatusOK
	hooks.mu.Unlock()
	if none := h.expect(t, 202, contractRequest{op: "redeliverFailed", bearer: key, body: `{"to":"2020-01-01T00:00:00Z","url":"` + hooks.URL + `"}`}); none.field(t, "count") != 0.0 {
		t.Errorf("redelivered of 2020: %s", none.body)
	}
	if some := h.expect(t, 202, contractRequest{op: "redeliverFailed", bearer: key, body: of}); some.field(t, "count") == 0.0 {
		t.Errorf("redelivered of the job: %s", some.body)
	}
	waitUntil(t, "the redelivery", func() bool {
		page := h.expect(t, 200, contractRequest{op: "listDeliveries", in: []string{id}, bearer: key})
		return strings.Contains(string(page.body), `"state":"delivered"`)
	})

	h.expectCode(t, 401, "unauthorized", contractRequest{op: "rotateWebhookSecret"})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "rotateWebhookSecret", bearer: test})
	rotated := h.expect(t, 201, contractRequest{op: "rotateWebhookSecret", bearer: key})
	if secret := rotated.text(t, "secret"); !strings.HasPrefix(secret, "whsec_") || secret == contractHookSecret || rotated.header.Get("Cache-Control") != "no-store" {
		t.Errorf("rotated: %s, %v", rotated.body, rotated.header)
	}
	contractEndpoints(t, h, hooks, key, test)
}

// contractEndpoints tests registered endpoints and the log of deliveries.
func contractEndpoints(t *testing.T, h *contractHarness, hooks *contractHooks, key, test string) {
	t.Helper()
	for _, op := range []string{"createWebhookEndpoint", "listTeamDeliveries"} {
		h.expectCode(t, 401, "unauthorized", contractRequest{op: op})
	}
	for _, body := range []string{`{}`, `{"url":"x","events":["*"]}`, `{"url":"https://example.com/","events":[]}`, `{"url":"https://example.com/","events":["nothing"]}`, `{"url":"https://example.com/","events":["*"],"enabled":null}`} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "createWebhookEndpoint", bearer: key, body: body})
	}
	registration := `{"url":"` + hooks.URL + `/all","events":["job.*","chat.message"],"description":"All"}`
	created := h.expect(t, 201, contractRequest{op: "createWebhookEndpoint", bearer: key, body: registration})
	id := created.text(t, "id")
	if created.header.Get("Location") != "/api/v1/webhook-endpoints/"+id || created.text(t, "state") != "untried" {
		t.Errorf("registered %s, %v", created.body, created.header)
	}
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "createWebhookEndpoint", bearer: key, body: registration})
	since := `{"since":"2020-01-01T00:00:00Z"}`
	for op, body := range map[string]string{"getWebhookEndpoint": "", "patchWebhookEndpoint": `{}`, "testWebhookEndpoint": `{}`, "retryWebhookEndpoint": "", "redeliverToEndpoint": since, "deleteWebhookEndpoint": ""} {
		h.expectCode(t, 401, "unauthorized", contractRequest{op: op, in: []string{id}, body: body})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{"x"}, bearer: key, body: body})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{id}, bearer: test, body: body})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{id}, bearer: h.bob, body: body})
	}
	for op, body := range map[string]string{"patchWebhookEndpoint": `{"url":"https://example.com/"}`, "testWebhookEndpoint": `{"event":"nothing"}`, "redeliverToEndpoint": `{}`} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: op, in: []string{id}, bearer: key, body: body})
	}
	tested := h.expect(t, 200, contractRequest{op: "testWebhookEndpoint", in: []string{id}, bearer: key, body: `{"event":"chat.message"}`})
	if tested.field(t, "acknowledged") != true || !hooks.has("chat.message") {
		t.Errorf("tested: %s", tested.body)
	}
	h.expect(t, 200, contractRequest{op: "testWebhookEndpoint", in: []string{id}, bearer: key, body: `{}`})
	changed := h.expect(t, 200, contractRequest{op: "patchWebhookEndpoint", in: []string{id}, bearer: key, body: `{"events":["job.status_changed"],"enabled":true}`})
	if changed.text(t, "description") != "All" {
		t.Errorf("changed: %s", changed.body)
	}
	jobID := h.create(t, key, contractJob(contractFuture))
	h.sendEvent(t, jobID, "lifecycle.joined", "")
	var delivery string
	waitUntil(t, "a delivery to the endpoint", func() bool {
		page := h.expect(t, 200, contractRequest{op: "listTeamDeliveries", bearer: key, query: "state=delivered&event=job.status_changed&endpointId=" + id + "&jobId=" + jobID + "&from=2020-01-01T00:00:00Z&limit=1"})
		var log struct {
			Deliveries []struct{ DeliveryID string }
		}
		if err := json.Unmarshal(page.body, &log); err != nil {
			t.Fatal(err)
		}
		if len(log.Deliveries) > 0 {
			delivery = log.Deliveries[0].DeliveryID
		}
		return delivery != ""
	})
	for _, query := range []string{"state=lost", "endpointId=x", "jobId=x", "from=x", "cursor=%20", "event="} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "listTeamDeliveries", bearer: key, query: query})
	}
	if page := h.expect(t, 200, contractRequest{op: "listTeamDeliveries", bearer: h.bob, query: "jobId=" + jobID}); strings.Contains(string(page.body), delivery) {
		t.Errorf("deliveries of another team: %s", page.body)
	}
	details := h.expect(t, 200, contractRequest{op: "getDelivery", in: []string{delivery}, bearer: key})
	if !strings.Contains(string(details.body), "webhook-signature") || !strings.Contains(details.text(t, "body"), jobID) {
		t.Errorf("details: %s", details.body)
	}
	for _, op := range []string{"getDelivery", "redeliverDelivery"} {
		h.expectCode(t, 401, "unauthorized", contractRequest{op: op, in: []string{delivery}})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{"dlv_x"}, bearer: key})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{delivery}, bearer: test})
	}
	hooks.mu.Lock()
	hooks.status = http.StatusInternalServerError
	hooks.mu.Unlock()
	h.expect(t, 202, contractRequest{op: "redeliverDelivery", in: []string{delivery}, bearer: key})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "redeliverDelivery", in: []string{delivery}, bearer: key}) // it waits for its retry
	h.expect(t, 202, contractRequest{op: "retryWebhookEndpoint", in: []string{id}, bearer: key})
	h.expect(t, 202, contractRequest{op: "redeliverToEndpoint", in: []string{id}, bearer: key, body: since})
	ofJobs := ""
	var page struct {
		Endpoints []struct {
			ID         string
			Registered bool
		}
	}
	if err := json.Unmarshal(h.expect(t, 200, contractRequest{op: "listWebhookEndpoints", bearer: key}).body, &page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Endpoints {
		if !e.Registered {
			ofJobs = e.ID
		}
	}
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "deleteWebhookEndpoint", in: []string{ofJobs}, bearer: key})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "patchWebhookEndpoint", in: []string{ofJobs}, bearer: key, body: `{}`})
	h.expect(t, 200, contractRequest{op: "getWebhookEndpoint", in: []string{ofJobs}, bearer: key})
	h.expect(t, 204, contractRequest{op: "deleteWebhookEndpoint", in: []string{id}, bearer: key})
}
