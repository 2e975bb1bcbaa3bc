-- +goose Up
CREATE TABLE device_flows (
    nonce_hash   TEXT PRIMARY KEY,         -- hex SHA-256; the nonce itself is not kept
    opener       TEXT NOT NULL,            -- what open flows are counted by
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    sealed       TEXT NOT NULL DEFAULT '', -- the credentials, encrypted under the nonce; empty while pending
    sealed_bytes BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX device_flows_expiry ON device_flows (expires_at);
CREATE INDEX device_flows_opener ON device_flows (opener, expires_at);
CREATE INDEX device_flows_long ON device_flows (sealed_bytes, expires_at) WHERE sealed_bytes > 4096;

-- One row, locked while flows are counted and one is added, so that two at
-- once do not both take the last place.
CREATE TABLE device_flow_gate (id BIGINT PRIMARY KEY CHECK (id = 1));
INSERT INTO device_flow_gate (id) VALUES (1);

-- +goose Down
DROP TABLE device_flow_gate;
DROP TABLE device_flows;
