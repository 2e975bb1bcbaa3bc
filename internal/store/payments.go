package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/store/sqldb"
)

// WritePayment implements billing.Store.
func (s *Store) WritePayment(ctx context.Context, fn func(context.Context, billing.Ledger) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return fn(ctx, tx) })
}

// InsertPaymentEvent implements billing.Ledger.
func (tx *Tx) InsertPaymentEvent(ctx context.Context, e billing.Event, receivedAt time.Time) (bool, error) {
	n, err := tx.exec(ctx, `
		INSERT INTO payment_events (id, type, created_at, received_at, effect,
			subscription_id, customer_id, consumer, email, plan, status, period_end)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`,
		e.ID, e.Type, millis(e.Created), millis(receivedAt), e.Effect,
		e.Subscription, e.Customer, e.Consumer, e.Email, e.Plan, e.Status, nullMillis(e.PeriodEnd))
	if err != nil {
		return false, fmt.Errorf("insert payment event %s: %w", e.ID, err)
	}
	return n == 1, nil
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
	if _, err := tx.exec(ctx, `INSERT INTO `+table+` (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET id = excluded.id`, id); err != nil {
		return nil, fmt.Errorf("lock %s in %s: %w", id, table, err)
	}
	events, err := list(ctx, &tx.Reader, func(row sqldb.Row) (e billing.Event, err error) {
		err = row.Scan(&e.ID, &e.Type, timeColumn{&e.Created}, &e.Effect, &e.Subscription, &e.Customer, &e.Consumer, &e.Email,
			&e.Plan, &e.Status, timeColumn{&e.PeriodEnd})
		return e, err
	}, `SELECT id, type, created_at, effect, subscription_id, customer_id, consumer, email, plan, status, period_end
		FROM payment_events WHERE `+column+` = $1 AND `+column+` <> ''`, id)
	if err != nil {
		return nil, fmt.Errorf("read the payment events of %s: %w", id, err)
	}
	return events, nil
}

// SaveSubscription implements billing.Ledger.
func (tx *Tx) SaveSubscription(ctx context.Context, s billing.Subscription) error {
	_, err := tx.exec(ctx, `UPDATE subscriptions SET customer_id = $2, consumer = $3, plan = $4, status = $5, period_end = $6 WHERE id = $1`,
		s.ID, s.Customer, s.Consumer, s.Plan, s.Status, nullMillis(s.PeriodEnd))
	if err != nil {
		return fmt.Errorf("save subscription %s: %w", s.ID, err)
	}
	return nil
}

// SaveCustomer implements billing.Ledger.
func (tx *Tx) SaveCustomer(ctx context.Context, c billing.Customer) error {
	_, err := tx.exec(ctx, `UPDATE payment_customers SET consumer = $2, email = $3 WHERE id = $1`, c.ID, c.Consumer, c.Email)
	if err != nil {
		return fmt.Errorf("save payment customer %s: %w", c.ID, err)
	}
	return nil
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
func (db *Reader) ConsumerPlan(ctx context.Context, consumerID uuid.UUID) (billing.Plan, error) {
	consumer, err := db.Consumer(ctx, consumerID)
	if err != nil {
		return billing.Plan{}, err
	}
	subscriptions, err := list(ctx, db, func(row sqldb.Row) (s billing.Subscription, err error) {
		err = row.Scan(&s.ID, &s.Customer, &s.Consumer, &s.Plan, &s.Status, timeColumn{&s.PeriodEnd})
		return s, err
	}, subscriptionsOf, consumer.ID.String(), consumer.Name, strings.ToLower(consumer.Email))
	if err != nil {
		return billing.Plan{}, fmt.Errorf("read the plan of consumer %s: %w", consumerID, err)
	}
	return billing.Best(subscriptions), nil
}

// deletePayments deletes the events, subscriptions and customers of a consumer:
// those that name it, and those that name no consumer and belong to its
// customers or, unless another consumer has the same e-mail, have its e-mail.
func (tx *Tx) deletePayments(ctx context.Context, c account.Consumer) error {
	email := strings.ToLower(c.Email)
	var others int
	if err := tx.queryRow(ctx, `SELECT COUNT(*) FROM consumers WHERE lower(email) = $1 AND id <> $2`, email, c.ID).Scan(&others); err != nil {
		return fmt.Errorf("find consumers with the same e-mail: %w", err)
	}
	if others > 0 {
		email = ""
	}
	const (
		customers     = `SELECT id FROM payment_customers WHERE consumer IN ($1, $2) OR consumer = '' AND email = $3 AND email <> ''`
		subscriptions = `SELECT id FROM subscriptions WHERE consumer IN ($1, $2) OR consumer = '' AND customer_id <> '' AND customer_id IN (` + customers + `)`
	)
	for _, statement := range []string{
		`DELETE FROM payment_events WHERE consumer IN ($1, $2) OR consumer = '' AND (customer_id = '' AND email = $3 AND email <> ''
			OR subscription_id IN (` + subscriptions + `) OR customer_id IN (` + customers + `))`,
		`DELETE FROM subscriptions WHERE id IN (` + subscriptions + `)`,
		`DELETE FROM payment_customers WHERE id IN (` + customers + `)`,
	} {
		if _, err := tx.exec(ctx, statement, c.ID.String(), c.Name, email); err != nil {
			return fmt.Errorf("delete the payments of consumer %s: %w", c.ID, err)
		}
	}
	return nil
}
