-- Round-robin between consumers when capacity is short.

-- +goose Up
-- No reference to consumers: a claim must not wait for a lock on one.
CREATE TABLE dispatch_turns (
    consumer_id TEXT PRIMARY KEY,
    turn        BIGINT NOT NULL -- increases with each claim: the lowest is served next
);

-- +goose Down
DROP TABLE dispatch_turns;
