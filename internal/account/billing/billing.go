// Package billing determines the plans of consumers from the events of the
// payment provider. It verifies and decodes the events. It contains no HTTP and
// no SQL, and does not define the entitlements of a plan.
//
// # Effects of events
//
//   - customer.subscription.* (created, updated, deleted, paused, resumed and
//     any other) sets the subscription's status, plan and end of period. deleted
//     sets the status canceled, whatever status it contains.
//   - invoice.paid and invoice.payment_succeeded make an incomplete, past due
//     or unpaid subscription active and may extend its period.
//     invoice.payment_failed makes an active or trialing subscription past due.
//     They do not change a subscription that has ended or is paused.
//   - checkout.session.completed and .async_payment_succeeded, customer.created
//     and .updated, and all invoice.* name the owner of a customer or
//     subscription. Status and plan stay the same.
//   - Events of other types are stored and have no effect. The same applies to
//     an object without the expected fields: an event with a valid signature is
//     never refused because of its content.
//
// # Order
//
// The provider delivers at least once and in any order. Events are stored
// forever; an event with a known ID is ignored. Each event rebuilds the state of its
// subscription and its customer from all their events, ordered by created time,
// in the transaction that stores the event. The result does not depend on the
// order of arrival.
//
// created has a precision of one second, and a sign-up sends several events
// within a second. These are ordered as they usually happen:
// subscription.created, payment failed, payment made, subscription changed,
// subscription deleted; changes by status (incomplete, trialing, active, past
// due, unpaid, paused, ended); and finally by event ID, so that the order is
// always the same. An event without a created time uses its time of arrival; an
// event without an ID uses the hash of its body.
//
// # Owner of a subscription
//
// A subscription belongs to the first of these that exists:
//
//   - the consumer in the subscription's metadata, by ID or by name, under
//     standin_consumer, consumer_id, consumerId or consumer (also in an
//     invoice's copy of the metadata);
//   - the consumer that the same customer names elsewhere: in another
//     subscription, in the customer's metadata, or in the metadata or
//     client_reference_id of a checkout session;
//   - every consumer with the customer's e-mail address, ignoring case.
//
// The newest event that names a consumer decides. An event that names none
// changes nothing.
//
// The owner is determined when a plan is read, not when the event arrives. An
// event without an owner is accepted; its subscription takes effect once such a
// consumer exists.
//
// # The plan
//
// A consumer has the plan of its best subscription: active before inactive, then
// the latest end of period. The statuses active, trialing and past_due are
// active. A past due subscription remains active while the provider tries to
// collect the payment, and ends with the event in which the provider stops. The
// end of a period alone ends nothing.
package billing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Receiver handles the webhooks of the provider.
type Receiver struct {
	Secret string // signing secret of the endpoint; empty when not configured
	Store  Store
	Now    func() time.Time
}

// Decode verifies and decodes an event. header is the value of Header or
// ProviderHeader. The error is ErrNoSecret without a secret, wraps ErrSignature
// for a bad signature, and is a *job.Error with InvalidInput for a signed body
// that is not a JSON object.
func (r *Receiver) Decode(header string, body []byte) (Event, error) {
	if err := Verify(r.Secret, header, body, r.Now()); err != nil {
		return Event{}, err
	}
	return Decode(body)
}

// Apply stores an event and its effects. Errors are internal; the provider should
// send the event again.
func (r *Receiver) Apply(ctx context.Context, event Event) (Result, error) {
	return Apply(ctx, r.Store, event, r.Now())
}

// Store is the part of the database that Apply uses.
type Store interface {
	// WritePayment runs fn in one transaction. It may call fn more than once.
	WritePayment(ctx context.Context, fn func(context.Context, Ledger) error) error
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
	err := store.WritePayment(ctx, func(ctx context.Context, ledger Ledger) error {
		inserted, err := ledger.InsertPaymentEvent(ctx, event, now)
		result = Result{Deduped: !inserted}
		if err != nil || !inserted {
			return err
		}
		// Always in this order, to avoid deadlocks.
		if event.Subscription != "" {
			events, err := ledger.SubscriptionEvents(ctx, event.Subscription)
			if err != nil {
				return err
			}
			subscription := Subscription{ID: event.Subscription}
			for _, e := range slices.SortedFunc(slices.Values(events), Event.compare) {
				subscription.apply(e)
			}
			if err := ledger.SaveSubscription(ctx, subscription); err != nil {
				return err
			}
		}
		if event.Customer == "" {
			return nil
		}
		events, err := ledger.CustomerEvents(ctx, event.Customer)
		if err != nil {
			return err
		}
		customer := Customer{ID: event.Customer}
		for _, e := range slices.SortedFunc(slices.Values(events), Event.compare) {
			customer.Consumer = cmp.Or(e.Consumer, customer.Consumer)
			customer.Email = cmp.Or(e.Email, customer.Email)
		}
		return ledger.SaveCustomer(ctx, customer)
	})
	if err != nil {
		return Result{}, fmt.Errorf("apply payment event %s: %w", event.ID, err)
	}
	return result, nil
}
