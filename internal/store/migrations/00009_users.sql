-- Who signs in to the dashboard, and what its pages ask for.

-- +goose Up
CREATE TABLE users (
    id              TEXT PRIMARY KEY,
    consumer_id     TEXT NOT NULL REFERENCES consumers (id),
    email           TEXT NOT NULL UNIQUE,     -- lower case
    name            TEXT NOT NULL,
    operator        BIGINT NOT NULL,          -- 1: sees all consumers and the machine
    founder         BIGINT UNIQUE,            -- 1 of the first user, of whom there is one; else NULL
    password_hash   TEXT NOT NULL DEFAULT '', -- argon2id; empty for those who sign in elsewhere
    oidc_issuer     TEXT NOT NULL DEFAULT '',
    oidc_subject    TEXT NOT NULL DEFAULT '',
    created_at      BIGINT NOT NULL,
    last_sign_in_at BIGINT
);
CREATE INDEX users_consumer ON users (consumer_id, email);
CREATE UNIQUE INDEX users_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_issuer <> '';

CREATE TABLE sessions (
    hash         TEXT PRIMARY KEY, -- hex SHA-256; the secret itself is in the cookie alone
    user_id      TEXT NOT NULL REFERENCES users (id),
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE invitations (
    hash        TEXT PRIMARY KEY, -- hex SHA-256; the token itself is in the link alone
    consumer_id TEXT REFERENCES consumers (id), -- NULL for the first user, who names one
    email       TEXT NOT NULL,    -- lower case; empty for the first user
    operator    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL
);
CREATE INDEX invitations_consumer ON invitations (consumer_id, created_at);
CREATE INDEX invitations_email ON invitations (email);
CREATE INDEX invitations_expiry ON invitations (expires_at);

-- what a command line that asks to be let in calls itself
ALTER TABLE device_flows ADD COLUMN agent TEXT NOT NULL DEFAULT '';

CREATE INDEX api_keys_consumer ON api_keys (consumer_id, id);

-- failures over time, of all consumers
CREATE INDEX jobs_failed ON jobs (status_since, failure_code) WHERE status = 'failed';

-- +goose Down
DROP INDEX jobs_failed;
DROP INDEX api_keys_consumer;
ALTER TABLE device_flows DROP COLUMN agent;
DROP TABLE invitations;
DROP TABLE sessions;
DROP TABLE users;
