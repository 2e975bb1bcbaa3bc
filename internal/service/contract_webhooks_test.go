package service_test

import (
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
}
