-- Jobs made from calendar invites, deleted recordings, and the indexes of the
-- lists that consumers page through.

-- +goose Up
ALTER TABLE jobs ADD COLUMN ical_uid TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN ical_uid_hash TEXT; -- its SHA-256; NULL without one
ALTER TABLE jobs ADD COLUMN intake_key TEXT;    -- of the invite that made the job; NULL when none did
ALTER TABLE jobs ADD COLUMN recording_deleted_at BIGINT;

-- one job for an invite, whoever sends it at the same time
CREATE UNIQUE INDEX jobs_intake ON jobs (consumer_id, intake_key);
CREATE INDEX jobs_ical ON jobs (consumer_id, ical_uid_hash) WHERE ical_uid_hash IS NOT NULL;
CREATE INDEX jobs_invited ON jobs (consumer_id, created_at) WHERE intake_key IS NOT NULL;
CREATE INDEX consumers_email ON consumers (lower(email));

CREATE INDEX jobs_created ON jobs (consumer_id, mode, created_at, id);
CREATE INDEX jobs_status ON jobs (consumer_id, mode, status, created_at, id);
CREATE INDEX jobs_platform ON jobs (consumer_id, mode, platform, created_at, id);
CREATE INDEX jobs_join ON jobs (consumer_id, mode, join_at, created_at, id);
CREATE INDEX timeline_order ON timeline (job_id, id);
CREATE INDEX commands_of_kind ON commands (job_id, kind, id);

-- +goose Down
DROP INDEX commands_of_kind;
DROP INDEX timeline_order;
DROP INDEX jobs_join;
DROP INDEX jobs_platform;
DROP INDEX jobs_status;
DROP INDEX jobs_created;
DROP INDEX consumers_email;
DROP INDEX jobs_invited;
DROP INDEX jobs_ical;
DROP INDEX jobs_intake;
ALTER TABLE jobs DROP COLUMN recording_deleted_at;
ALTER TABLE jobs DROP COLUMN intake_key;
ALTER TABLE jobs DROP COLUMN ical_uid_hash;
ALTER TABLE jobs DROP COLUMN ical_uid;
