-- Most deliveries have one try, which delivers them. The try that delivered a delivery is
-- in these columns, and not in delivery_tries. Its number is the attempt of the delivery,
-- and it ended at ended_at.

-- +goose Up
ALTER TABLE deliveries ADD COLUMN latency_ms BIGINT; -- NULL for deliveries whose tries are all in delivery_tries
ALTER TABLE deliveries ADD COLUMN status_code BIGINT;
ALTER TABLE deliveries ADD COLUMN answer TEXT; -- NULL if it is empty

-- +goose Down
INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, answer)
SELECT id, attempt, ended_at - latency_ms, latency_ms, status_code, '', COALESCE(answer, '') FROM deliveries WHERE latency_ms IS NOT NULL;
ALTER TABLE deliveries DROP COLUMN answer;
ALTER TABLE deliveries DROP COLUMN status_code;
ALTER TABLE deliveries DROP COLUMN latency_ms;
