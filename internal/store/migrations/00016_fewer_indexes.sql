-- Each index costs time on every insertion, and on PostgreSQL on most updates.

-- +goose Up
-- jobs_wake counts the jobs that have not ended; few of them have a bot.
DROP INDEX jobs_unended;
DROP INDEX jobs_wake;
CREATE INDEX jobs_wake ON jobs (wake_at, status) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_dispatched ON jobs (status)
    WHERE status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled');
-- Most jobs are not from invites, and half of the timeline is not from bots.
DROP INDEX jobs_intake;
CREATE UNIQUE INDEX jobs_intake ON jobs (consumer_id, intake_key) WHERE intake_key IS NOT NULL;
DROP INDEX timeline_identity;
CREATE INDEX timeline_identity ON timeline (job_id, attempt, kind, emitted_at) WHERE source = 'bot';

-- +goose Down
DROP INDEX timeline_identity;
CREATE INDEX timeline_identity ON timeline (job_id, attempt, kind, emitted_at);
DROP INDEX jobs_intake;
CREATE UNIQUE INDEX jobs_intake ON jobs (consumer_id, intake_key);
DROP INDEX jobs_dispatched;
DROP INDEX jobs_wake;
CREATE INDEX jobs_wake ON jobs (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_unended ON jobs (status) WHERE status NOT IN ('completed', 'failed', 'cancelled');
