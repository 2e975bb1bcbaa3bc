-- Webhook endpoints that consumers register with a choice of events, and deliveries of events
-- that belong to no job. Alerts to operators.

-- +goose Up
ALTER TABLE consumers ADD COLUMN event_sequence BIGINT NOT NULL DEFAULT 0; -- of its last event without a job

CREATE TABLE new_deliveries (
    id          TEXT PRIMARY KEY, -- dlv_…
    job_id      TEXT REFERENCES jobs (id), -- NULL: an event of the consumer
    subject     TEXT NOT NULL, -- the job, or else the consumer: sequence counts the events of a subject
    consumer_id TEXT NOT NULL REFERENCES consumers (id),
    mode        TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    url         TEXT NOT NULL,
    endpoint    TEXT NOT NULL, -- webhook.EndpointKey: of limited length
    event       TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    emitted_at  BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    data        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    due_at      BIGINT, -- of the next try, or the end of the lease; NULL in a final state
    not_before  BIGINT, -- when the receiver's Retry-After ends
    attempt     BIGINT NOT NULL DEFAULT 0, -- tries started
    failures    BIGINT NOT NULL DEFAULT 0, -- tries recorded as failed
    lease       TEXT NOT NULL DEFAULT '',
    ended_at    BIGINT,
    end_reason  TEXT NOT NULL DEFAULT '', -- of failed
    CHECK ((due_at IS NULL) = (state <> 'waiting'))
);
INSERT INTO new_deliveries (id, job_id, subject, consumer_id, mode, url, endpoint, event, sequence, emitted_at, version, data,
        state, due_at, not_before, attempt, failures, lease, ended_at, end_reason)
    SELECT d.id, d.job_id, d.job_id, d.consumer_id, j.mode, d.url, d.endpoint, d.event, d.sequence, d.emitted_at, d.version, d.data,
        d.state, d.due_at, d.not_before, d.attempt, d.failures, d.lease, d.ended_at, d.end_reason
    FROM deliveries d JOIN jobs j ON j.id = d.job_id;

CREATE TABLE new_delivery_tries (
    delivery_id   TEXT NOT NULL REFERENCES new_deliveries (id),
    number        BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    latency_ms    BIGINT NOT NULL,
    status_code   BIGINT NOT NULL, -- 0 without a response
    error         TEXT NOT NULL,
    response_body TEXT NOT NULL,   -- the first KiB, in base64
    PRIMARY KEY (delivery_id, number)
);
INSERT INTO new_delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, response_body)
    SELECT delivery_id, number, started_at, latency_ms, status_code, error, response_body FROM delivery_tries;

DROP TABLE delivery_tries;
DROP TABLE deliveries;
ALTER TABLE new_deliveries RENAME TO deliveries;
ALTER TABLE new_delivery_tries RENAME TO delivery_tries;

CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (endpoint, emitted_at, sequence, id) WHERE state = 'waiting';
CREATE INDEX deliveries_ahead ON deliveries (subject, endpoint, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_of_job ON deliveries (job_id, sequence, id);
CREATE INDEX deliveries_of_consumer ON deliveries (consumer_id, emitted_at, id) WHERE job_id IS NULL;
-- lists, newest first
CREATE INDEX deliveries_log ON deliveries (consumer_id, mode, emitted_at, id);
CREATE INDEX deliveries_log_event ON deliveries (consumer_id, mode, event, emitted_at, id);
CREATE INDEX deliveries_log_endpoint ON deliveries (endpoint, mode, emitted_at, id);
CREATE INDEX deliveries_log_waiting ON deliveries (consumer_id, mode, emitted_at, id) WHERE state = 'waiting';
CREATE INDEX deliveries_failed ON deliveries (consumer_id, mode, emitted_at, id) WHERE state = 'failed';

-- The rows of URLs that only jobs name are results of tries. The next tries write them again.
DROP TABLE webhook_endpoints;
CREATE TABLE webhook_endpoints (
    key               TEXT PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    consumer_id       TEXT NOT NULL REFERENCES consumers (id),
    url               TEXT NOT NULL,
    -- of a registered endpoint:
    mode              TEXT NOT NULL DEFAULT '' CHECK (mode IN ('', 'live', 'test')), -- empty: only jobs name the URL
    events            TEXT NOT NULL DEFAULT '', -- that it takes, separated by spaces
    live              BIGINT NOT NULL DEFAULT 0, -- 1: these include what heartbeats of bots report
    description       TEXT NOT NULL DEFAULT '',
    enabled           BIGINT NOT NULL DEFAULT 0,
    created_at        BIGINT,
    -- results of tries:
    failures          BIGINT NOT NULL DEFAULT 0, -- consecutive failed tries
    failing_since     BIGINT,                    -- when the first of them was made
    probe_at          BIGINT,                    -- of a dead endpoint: no try starts before
    last_try_at       BIGINT,                    -- of a success within a minute
    latency_ms        BIGINT NOT NULL DEFAULT 0, -- of that try
    last_status       BIGINT NOT NULL DEFAULT 0, -- of the last failure; 0 without a response
    last_error        TEXT NOT NULL DEFAULT '',
    last_delivered_at BIGINT                     -- within a minute
);
CREATE INDEX webhook_endpoints_consumer ON webhook_endpoints (consumer_id, key);
CREATE INDEX webhook_endpoints_registered ON webhook_endpoints (consumer_id, mode, key) WHERE mode <> '';
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE failing_since IS NOT NULL;

-- Alerts to operators, of all nodes.
CREATE TABLE alerts (
    name    TEXT PRIMARY KEY, -- of the rule, and its node
    firing  BIGINT NOT NULL,  -- 1: an alert was sent, and not that it is resolved
    sent_at BIGINT NOT NULL
);

-- +goose Down
-- The other tables are dropped by the first migration.
DROP TABLE alerts;
