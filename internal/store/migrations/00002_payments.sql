-- What the payment provider told, and what follows from it. Texts are empty
-- where an event does not say.

-- +goose Up
CREATE TABLE payment_events (
    id              TEXT PRIMARY KEY, -- the provider's
    type            TEXT NOT NULL,
    created_at      BIGINT NOT NULL,  -- the provider's time, which orders events
    received_at     BIGINT NOT NULL,
    effect          TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    customer_id     TEXT NOT NULL,
    consumer        TEXT NOT NULL, -- id or name of the consumer it names
    email           TEXT NOT NULL, -- lower case
    plan            TEXT NOT NULL,
    status          TEXT NOT NULL,
    period_end      BIGINT
);
CREATE INDEX payment_events_subscription ON payment_events (subscription_id) WHERE subscription_id <> '';
CREATE INDEX payment_events_customer ON payment_events (customer_id) WHERE customer_id <> '';

-- Folded from payment_events. Whose it is, is found when a plan is read.
CREATE TABLE subscriptions (
    id          TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL DEFAULT '',
    consumer    TEXT NOT NULL DEFAULT '',
    plan        TEXT NOT NULL DEFAULT '',
    status      TEXT NOT NULL DEFAULT '',
    period_end  BIGINT
);
CREATE INDEX subscriptions_customer ON subscriptions (customer_id) WHERE customer_id <> '';
CREATE INDEX subscriptions_consumer ON subscriptions (consumer) WHERE consumer <> '';

-- Folded from payment_events.
CREATE TABLE payment_customers (
    id       TEXT PRIMARY KEY,
    consumer TEXT NOT NULL DEFAULT '',
    email    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX payment_customers_consumer ON payment_customers (consumer) WHERE consumer <> '';
CREATE INDEX payment_customers_email ON payment_customers (email) WHERE email <> '';

-- +goose Down
DROP TABLE payment_customers;
DROP TABLE subscriptions;
DROP TABLE payment_events;
