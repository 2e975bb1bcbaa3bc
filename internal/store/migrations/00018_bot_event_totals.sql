-- What the bots of a job have reported in all, so that an event need not count it.
-- Jobs that have ended start at 0: few of their bots still report anything.

-- +goose Up
ALTER TABLE jobs ADD COLUMN bot_events BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN bot_event_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET
    bot_events = (SELECT COUNT(*) FROM timeline WHERE job_id = jobs.id AND source = 'bot'),
    bot_event_bytes = (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM timeline WHERE job_id = jobs.id AND source = 'bot')
WHERE status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled');

-- +goose Down
ALTER TABLE jobs DROP COLUMN bot_event_bytes;
ALTER TABLE jobs DROP COLUMN bot_events;
