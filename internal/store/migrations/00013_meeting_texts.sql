-- Chat messages and captions.

-- +goose Up
CREATE TABLE meeting_texts (
    job_id         TEXT NOT NULL REFERENCES jobs (id),
    attempt        BIGINT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('chat', 'caption')),
    id             TEXT NOT NULL, -- chosen by the bot
    sequence       BIGINT NOT NULL, -- of its last change within the job
    participant_id TEXT NOT NULL,
    author         TEXT NOT NULL,
    text           TEXT NOT NULL,
    language       TEXT NOT NULL,
    started_at     BIGINT NOT NULL,
    ended_at       BIGINT NOT NULL,
    PRIMARY KEY (job_id, attempt, kind, id)
);
CREATE UNIQUE INDEX meeting_texts_sequence ON meeting_texts (job_id, sequence);

-- What the bots of a job have reported, with corrections.
CREATE TABLE meeting_text_totals (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id),
    texts  BIGINT NOT NULL, -- also the last sequence
    bytes  BIGINT NOT NULL
);

-- +goose Down
DROP TABLE meeting_text_totals;
DROP TABLE meeting_texts;
