-- Transcripts, and the words that the dashboard searches. The full-text index is
-- created by internal/store/spoken_index.go, because the databases differ.

-- +goose Up
CREATE TABLE transcriptions (
    job_id     TEXT PRIMARY KEY REFERENCES jobs (id),
    created_at BIGINT NOT NULL,
    due_at     BIGINT,          -- NULL once it has ended
    lease      TEXT NOT NULL,   -- of the node that works on it until due_at
    failures   BIGINT NOT NULL, -- since the last response of the transcriber
    sent_ms    BIGINT NOT NULL  -- audio that the transcriber has accepted
);
CREATE INDEX transcriptions_due ON transcriptions (due_at) WHERE due_at IS NOT NULL;

-- Responses of the transcriber, so that nothing is sent twice.
CREATE TABLE transcription_pieces (
    job_id   TEXT NOT NULL REFERENCES jobs (id),
    piece    TEXT NOT NULL, -- file, start and end
    response TEXT NOT NULL,
    PRIMARY KEY (job_id, piece)
);

CREATE TABLE spoken (
    doc      BIGINT PRIMARY KEY, -- random; the row of the full-text index
    job_id   TEXT NOT NULL REFERENCES jobs (id),
    owner    TEXT NOT NULL, -- consumer and mode, as one word
    kind     TEXT NOT NULL, -- chat, caption or transcript
    start_ms BIGINT NOT NULL,
    speaker  TEXT NOT NULL,
    text     TEXT NOT NULL
);
CREATE INDEX spoken_job ON spoken (job_id, start_ms);

-- +goose Down
DROP TABLE spoken;
DROP TABLE transcription_pieces;
DROP TABLE transcriptions;
