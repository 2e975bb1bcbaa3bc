-- Consumers opt in to the webhook event job.transcript_ready.

-- +goose Up
ALTER TABLE consumers ADD COLUMN transcript_event BIGINT NOT NULL DEFAULT 0 CHECK (transcript_event IN (0, 1));

-- +goose Down
ALTER TABLE consumers DROP COLUMN transcript_event;
