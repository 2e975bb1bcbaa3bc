-- One text for SQLite and PostgreSQL. Times are milliseconds since 1970 UTC,
-- identifiers are UUIDs in text, JSON is kept as text.

-- +goose Up
CREATE TABLE consumers (
    id                      TEXT PRIMARY KEY,
    name                    TEXT NOT NULL UNIQUE,
    email                   TEXT NOT NULL DEFAULT '',
    webhook_secret          TEXT NOT NULL,
    previous_secret         TEXT NOT NULL DEFAULT '',
    previous_secret_expires BIGINT,
    webhook_url             TEXT NOT NULL DEFAULT '',
    webhook_version         BIGINT NOT NULL DEFAULT 2 CHECK (webhook_version IN (1, 2)),
    created_at              BIGINT NOT NULL
);

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    consumer_id  TEXT NOT NULL REFERENCES consumers (id),
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    prefix       TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT
);

CREATE TABLE jobs (
    id               TEXT PRIMARY KEY,
    consumer_id      TEXT NOT NULL REFERENCES consumers (id),
    mode             TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    external_id      TEXT NOT NULL,
    external_hash    TEXT NOT NULL, -- its SHA-256: an index entry has a limit, an externalId has none
    meeting_url      TEXT NOT NULL,
    platform         TEXT NOT NULL,
    display_name     TEXT NOT NULL,
    join_at          BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    on_status_change TEXT NOT NULL,
    on_finalize      TEXT NOT NULL,
    metadata         TEXT NOT NULL,
    auto_leave       TEXT NOT NULL,

    -- the state machine
    status           TEXT NOT NULL,
    status_before    TEXT NOT NULL DEFAULT '',
    status_since     BIGINT NOT NULL,
    attempts         BIGINT NOT NULL DEFAULT 0,
    attempt          BIGINT NOT NULL DEFAULT 0,
    started_at       BIGINT,
    finalized_at     BIGINT,
    manifest_uri     TEXT NOT NULL DEFAULT '',
    failure_code     TEXT NOT NULL DEFAULT '',
    failure_detail   TEXT NOT NULL DEFAULT '',
    sequence         BIGINT NOT NULL DEFAULT 0, -- of the job's last webhook event

    -- dispatch: when to look at the job next, and who does
    wake_at          BIGINT,
    lease            TEXT NOT NULL DEFAULT '',
    attempt_began_at BIGINT,
    launched_at      BIGINT, -- of the current attempt; NULL until its bot was started
    launch_failures  BIGINT NOT NULL DEFAULT 0,
    launch_error     TEXT NOT NULL DEFAULT '',
    heartbeat_at     BIGINT, -- of the current attempt
    stats            TEXT NOT NULL DEFAULT '',

    -- no job can hang: one that has not ended has a time at which it is looked at
    CHECK (wake_at IS NOT NULL OR status IN ('completed', 'failed', 'cancelled'))
);
CREATE UNIQUE INDEX jobs_external ON jobs (consumer_id, mode, external_hash);
CREATE INDEX jobs_wake ON jobs (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE timeline (
    id          TEXT PRIMARY KEY, -- version 7: in the order of arrival
    job_id      TEXT NOT NULL REFERENCES jobs (id),
    attempt     BIGINT NOT NULL,
    source      TEXT NOT NULL CHECK (source IN ('bot', 'service')),
    kind        TEXT NOT NULL,
    emitted_at  BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    applied     BIGINT NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    status_from TEXT NOT NULL,
    status_to   TEXT NOT NULL,
    data        TEXT NOT NULL DEFAULT ''
);
CREATE INDEX timeline_identity ON timeline (job_id, attempt, kind, emitted_at);

CREATE TABLE commands (
    id         TEXT PRIMARY KEY,
    job_id     TEXT NOT NULL REFERENCES jobs (id),
    kind       TEXT NOT NULL,
    args       TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    acked_at   BIGINT
);
CREATE INDEX commands_waiting ON commands (job_id, id) WHERE acked_at IS NULL;

CREATE TABLE deliveries (
    id          TEXT PRIMARY KEY, -- dlv_…
    job_id      TEXT NOT NULL REFERENCES jobs (id),
    consumer_id TEXT NOT NULL REFERENCES consumers (id),
    url         TEXT NOT NULL,
    host        TEXT NOT NULL,
    event       TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    emitted_at  BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    data        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'gave_up')),
    due_at      BIGINT, -- of the next try, or the end of the lease; NULL once it is final
    attempt     BIGINT NOT NULL DEFAULT 0, -- tries begun
    failures    BIGINT NOT NULL DEFAULT 0, -- tries recorded as failed
    lease       TEXT NOT NULL DEFAULT '',
    ended_at    BIGINT,
    end_reason  TEXT NOT NULL DEFAULT '', -- of gave_up
    CHECK ((due_at IS NULL) = (state <> 'waiting'))
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_ahead ON deliveries (job_id, url, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_of_job ON deliveries (job_id, sequence);

CREATE TABLE delivery_tries (
    delivery_id TEXT NOT NULL REFERENCES deliveries (id),
    number      BIGINT NOT NULL,
    started_at  BIGINT NOT NULL,
    latency_ms  BIGINT NOT NULL,
    status_code BIGINT NOT NULL, -- 0 when no answer came
    error       TEXT NOT NULL,
    answer      TEXT NOT NULL,   -- the first KiB, in base64
    PRIMARY KEY (delivery_id, number)
);

-- +goose Down
DROP TABLE delivery_tries;
DROP TABLE deliveries;
DROP TABLE commands;
DROP TABLE timeline;
DROP TABLE jobs;
DROP TABLE api_keys;
DROP TABLE consumers;
