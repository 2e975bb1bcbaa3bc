package lifecycle_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/store"
	"standin/internal/webhook"
)

// countingOutbox counts the deliveries that a sender claims.
type countingOutbox struct {
	*store.Store
	claimed atomic.Int64
}

// ClaimDeliveries implements webhook.Outbox.
func (o *countingOutbox) ClaimDeliveries(ctx context.Context, claim webhook.Claim) (claimed []webhook.Delivery, more bool, err error) {
	claimed, more, err = o.Store.ClaimDeliveries(ctx, claim)
	o.claimed.Add(int64(len(claimed)))
	return claimed, more, err
}

// TestNewDeliveriesGoToSender checks that the sender of the node gets the delivery of
// an event without a claim if its receiver responds, and that the delivery is signed,
// recorded and announced to no other node.
func TestNewDeliveriesGoToSender(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		received := make(chan http.Header, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.Header }))
		t.Cleanup(receiver.Close)
		outbox := &countingOutbox{Store: h.store}
		sender := webhook.NewSender(outbox, webhook.Settings{
			Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			sender.Run(ctx)
		}()
		t.Cleanup(func() { cancel(); <-ended })
		settings := h.Settings
		settings.Sender = sender
		h.Service = lifecycle.New(settings)

		r := request("with a receiver")
		r.Webhooks = job.Webhooks{OnStatusChange: receiver.URL}
		created, _, err := h.Create(t.Context(), h.caller, r)
		if err != nil {
			t.Fatal(err)
		}
		h.begin(t, created.ID)
		sender.Wake()
		<-received // the sender has claimed the first delivery
		h.untilDelivered(t, sender, created.ID, 1)
		announced, claimed := h.sent.Load(), outbox.claimed.Load()

		h.walk(t, created.ID, job.BotJoined)
		if header := <-received; header.Get(webhook.StandardSignatureHeader) == "" {
			t.Errorf("header %v", header)
		}
		h.untilDelivered(t, sender, created.ID, 2)
		if n := h.sent.Load() - announced; n != 0 || outbox.claimed.Load() != claimed {
			t.Errorf("announced %d times, %d deliveries were claimed", n, outbox.claimed.Load()-claimed)
		}
	})
}

// untilDelivered waits until all deliveries of a job, count of them, are recorded as
// delivered at their first try, and the sender has nothing to claim.
func (h *harness) untilDelivered(t *testing.T, sender *webhook.Sender, id uuid.UUID, count int) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		all, _, err := h.store.ListDeliveries(t.Context(), id, webhook.DeliveryCursor{}, 100)
		if err != nil || len(all) != count {
			t.Fatalf("%d deliveries, %v", len(all), err)
		}
		delivered := 0
		for _, d := range all {
			if d.State == webhook.DeliveryDelivered && d.Attempt == 1 && len(d.Tries) == 1 {
				delivered++
			}
		}
		d := webhook.Delivery{ConsumerID: h.caller.ConsumerID, URL: all[0].URL}
		if delivered == count && sender.Lease(&d) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("deliveries %+v", all)
		}
	}
}
