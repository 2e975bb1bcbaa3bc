-- The externalIds of most consumers ascend. In their order an insertion writes the
-- page that the previous one wrote; in the order of hashes it writes any page.

-- +goose Up
DROP INDEX jobs_external;
CREATE UNIQUE INDEX jobs_external ON jobs (consumer_id, mode, substr(external_id, 1, 64),
    (CASE WHEN length(external_id) > 64 THEN external_hash ELSE '' END)); -- an index entry has a limit, an externalId has none

-- +goose Down
DROP INDEX jobs_external;
CREATE UNIQUE INDEX jobs_external ON jobs (consumer_id, mode, external_hash);
