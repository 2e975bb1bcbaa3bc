package service_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/testing/await"
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
	await.Until(t, "a failing endpoint", func() bool {
		listed = string(h.call(t, 200, key, "listWebhookEndpoints", "").body)
		return strings.Contains(listed, `"state":"failing"`)
	})
	if !strings.Contains(listed, hooks.URL) || !strings.Contains(listed, `"lastStatus":410`) ||
		!strings.Contains(listed, `"lastDeliveredAt":null`) {
		t.Errorf("endpoints %s", listed)
	}
	if other := h.call(t, 200, h.bob, "listWebhookEndpoints", ""); other.has(hooks.URL) {
		t.Errorf("endpoints of another consumer: %s", other.body)
	}
	h.call(t, 400, key, "listWebhookEndpoints?cursor=%20", "")
	h.call(t, 400, key, "listWebhookEndpoints?limit=101", "")

	of := `{"jobId":"` + id + `"}`
	h.call(t, 404, h.bob, "redeliverFailed", of)
	h.call(t, 404, test, "redeliverFailed", of)
	h.call(t, 404, key, "redeliverFailed", `{"jobId":"`+uuid.NewString()+`"}`)
	for _, body := range []string{`{}`, `{"jobId":"x"}`, `{"jobId":null}`, `{"url":""}`, `{"from":"yesterday"}`, `{"to":1}`} {
		h.call(t, 400, key, "redeliverFailed", body)
	}
	hooks.mu.Lock()
	hooks.status = http.StatusOK
	hooks.mu.Unlock()
	_, rest, _ := strings.Cut(listed, `"id":"`)
	endpoint, _, _ := strings.Cut(rest, `"`)
	ofEndpoint := `{"endpointId":"` + endpoint + `","jobId":"` + id + `"`
	for _, body := range []string{`{"to":"2020-01-01T00:00:00Z","url":"` + hooks.URL + `"}`, ofEndpoint + `,"url":"https://example.com/"}`} {
		if none := h.call(t, 202, key, "redeliverFailed", body); none.field(t, "count") != 0.0 {
			t.Errorf("redelivered of %s: %s", body, none.body)
		}
	}
	if some := h.call(t, 202, key, "redeliverFailed", ofEndpoint+`}`); some.field(t, "count") == 0.0 {
		t.Errorf("redelivered of the endpoint: %s", some.body)
	}
	await.Until(t, "the redelivery", func() bool {
		page := h.call(t, 200, key, "listDeliveries", "", id)
		return page.has(`"state":"delivered"`)
	})

	h.call(t, 409, test, "rotateWebhookSecret", "")
	rotated := h.call(t, 201, key, "rotateWebhookSecret", "")
	if secret := rotated.text(t, "secret"); !strings.HasPrefix(secret, "whsec_") || secret == contractHookSecret ||
		rotated.header.Get("Cache-Control") != "no-store" {
		t.Errorf("rotated: %s, %v", rotated.body, rotated.header)
	}
	contractEndpoints(t, h, hooks, key, test)
}

