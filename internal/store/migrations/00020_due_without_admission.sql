-- Due jobs that need no capacity, so that the nodes find them beside any number of
-- jobs that wait for their first bot.

-- +goose Up
CREATE INDEX jobs_wake_others ON jobs (wake_at)
    WHERE wake_at IS NOT NULL AND NOT (status IN ('scheduled', 'pending') AND mode = 'live' AND prelaunch IN ('', 'skipped'));

-- +goose Down
DROP INDEX jobs_wake_others;
