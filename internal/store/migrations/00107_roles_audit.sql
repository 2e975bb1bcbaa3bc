-- +goose Up
ALTER TABLE users ADD COLUMN role TEXT NOT NULL DEFAULT 'admin';
ALTER TABLE invitations ADD COLUMN role TEXT NOT NULL DEFAULT 'admin';
CREATE TABLE audit_log (
    id          TEXT PRIMARY KEY,
    consumer_id TEXT NOT NULL REFERENCES consumers (id),
    at          BIGINT NOT NULL,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    target      TEXT NOT NULL
);
CREATE INDEX audit_log_consumer ON audit_log (consumer_id, id);
CREATE INDEX audit_log_expiry ON audit_log (at);

-- +goose Down
DROP TABLE audit_log;
ALTER TABLE invitations DROP COLUMN role;
ALTER TABLE users DROP COLUMN role;
