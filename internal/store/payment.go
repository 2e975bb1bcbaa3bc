package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/payment"
)

// WritePayment implements payment.Store.
func (s *Store) WritePayment(ctx context.Context, fn func(payment.Ledger) error) error {
	return s.Write(ctx, func(q *Queries) error { return fn(q) })
}

// InsertPaymentEvent implements payment.Ledger.
func (q *Queries) InsertPaymentEvent(ctx context.Context, e payment.Event, receivedAt time.Time) (bool, error) {
	n, err := q.exec(ctx, `
		INSERT INTO payment_events (id, type, created_at, received_at, effect,
			subscription_id, customer_id, consumer, email, plan, status, period_end)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`,
		e.ID, e.Type, millis(e.Created), millis(receivedAt), e.Effect,
		e.Subscription, e.Customer, e.Consumer, e.Email, e.Plan, e.Status, nullMillis(e.PeriodEnd))
	if err != nil {
		return false, fmt.Errorf("keep payment event %s: %w", e.ID, err)
	}
	return n == 1, nil
}

const paymentEventColumns = `id, type, created_at, effect, subscription_id, customer_id, consumer, email, plan, status, period_end`

// SubscriptionEvents implements payment.Ledger. It uses the index
// payment_events_subscription.
func (q *Queries) SubscriptionEvents(ctx context.Context, id string) ([]payment.Event, error) {
	// Writing the row holds it until the transaction ends, and what the next
	// statement reads was committed by whoever held it before.
	_, err := q.exec(ctx, `INSERT INTO subscriptions (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id`, id)
	if err != nil {
		return nil, fmt.Errorf("hold subscription %s: %w", id, err)
	}
	return q.paymentEvents(ctx, `SELECT `+paymentEventColumns+` FROM payment_events WHERE subscription_id = $1 AND subscription_id <> ''`, id)
}

// CustomerEvents implements payment.Ledger. It uses the index
// payment_events_customer.
func (q *Queries) CustomerEvents(ctx context.Context, id string) ([]payment.Event, error) {
	_, err := q.exec(ctx, `INSERT INTO payment_customers (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id`, id)
	if err != nil {
		return nil, fmt.Errorf("hold payment customer %s: %w", id, err)
	}
	return q.paymentEvents(ctx, `SELECT `+paymentEventColumns+` FROM payment_events WHERE customer_id = $1 AND customer_id <> ''`, id)
}

// SaveSubscription implements payment.Ledger.
func (q *Queries) SaveSubscription(ctx context.Context, s payment.Subscription) error {
	_, err := q.exec(ctx, `UPDATE subscriptions SET customer_id = $2, consumer = $3, plan = $4, status = $5, period_end = $6 WHERE id = $1`,
		s.ID, s.Customer, s.Consumer, s.Plan, s.Status, nullMillis(s.PeriodEnd))
	if err != nil {
		return fmt.Errorf("save subscription %s: %w", s.ID, err)
	}
	return nil
}

// SaveCustomer implements payment.Ledger.
func (q *Queries) SaveCustomer(ctx context.Context, c payment.Customer) error {
	_, err := q.exec(ctx, `UPDATE payment_customers SET consumer = $2, email = $3 WHERE id = $1`, c.ID, c.Consumer, c.Email)
	if err != nil {
		return fmt.Errorf("save payment customer %s: %w", c.ID, err)
	}
	return nil
}

// subscriptionsOf finds the subscriptions of the consumer with the id $1, the
// name $2 and the e-mail $3: those that name it, then those whose customer
// does, then those of a customer with its e-mail, each only when nothing
// before names a consumer that exists (package payment, Whose subscription).
// It uses the indexes subscriptions_consumer, payment_customers_consumer,
// payment_customers_email and subscriptions_customer.
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

// ConsumerPlan returns the consumer's plan, the zero Plan when it has none. A
// consumer that does not exist gives a *job.Error with NotFound.
func (q *Queries) ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (payment.Plan, error) {
	consumer, err := q.Consumer(ctx, consumerID)
	if err != nil {
		return payment.Plan{}, err
	}
	var subscriptions []payment.Subscription
	err = q.collect(ctx, func(rows *sql.Rows) error {
		var s payment.Subscription
		var periodEnd sql.NullInt64
		err := rows.Scan(&s.ID, &s.Customer, &s.Consumer, &s.Plan, &s.Status, &periodEnd)
		s.PeriodEnd = fromNull(periodEnd)
		subscriptions = append(subscriptions, s)
		return err
	}, subscriptionsOf, consumer.ID.String(), consumer.Name, strings.ToLower(consumer.Email))
	if err != nil {
		return payment.Plan{}, fmt.Errorf("read the plan of consumer %s: %w", consumerID, err)
	}
	return payment.Best(subscriptions), nil
}

// paymentEvents runs a query for events.
func (q *Queries) paymentEvents(ctx context.Context, query, id string) ([]payment.Event, error) {
	var events []payment.Event
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var e payment.Event
		var created int64
		var periodEnd sql.NullInt64
		err := rows.Scan(&e.ID, &e.Type, &created, &e.Effect, &e.Subscription, &e.Customer, &e.Consumer, &e.Email,
			&e.Plan, &e.Status, &periodEnd)
		e.Created, e.PeriodEnd = fromMillis(created), fromNull(periodEnd)
		events = append(events, e)
		return err
	}, query, id)
	if err != nil {
		return nil, fmt.Errorf("read the payment events of %s: %w", id, err)
	}
	return events, nil
}
