package webhook_test

import (
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/webhook"
)

// sendNew leases a delivery to a sender and puts it into the outbox, as a transaction
// does. It returns false if the sender takes no lease.
func (r *running) sendNew(t *testing.T, outbox *memoryOutbox, d webhook.Delivery) bool {
	t.Helper()
	if !r.Lease(&d) {
		return false
	}
	outbox.mu.Lock()
	outbox.rows = append(outbox.rows, &outboxRow{delivery: d, dueAt: d.LeasedTo})
	outbox.mu.Unlock()
	r.Send([]webhook.Delivery{d})
	return true
}

// TestNewDeliveriesAreSentWithoutClaim checks that a sender takes new deliveries to an
// endpoint that responds fast, and no others.
func TestNewDeliveriesAreSentWithoutClaim(t *testing.T) {
	t.Parallel()
	fast, failing := newReceiver(t, ok), newReceiver(t, hang)
	outbox := &memoryOutbox{}
	sender := run(t, outbox, webhook.Settings{TryTimeout: 300 * time.Millisecond})
	known := delivery(fast.URL)
	if d := known; sender.Lease(&d) || d.Lease != "" {
		t.Error("a delivery to an unknown endpoint was leased")
	}
	hanging := delivery(failing.URL)
	put(t, outbox, known, hanging)
	sender.Wake()
	eventually(t, "a delivery and a failure", func() bool {
		return outbox.row(known.ID).final && len(outbox.row(hanging.ID).tries) > 0
	})
	if d := hanging; sender.Lease(&d) {
		t.Error("a delivery to an endpoint that does not respond was leased")
	}

	next := delivery(fast.URL)
	next.ConsumerID = known.ConsumerID // endpoints are per consumer
	eventually(t, "the sender to take new deliveries", func() bool {
		d := next
		return sender.Lease(&d)
	})
	if !sender.sendNew(t, outbox, next) {
		t.Fatal("a delivery to a fast endpoint was not leased")
	}
	eventually(t, "the new delivery", func() bool { return outbox.row(next.ID).final })
	if row := outbox.row(next.ID); len(row.tries) != 1 || row.tries[0].Number != 1 || row.delivery.Attempt != 1 {
		t.Errorf("tries %+v of %+v", row.tries, row.delivery)
	}
}

// TestStoppedSenderReleasesNewDeliveries checks that a delivery that was leased before
// the sender stopped is released when it is passed to it later.
func TestStoppedSenderReleasesNewDeliveries(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, ok)
	outbox := &memoryOutbox{}
	sender := run(t, outbox, webhook.Settings{})
	first := delivery(receiver.URL)
	put(t, outbox, first)
	sender.Wake()
	eventually(t, "the first delivery", func() bool { return outbox.row(first.ID).final })
	late := delivery(receiver.URL)
	late.ConsumerID = first.ConsumerID
	eventually(t, "a lease", func() bool { return sender.Lease(&late) })
	outbox.mu.Lock()
	outbox.rows = append(outbox.rows, &outboxRow{delivery: late, dueAt: late.LeasedTo})
	outbox.mu.Unlock()
	sender.stop()
	sender.Send([]webhook.Delivery{late})
	eventually(t, "the release", func() bool { return outbox.row(late.ID).delivery.Lease == "" })
	if row := outbox.row(late.ID); row.delivery.Attempt != 0 || len(receiver.messages()) != 1 {
		t.Errorf("row %+v, %d messages", row, len(receiver.messages()))
	}
	if d := delivery(receiver.URL); sender.Lease(&d) {
		t.Error("a stopped sender takes a delivery")
	}
}

// TestNewDeliveriesBeyondLimitAreReleased checks that deliveries for which there is no
// room are released, and sent when they are claimed.
func TestNewDeliveriesBeyondLimitAreReleased(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, ok)
	outbox := &memoryOutbox{}
	sender := run(t, outbox, webhook.Settings{MaxQueued: 1, MaxTriesPerHost: 1})
	first := delivery(receiver.URL)
	put(t, outbox, first)
	sender.Wake()
	eventually(t, "the first delivery", func() bool { return outbox.row(first.ID).final })
	many := make([]webhook.Delivery, 200)
	for i := range many {
		d := delivery(receiver.URL)
		d.ConsumerID = first.ConsumerID
		d.Lease, d.LeasedTo, d.Attempt = "lease", time.Now().Add(time.Minute), 1
		many[i] = d
		outbox.mu.Lock()
		outbox.rows = append(outbox.rows, &outboxRow{delivery: d, dueAt: d.LeasedTo})
		outbox.mu.Unlock()
	}
	sender.Send(many)
	eventually(t, "all deliveries", outbox.final)
	outbox.mu.Lock()
	released := outbox.released
	outbox.mu.Unlock()
	if released == 0 {
		t.Error("no delivery was released")
	}
}

// countClaims makes an outbox count its claims.
func countClaims(outbox *memoryOutbox) *atomic.Int64 {
	claims := new(atomic.Int64)
	outbox.fail = func(operation string) error {
		if operation == "claim" {
			claims.Add(1)
		}
		return nil
	}
	return claims
}

// TestRecordsCauseNoClaims checks that a sender does not claim after each delivery that
// it was passed if no other one waits.
func TestRecordsCauseNoClaims(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, ok)
	outbox := &memoryOutbox{}
	claims := countClaims(outbox)
	sender := run(t, outbox, webhook.Settings{Poll: time.Hour})
	first := delivery(receiver.URL)
	put(t, outbox, first)
	sender.Wake()
	eventually(t, "the first delivery", func() bool { return outbox.row(first.ID).final })
	before := claims.Load()
	const count = 100
	for range count {
		d := delivery(receiver.URL)
		d.ConsumerID = first.ConsumerID
		eventually(t, "a lease", func() bool { return sender.sendNew(t, outbox, d) })
		eventually(t, "the delivery", func() bool { return outbox.row(d.ID).final })
	}
	if n := claims.Load() - before; n > count/2 { // some for the endpoint, which is stored every minute
		t.Errorf("%d claims while %d deliveries were sent without one", n, count)
	}
}
