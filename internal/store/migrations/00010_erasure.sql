-- Erasure of old jobs, which leaves a tombstone, and the origin of keys.

-- +goose Up
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT ''; -- e-mail of a user, or "command line"; empty when unknown

ALTER TABLE consumers ADD COLUMN job_retention_ms BIGINT; -- NULL: the default of the service; 0: for ever

-- jobs that can be erased: processed, and without a recording
CREATE INDEX jobs_erasable ON jobs (consumer_id, status_since, id)
    WHERE wake_at IS NULL AND (manifest_uri = '' OR recording_erased_at IS NOT NULL);

-- The externalIds of erased jobs stay taken.
CREATE TABLE job_tombstones (
    id            TEXT PRIMARY KEY,
    consumer_id   TEXT NOT NULL REFERENCES consumers (id),
    mode          TEXT NOT NULL,
    external_hash TEXT NOT NULL,
    platform      TEXT NOT NULL,
    join_at       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    auto_leave    TEXT NOT NULL,
    status        TEXT NOT NULL,
    attempts      BIGINT NOT NULL,
    started_at    BIGINT,
    finalized_at  BIGINT,
    failure_code  TEXT NOT NULL,
    erased_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX job_tombstones_external ON job_tombstones (consumer_id, mode, external_hash);

-- +goose Down
DROP TABLE job_tombstones;
DROP INDEX jobs_erasable;
ALTER TABLE consumers DROP COLUMN job_retention_ms;
ALTER TABLE api_keys DROP COLUMN created_by;
