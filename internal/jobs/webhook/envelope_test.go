package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"standin/internal/jobs/webhook"
)

func TestBody(t *testing.T) {
	t.Parallel()
	delivery := webhook.Delivery{
		ID: "dlv_1", Event: webhook.JobFailed, EmittedAt: created, Attempt: 3, Version: webhook.Version2,
		Data: json.RawMessage(`{"failure_code":"lobby_timeout","failure_detail":"a","failure_reason":"a","n":12345678901234567890}`),
	}
	old := delivery
	old.Version = webhook.Version1
	tests := []struct {
		name     string
		delivery webhook.Delivery
		want     string
	}{
		{"version 2", delivery, `{"deliveryId":"dlv_1","event":"job.failed","emittedAt":"2026-11-20T09:30:00.123Z",
			"attempt":3,"version":2,"data":{"failure_code":"lobby_timeout","failure_detail":"a",
			"failure_reason":"a","n":12345678901234567890}}`},
		{"version 1", old, `{"deliveryId":"dlv_1","event":"job.failed","emittedAt":"2026-11-20T09:30:00.123Z",
			"attempt":3,"data":{"failure_reason":"a","n":12345678901234567890}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := webhook.Body(test.delivery)
			if err != nil {
				t.Fatal(err)
			}
			sameJSON(t, got, test.want)
		})
	}
	for _, version := range []int{webhook.Version1, webhook.Version2} {
		broken := webhook.Delivery{ID: "dlv_1", Version: version, Data: json.RawMessage(`{"a":`)}
		if body, err := webhook.Body(broken); err == nil {
			t.Errorf("version %d: composed %s of broken data", version, body)
		}
	}
}

func TestDeliveryIDs(t *testing.T) {
	t.Parallel()
	before := ""
	for range 1000 {
		id := webhook.NewDeliveryID()
		if !strings.HasPrefix(id, "dlv_") || len(id) != len("dlv_")+32 {
			t.Fatalf("malformed id %q", id)
		}
		if id <= before {
			t.Fatalf("id %q does not come after %q", id, before)
		}
		before = id
	}
}
