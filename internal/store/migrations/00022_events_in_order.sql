-- The events of all bots arrive in about the order of their times. In this order an
-- insertion writes the page that the previous one wrote; in the order of jobs it writes
-- a page of each job.

-- +goose Up
DROP INDEX timeline_identity;
CREATE INDEX timeline_identity ON timeline (emitted_at, job_id, attempt, kind) WHERE source = 'bot';

-- +goose Down
DROP INDEX timeline_identity;
CREATE INDEX timeline_identity ON timeline (job_id, attempt, kind, emitted_at) WHERE source = 'bot';
