package store

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account/billing"
)

// WritePayment implements billing.Store.
func (s *Store) WritePayment(ctx context.Context, fn func(context.Context, billing.Ledger) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return fn(ctx, tx) })
}

// InsertPaymentEvent implements billing.Ledger.
func (tx *Tx) InsertPaymentEvent(ctx context.Context, e billing.Event, receivedAt time.Time) (bool, error) {
	n, err := tx.Affected(ctx, "insert a payment event", `
		INSERT INTO payment_events (id, type, created_at, received_at, effect,
			subscription_id, customer_id, consumer, email, plan, status, period_end)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`,
		e.ID, e.Type, e.Created, receivedAt, e.Effect,
		e.Subscription, e.Customer, e.Consumer, e.Email, e.Plan, e.Status, NullTime(e.PeriodEnd))
	return n == 1, err
}

// SubscriptionEvents implements billing.Ledger. It uses the index
// payment_events_subscription.
func (tx *Tx) SubscriptionEvents(ctx context.Context, id string) ([]billing.Event, error) {
	return tx.paymentEvents(ctx, "subscriptions", "subscription_id", id)
}

// CustomerEvents implements billing.Ledger. It uses the index
// payment_events_customer.
func (tx *Tx) CustomerEvents(ctx context.Context, id string) ([]billing.Event, error) {
	return tx.paymentEvents(ctx, "payment_customers", "customer_id", id)
}

// paymentEvents locks the row with the ID in table, which it inserts if it is
// missing, and returns the events whose column has the ID. Because the row is
// written, the select sees all events of transactions that locked it before.
func (tx *Tx) paymentEvents(ctx context.Context, table, column, id string) ([]billing.Event, error) {
	if err := tx.exec(ctx, "lock a subscription or customer", `INSERT INTO `+table+` (id) VALUES ($1) ON CONFLICT (id) DO UPDATE
		SET id = excluded.id`, id); err != nil {
		return nil, err
	}
	return List(ctx, tx.Reader, "read the events of a subscription or customer", func(r row, e *billing.Event) error {
		return r.Scan(&e.ID, &e.Type, &e.Created, &e.Effect, &e.Subscription, &e.Customer, &e.Consumer, &e.Email,
			&e.Plan, &e.Status, &e.PeriodEnd)
	}, `SELECT id, type, created_at, effect, subscription_id, customer_id, consumer, email, plan, status, period_end
		FROM payment_events WHERE `+column+` = $1 AND `+column+` <> ''`, id)
}

// SaveSubscription implements billing.Ledger.
func (tx *Tx) SaveSubscription(ctx context.Context, s billing.Subscription) error {
	return tx.exec(ctx, "save a subscription", `UPDATE subscriptions SET customer_id = $2, consumer = $3, plan = $4, status = $5,
		period_end = $6 WHERE id = $1`,
		s.ID, s.Customer, s.Consumer, s.Plan, s.Status, NullTime(s.PeriodEnd))
}

// SaveCustomer implements billing.Ledger.
func (tx *Tx) SaveCustomer(ctx context.Context, c billing.Customer) error {
	return tx.exec(ctx, "save a payment customer", `UPDATE payment_customers SET consumer = $2, email = $3
		WHERE id = $1`, c.ID, c.Consumer, c.Email)
}

// subscriptionsOf selects the subscriptions of the consumer with the ID $1, the
// name $2 and the e-mail $3: those that name the consumer, those whose customer
// does, and those of a customer with its e-mail. A later rule applies only if
// no earlier one names an existing consumer (package billing). It uses the indexes subscriptions_consumer,
// payment_customers_consumer, payment_customers_email and
// subscriptions_customer.
const subscriptionsOf = `
	SELECT s.id, s.customer_id, s.consumer, s.plan, s.status, s.period_end
	FROM subscriptions s
	WHERE s.consumer IN ($1, $2) AND s.consumer <> ''
	UNION ALL
	SELECT s.id, s.customer_id, s.consumer, s.plan, s.status, s.period_end
	FROM payment_customers c JOIN subscriptions s ON s.customer_id = c.id AND s.customer_id <> ''
	WHERE c.consumer IN ($1, $2) AND c.consumer <> ''
		AND NOT EXISTS (SELECT 1 FROM consumers o WHERE o.id = s.consumer OR o.name = s.consumer)
	UNION ALL
	SELECT s.id, s.customer_id, s.consumer, s.plan, s.status, s.period_end
	FROM payment_customers c JOIN subscriptions s ON s.customer_id = c.id AND s.customer_id <> ''
	WHERE c.email = $3 AND c.email <> ''
		AND NOT EXISTS (SELECT 1 FROM consumers o WHERE o.id = s.consumer OR o.name = s.consumer)
		AND NOT EXISTS (SELECT 1 FROM consumers o WHERE o.id = c.consumer OR o.name = c.consumer)`

// ConsumerPlan returns the consumer's plan, the zero Plan for none. The error
// is a *job.Error with NotFound when there is no such consumer.
func (db *Reader) ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (plan billing.Plan, err error) {
	consumer, err := db.Consumer(ctx, consumerID)
	if err != nil {
		return plan, err
	}
	subscriptions, err := List(ctx, db, "read the plan of a consumer", func(r row, s *billing.Subscription) error {
		return r.Scan(&s.ID, &s.Customer, &s.Consumer, &s.Plan, &s.Status, &s.PeriodEnd)
	}, subscriptionsOf, consumer.ID.String(), consumer.Name, strings.ToLower(consumer.Email))
	if err != nil {
		return plan, err
	}
	return billing.Best(subscriptions), nil
}
