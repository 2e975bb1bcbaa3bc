// Package payment determines the plans of consumers from the events of the
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
// The provider delivers at least once and in any order. Events are stored for
// ever; an event with a known ID is ignored. Each event rebuilds the state of its
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
// # Whose subscription
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
package payment
