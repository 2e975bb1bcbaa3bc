-- One index for lists by status, by platform and by both, in place of two that each
-- new job had to be added to.

-- +goose Up
DROP INDEX jobs_platform;
DROP INDEX jobs_status;
CREATE INDEX jobs_state ON jobs (consumer_id, mode, status, platform, created_at, id);

-- +goose Down
DROP INDEX jobs_state;
CREATE INDEX jobs_status ON jobs (consumer_id, mode, status, created_at, id);
CREATE INDEX jobs_platform ON jobs (consumer_id, mode, platform, created_at, id);
