package webhook_test

import (
	"testing"
	"time"

	"standin/internal/webhook"
)

// TestSetNextTries checks when the next try of each delivery is shown to be: never in
// the past of one that waits for another.
func TestSetNextTries(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	deliveries := []webhook.DeliveryRecord{
		{URL: "a", State: webhook.DeliveryDelivered},
		{URL: "a", State: webhook.DeliveryWaiting, DueAt: at(30)},
		{URL: "a", State: webhook.DeliveryWaiting, DueAt: at(-10)},
		{URL: "b", State: webhook.DeliveryWaiting, DueAt: at(-5)},
		{URL: "a", State: webhook.DeliveryWaiting, DueAt: at(3600)},
		{URL: "a", State: webhook.DeliveryWaiting, DueAt: at(-1)},
		{URL: "b", State: webhook.DeliveryWaiting, DueAt: at(7200)},
		{URL: "b", State: webhook.DeliveryWaiting, DueAt: at(1)},
	}
	webhook.SetNextTries(deliveries, now)
	for i, want := range []time.Time{{}, at(30), at(30), at(-5), at(3600), at(30), at(7200), at(1)} {
		if !deliveries[i].DueAt.Equal(want) {
			t.Errorf("delivery %d is due %s from now, want %s", i, deliveries[i].DueAt.Sub(now), want.Sub(now))
		}
	}
}
