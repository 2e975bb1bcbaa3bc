// Package payment turns the events of the payment provider into plans: it
// checks their signature, reads what they say of subscriptions and customers,
// and works out what a consumer has paid for. It knows neither HTTP nor SQL,
// and not what a plan entitles to.
//
// # What an event does
//
//   - customer.subscription.* (created, updated, deleted, paused, resumed and
//     whatever else the provider adds) carries the subscription as it is
//     then: status, plan, end of the period. deleted means canceled whatever
//     status it shows.
//   - invoice.paid and invoice.payment_succeeded make an incomplete, past due
//     or unpaid subscription active and may move the end of its period
//     later; invoice.payment_failed makes an active or trialing one past due.
//     They change no subscription that has ended or is paused.
//   - checkout.session.completed and .async_payment_succeeded, customer.created
//     and .updated, and all invoice.* tell whom a customer or subscription
//     belongs to, and change neither status nor plan by that.
//   - Every other type is kept and does nothing. So does an object without
//     the fields that its type should have: an event whose signature is right
//     is never refused for what it says.
//
// # Order
//
// The provider delivers at least once and in any order. Events are kept for
// ever; one whose id is known is dropped. What is known of a subscription or a
// customer is folded anew from all events about it, in the order of their
// created time, whenever one arrives, in the transaction that keeps the event.
// So a late event takes the place it would have had, and nothing depends on
// the order of arrival.
//
// created counts whole seconds, and a sign-up sends several events within one.
// Those go in the order in which they usually happen: subscription.created,
// payment failed, payment made, subscription changed, subscription deleted;
// among changes by status (incomplete, trialing, active, past due, unpaid,
// paused, ended), and at last by event id, which means nothing but is the same
// every time. An event without a created time counts from when it arrived, one
// without an id is known by the hash of its body.
//
// # Whose subscription
//
// It belongs to the first of these that exists:
//
//   - the consumer that the subscription names in its metadata, by id or by
//     name, under standin_consumer, consumer_id, consumerId or consumer (an
//     invoice's copy of that metadata counts alike);
//   - the consumer that anything of the same customer names: another of its
//     subscriptions, its own metadata, a checkout session's metadata or
//     client_reference_id;
//   - every consumer with the customer's e-mail address, upper and lower case
//     alike.
//
// The newest event that names a consumer decides; one that names none takes
// nothing back.
//
// This is looked up when a plan is read, not when the event arrives: a
// subscription that belongs to nobody is kept, the event is accepted like any
// other, and it counts from the moment such a consumer exists.
//
// # The plan
//
// A consumer has the plan of its best subscription: one that is active before
// one that is not, then the one whose period ends last. active, trialing and
// past_due are active; a past due subscription stays so while the provider
// still tries to collect, and ends by the event in which the provider gives
// up. The end of a period alone ends nothing: the provider says when it does.
package payment
