package payment

import (
	"context"
	"fmt"
	"time"
)

// Store is what Apply needs of the database.
type Store interface {
	// WritePayment runs fn in one transaction, more than once if it must.
	WritePayment(ctx context.Context, fn func(Ledger) error) error
}

// Ledger is the kept events, and what follows from them, within a
// transaction.
type Ledger interface {
	// InsertPaymentEvent keeps an event; false when its id was known already.
	InsertPaymentEvent(ctx context.Context, event Event, receivedAt time.Time) (bool, error)
	// SubscriptionEvents returns all events about the subscription, and
	// CustomerEvents all about the customer. Another transaction that asks
	// for the same waits until this one has ended.
	SubscriptionEvents(ctx context.Context, id string) ([]Event, error)
	CustomerEvents(ctx context.Context, id string) ([]Event, error)
	SaveSubscription(ctx context.Context, subscription Subscription) error
	SaveCustomer(ctx context.Context, customer Customer) error
}

// Result is what became of an event.
type Result struct {
	Deduped bool // its id was known: nothing was done
}

// Apply keeps the event and what follows from it in one transaction.
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
		// Always in this order, so that two transactions never wait for
		// each other.
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
