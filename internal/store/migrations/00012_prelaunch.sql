-- Bots that are launched before joinAt do not show until then.

-- +goose Up
ALTER TABLE jobs ADD COLUMN prelaunch TEXT NOT NULL DEFAULT ''; -- launched, withdrawn or skipped; empty for most jobs

-- The bots of a node that was restarted.
CREATE INDEX jobs_prelaunched ON jobs (node) WHERE prelaunch IN ('launched', 'withdrawn');

-- +goose Down
DROP INDEX jobs_prelaunched;
ALTER TABLE jobs DROP COLUMN prelaunch;
