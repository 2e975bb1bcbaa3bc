-- Requests for a job by the API, beside invites, are sources too. A CHECK cannot be changed in place.

-- +goose Up
CREATE TABLE job_invites_new (
    job_id     TEXT NOT NULL REFERENCES jobs (id),
    event_hash TEXT NOT NULL, -- of event_id, which may be long
    source     TEXT NOT NULL CHECK (source IN ('api', 'intake', 'mail')),
    event_id   TEXT NOT NULL, -- of the invite; empty without a UID
    PRIMARY KEY (job_id, event_hash, source)
);
INSERT INTO job_invites_new (job_id, event_hash, source, event_id) SELECT job_id, event_hash, source, event_id FROM job_invites;
DROP TABLE job_invites;
ALTER TABLE job_invites_new RENAME TO job_invites;
CREATE INDEX job_invites_event ON job_invites (event_hash);

-- +goose Down
CREATE TABLE job_invites_old (
    job_id     TEXT NOT NULL REFERENCES jobs (id),
    event_hash TEXT NOT NULL,
    source     TEXT NOT NULL CHECK (source IN ('intake', 'mail')),
    event_id   TEXT NOT NULL,
    PRIMARY KEY (job_id, event_hash, source)
);
INSERT INTO job_invites_old (job_id, event_hash, source, event_id) SELECT job_id, event_hash, source, event_id FROM job_invites WHERE source <> 'api';
DROP TABLE job_invites;
ALTER TABLE job_invites_old RENAME TO job_invites;
CREATE INDEX job_invites_event ON job_invites (event_hash);
