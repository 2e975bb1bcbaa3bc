-- +goose Up
ALTER TABLE consumers ADD COLUMN output TEXT NOT NULL DEFAULT 'null'; -- options of jobs that do not set their own

-- +goose Down
ALTER TABLE consumers DROP COLUMN output;
