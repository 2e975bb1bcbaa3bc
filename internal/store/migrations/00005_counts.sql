-- How many jobs are where, for operators who ask often.

-- +goose Up
CREATE INDEX jobs_unended ON jobs (status) WHERE status NOT IN ('completed', 'failed', 'cancelled');

-- +goose Down
DROP INDEX jobs_unended;
