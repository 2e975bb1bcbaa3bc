-- The services of one database, and which of them runs a job's bot.

-- +goose Up
CREATE TABLE nodes (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,   -- of its machine
    started_at   BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    bots         BIGINT NOT NULL, -- that take room there
    room         BIGINT NOT NULL, -- for how many there is room in all
    full_because TEXT NOT NULL,   -- why one more would not fit now; empty while it would
    start_ms     BIGINT NOT NULL  -- how long its bots take from their launch until they can join; 0 while unknown
);

ALTER TABLE jobs ADD COLUMN node TEXT NOT NULL DEFAULT ''; -- whose bot the current attempt's is; empty before the first

-- Live jobs without a bot, in the order in which they get theirs.
CREATE INDEX jobs_upcoming ON jobs (join_at) WHERE status IN ('scheduled', 'pending') AND mode = 'live';
-- What a node that starts again had held.
CREATE INDEX jobs_leased ON jobs (lease) WHERE lease <> '';

-- +goose Down
DROP INDEX jobs_leased;
DROP INDEX jobs_upcoming;
ALTER TABLE jobs DROP COLUMN node;
DROP TABLE nodes;
