-- How long recordings are kept, and which deletions are not finished.

-- +goose Up
ALTER TABLE consumers ADD COLUMN retention_ms BIGINT;      -- NULL: the service's own; 0: for ever
ALTER TABLE jobs ADD COLUMN recording_deleted_by TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN recording_erased_at BIGINT;    -- when storage held nothing of it any more

-- jobs that are done with and may have something in storage
CREATE INDEX jobs_kept ON jobs (consumer_id, status_since, id)
    WHERE recording_deleted_at IS NULL AND wake_at IS NULL AND attempts > 0;
CREATE INDEX jobs_erasing ON jobs (recording_deleted_at)
    WHERE recording_deleted_at IS NOT NULL AND recording_erased_at IS NULL;

-- +goose Down
DROP INDEX jobs_erasing;
DROP INDEX jobs_kept;
ALTER TABLE jobs DROP COLUMN recording_erased_at;
ALTER TABLE jobs DROP COLUMN recording_deleted_by;
ALTER TABLE consumers DROP COLUMN retention_ms;