// contractEndpoints tests registered endpoints and the log of deliveries.
func contractEndpoints(t *testing.T, h *contractHarness, hooks *contractHooks, key, test string) {
	t.Helper()
	for _, body := range []string{
		`{}`, `{"url":"x","events":["*"]}`, `{"url":"https://example.com/","events":[]}`,
		`{"url":"https://example.com/","events":["nothing"]}`, `{"url":"https://example.com/","events":["*"],"enabled":null}`,
	} {
		h.call(t, 400, key, "createWebhookEndpoint", body)
	}
	registration := `{"url":"` + hooks.URL + `/all","events":["job.*","chat.message"],"description":"All"}`
	created := h.call(t, 201, key, "createWebhookEndpoint", registration)
	id := created.text(t, "id")
	if created.header.Get("Location") != "/api/v1/webhook-endpoints/"+id || created.text(t, "state") != "untried" {
		t.Errorf("registered %s, %v", created.body, created.header)
	}
	h.call(t, 409, key, "createWebhookEndpoint", registration)
	for op, body := range map[string]string{
		"getWebhookEndpoint": "", "patchWebhookEndpoint": `{}`, "testWebhookEndpoint": `{}`, "retryWebhookEndpoint": "",
		"deleteWebhookEndpoint": "",
	} {
		h.call(t, 404, test, op, body, id)
		h.call(t, 404, h.bob, op, body, id)
	}
	for op, body := range map[string]string{
		"patchWebhookEndpoint": `{"url":"https://example.com/"}`, "testWebhookEndpoint": `{"event":"nothing"}`,
	} {
		h.call(t, 400, key, op, body, id)
	}
	ofEndpoint := `{"endpointId":"` + id + `"`
	h.call(t, 404, test, "redeliverFailed", ofEndpoint+`}`)
	h.call(t, 404, h.bob, "redeliverFailed", ofEndpoint+`}`)
	tested := h.call(t, 200, key, "testWebhookEndpoint", `{"event":"chat.message"}`, id)
	if tested.field(t, "acknowledged") != true || !hooks.has("chat.message") {
		t.Errorf("tested: %s", tested.body)
	}
	h.call(t, 200, key, "testWebhookEndpoint", `{}`, id)
	changed := h.call(t, 200, key, "patchWebhookEndpoint", `{"events":["job.status_changed"],"enabled":true}`, id)
	if changed.text(t, "description") != "All" {
		t.Errorf("changed: %s", changed.body)
	}
	jobID := h.create(t, key, contractJob(contractFuture))
	h.sendEvent(t, jobID, "lifecycle.joined", "")
	var delivery string
	await.Until(t, "a delivery to the endpoint", func() bool {
		page := h.call(t, 200, key, "listTeamDeliveries?state=delivered&event=job.status_changed&endpointId="+id+"&jobId="+jobID+
			"&from=2020-01-01T00:00:00Z&limit=1", "")
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
		h.call(t, 400, key, "listTeamDeliveries?"+query, "")
	}
	if page := h.call(t, 200, h.bob, "listTeamDeliveries?jobId="+jobID, ""); page.has(delivery) {
		t.Errorf("deliveries of another team: %s", page.body)
	}
	details := h.call(t, 200, key, "getDelivery", "", delivery)
	if !details.has("webhook-signature") || !strings.Contains(details.text(t, "body"), jobID) {
		t.Errorf("details: %s", details.body)
	}
	for _, op := range []string{"getDelivery", "redeliverDelivery"} {
		h.call(t, 404, key, op, "", "dlv_x")
		h.call(t, 404, test, op, "", delivery)
	}
	hooks.mu.Lock()
	hooks.status = http.StatusInternalServerError
	hooks.mu.Unlock()
	h.call(t, 202, key, "redeliverDelivery", "", delivery)
	h.call(t, 409, key, "redeliverDelivery", "", delivery) // it waits for its retry
	h.call(t, 202, key, "retryWebhookEndpoint", "", id)
	h.call(t, 202, key, "redeliverFailed", ofEndpoint+`,"from":"2020-01-01T00:00:00Z"}`)
	ofJobs := ""
	var page struct {
		Endpoints []struct {
			ID         string
			Registered bool
		}
	}
	if err := json.Unmarshal(h.call(t, 200, key, "listWebhookEndpoints", "").body, &page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Endpoints {
		if !e.Registered {
			ofJobs = e.ID
		}
	}
	h.call(t, 409, key, "deleteWebhookEndpoint", "", ofJobs)
	h.call(t, 409, key, "patchWebhookEndpoint", `{}`, ofJobs)
	h.call(t, 200, key, "getWebhookEndpoint", "", ofJobs)
	h.call(t, 204, key, "deleteWebhookEndpoint", "", id)
}
