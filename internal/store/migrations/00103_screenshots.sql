-- +goose Up
-- The newest picture of the page of a running job's bot, while somebody watches it.
CREATE TABLE screenshots (
    job_id        TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    watched_until BIGINT NOT NULL,
    taken_at      BIGINT, -- NULL without a picture
    image         TEXT NOT NULL -- JPEG in base64; empty without a picture
);

-- +goose Down
DROP TABLE screenshots;
