-- Endpoints of webhooks: an address of one consumer. Their key is
-- webhook.EndpointKey, which an index can hold however long the address is.

-- +goose Up
ALTER TABLE deliveries ADD COLUMN endpoint TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET endpoint = consumer_id || ' ' || url;
ALTER TABLE deliveries ADD COLUMN not_before BIGINT; -- when the receiver asked to be left alone until then

DROP INDEX deliveries_ahead;
CREATE INDEX deliveries_ahead ON deliveries (endpoint, job_id, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_gave_up ON deliveries (consumer_id, emitted_at, id) WHERE state = 'gave_up';

-- What is known of those that have been tried.
CREATE TABLE webhook_endpoints (
    key               TEXT PRIMARY KEY,
    consumer_id       TEXT NOT NULL REFERENCES consumers (id),
    url               TEXT NOT NULL,
    failures          BIGINT NOT NULL, -- tries in a row that were not acknowledged
    failing_since     BIGINT,          -- when the first of these was made
    last_try_at       BIGINT NOT NULL, -- of a failure exactly, of a success within a minute
    last_status       BIGINT NOT NULL, -- of the last failure; 0 when no answer came
    last_error        TEXT NOT NULL,
    last_delivered_at BIGINT           -- within a minute
);
CREATE INDEX webhook_endpoints_consumer ON webhook_endpoints (consumer_id, key);

-- +goose Down
DROP TABLE webhook_endpoints;
DROP INDEX deliveries_gave_up;
DROP INDEX deliveries_ahead;
CREATE INDEX deliveries_ahead ON deliveries (job_id, url, sequence) WHERE state = 'waiting';
ALTER TABLE deliveries DROP COLUMN not_before;
ALTER TABLE deliveries DROP COLUMN endpoint;
