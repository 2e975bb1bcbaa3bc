package payment

import (
	"context"
	"fmt"
	"time"
)

// Store is the part of the database that Apply uses.
type Store interface {
	// WritePayment runs fn in one transaction. It may call fn more than once.
	WritePayment(ctx context.Context, fn func(Ledger) error) error
}

// Ledger stores events and the state that results from them, within a
// transaction.
type Ledger interface {
	// InsertPaymentEvent inserts an event; false when its ID is known.
	InsertPaymentEvent(ctx context.Context, event Event, receivedAt time.Time) (bool, error)
	// SubscriptionEvents returns all events of a subscription, CustomerEvents
	// all events of a customer. Both block concurrent calls for the same ID
	// until the transaction ends.
	SubscriptionEvents(ctx context.Context, id string) ([]Event, error)
	CustomerEvents(ctx context.Context, id string) ([]Event, error)
	SaveSubscription(ctx context.Context, subscription Subscription) error
	SaveCustomer(ctx context.Context, customer Customer) error
}

// Result is the result of Apply.
type Result struct {
	Deduped bool // the ID was known; the event had no effect
}

// Apply stores an event and the resulting state in one transaction.
func Apply(ctx context.Context, store Store, event Event, now time.Time) (Result, error) {
	if event.Created.IsZero() {
		event.Created = now
	}
	var result Result
	err := store.WritePayment(ctx, func(ledger Ledger) error {
		inserted, err := ledger.InsertPaymentEvent(ctx, event, now)
		result = Result{Deduped: !inserted}
		if err != nil || !inserted {
			return err
		}
		// Always in this order, to avoid deadlocks.
		if err := updateSubscription(ctx, ledger, event.Subscription); err != nil {
			return err
		}
		return updateCustomer(ctx, ledger, event.Customer)
	})
	if err != nil {
		return Result{}, fmt.Errorf("apply payment event %s: %w", event.ID, err)
	}
	return result, nil
}

func updateSubscription(ctx context.Context, ledger Ledger, id string) error {
	if id == "" {
		return nil
	}
	events, err := ledger.SubscriptionEvents(ctx, id)
	if err != nil {
		return err
	}
	return ledger.SaveSubscription(ctx, foldSubscription(id, events))
}

func updateCustomer(ctx context.Context, ledger Ledger, id string) error {
	if id == "" {
		return nil
	}
	events, err := ledger.CustomerEvents(ctx, id)
	if err != nil {
		return err
	}
	return ledger.SaveCustomer(ctx, foldCustomer(id, events))
}
