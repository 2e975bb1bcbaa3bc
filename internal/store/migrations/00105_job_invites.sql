-- +goose Up
-- The invites that a job is for, if they came by mail or by the API.
CREATE TABLE job_invites (
    job_id     TEXT NOT NULL REFERENCES jobs (id),
    event_hash TEXT NOT NULL, -- of event_id, which may be long
    source     TEXT NOT NULL CHECK (source IN ('intake', 'mail')),
    event_id   TEXT NOT NULL, -- of the invite; empty without a UID
    PRIMARY KEY (job_id, event_hash, source)
);
CREATE INDEX job_invites_event ON job_invites (event_hash);

-- +goose Down
DROP TABLE job_invites;
