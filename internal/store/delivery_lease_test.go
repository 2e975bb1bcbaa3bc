package store_test

import (
	"slices"
	"testing"
	"time"

	"standin/internal/store"
	"standin/internal/webhook"
)

// postLeased inserts deliveries with a lease and returns the IDs of those that got it.
func postLeased(t *testing.T, s *store.Store, deliveries ...webhook.Delivery) (ids []string) {
	t.Helper()
	err := s.Write(t.Context(), func(q *store.Queries) error {
		ids = nil
		for _, d := range deliveries {
			d.Lease, d.LeasedTo, d.Attempt = "lease of "+d.ID, now.Add(lease), 1
			if err := q.InsertLeasedDelivery(t.Context(), d, func() { ids = append(ids, d.ID) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestInsertLeasedDelivery checks that a delivery gets its lease unless an earlier one
// has to be sent first, and that the lease works as that of a claim.
func TestInsertLeasedDelivery(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		a, b := newJob(consumer), newJob(consumer)
		insert(t, s, a, b)
		const url, elsewhere = "https://a.test/", "https://b.test/"
		waiting := newDelivery(a, 1, url)
		post(t, s, waiting)

		behind, other, ofB := newDelivery(a, 2, url), newDelivery(a, 3, elsewhere), newDelivery(b, 1, url)
		if withLease := postLeased(t, s, behind, other, ofB); !slices.Equal(withLease, []string{other.ID, ofB.ID}) {
			t.Fatalf("leased %v of %v", withLease, []string{behind.ID, other.ID, ofB.ID})
		}
		if withLease := postLeased(t, s, newDelivery(b, 2, url)); withLease != nil {
			t.Errorf("leased %v behind one that is leased", withLease)
		}

		claimed := claimDeliveries(t, s, now)
		if len(claimed) != 1 || claimed[0].ID != waiting.ID {
			t.Fatalf("claimed %+v, want only the first delivery", claimed)
		}
		tryDelivery(t, s, claimed[0], now, webhook.Verdict{Outcome: webhook.Delivered})
		ofB.Lease, ofB.Attempt = "lease of "+ofB.ID, 1
		tryDelivery(t, s, ofB, now, webhook.Verdict{Outcome: webhook.Delivered})
		if d, err := s.Delivery(t.Context(), b.ID, ofB.ID); err != nil || d.State != webhook.DeliveryDelivered || d.Attempt != 1 || len(d.Tries) != 1 {
			t.Errorf("after a try with the lease: %+v, %v", d, err)
		}

		// The sender that leased the other one has crashed.
		claimed = claimDeliveries(t, s, now.Add(lease+time.Second))
		i := slices.IndexFunc(claimed, func(d webhook.Delivery) bool { return d.ID == other.ID })
		if i < 0 || claimed[i].Attempt != 2 {
			t.Errorf("claimed after the lease: %+v", claimed)
		}

		again := newDelivery(a, 4, url)
		again.ID, again.Lease = waiting.ID, "lease"
		err := s.Write(t.Context(), func(q *store.Queries) error {
			return q.InsertLeasedDelivery(t.Context(), again, func() {})
		})
		if err == nil {
			t.Error("a delivery was inserted twice")
		}
	})
}

// TestLeaseAfterFailures checks that a new delivery overtakes an earlier one that has
// failed webhook.ReorderAfterFailures times.
func TestLeaseAfterFailures(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *store.Store) {
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		post(t, s, newDelivery(r, 1, "https://a.test/"))
		for range webhook.ReorderAfterFailures {
			tryDelivery(t, s, claimDeliveries(t, s, now)[0], now, webhook.Verdict{Outcome: webhook.Retry, RetryAt: now})
		}
		next := newDelivery(r, 2, "https://a.test/")
		if withLease := postLeased(t, s, next); !slices.Equal(withLease, []string{next.ID}) {
			t.Errorf("leased %v", withLease)
		}
	})
}
