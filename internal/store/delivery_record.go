package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"standin/internal/webhook"
)

// RecordTries implements webhook.Outbox.
func (s *Store) RecordTries(ctx context.Context, results []webhook.Result) (lost []string, err error) {
	if err := s.resumeRecovered(ctx, results); err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(q *Queries) error {
		recorded := make([]webhook.Result, 0, len(results))
		lost = lost[:0]
		for rest := results; len(rest) > 0; {
			size := batchSize(len(rest))
			applied, err := q.applyVerdicts(ctx, rest[:size])
			if err != nil {
				return err
			}
			for _, result := range rest[:size] {
				if applied[result.Delivery.ID] {
					recorded = append(recorded, result)
				} else {
					lost = append(lost, result.Delivery.ID)
				}
			}
			rest = rest[size:]
		}
		for rest := recorded; len(rest) > 0; {
			size := batchSize(len(rest))
			if err := q.insertTries(ctx, rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
		return q.saveEndpoints(ctx, recorded)
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// valueRows builds count rows of placeholders. The casts in the first row
// determine the types of the columns.
func valueRows(count int, types ...string) string {
	rows := make([]string, count)
	for row := range rows {
		columns := make([]string, len(types))
		for column, kind := range types {
			columns[column] = fmt.Sprintf("$%d", row*len(types)+column+1)
			if row == 0 {
				columns[column] = fmt.Sprintf("CAST(%s AS %s)", columns[column], kind)
			}
		}
		rows[row] = "(" + strings.Join(columns, ", ") + ")"
	}
	return strings.Join(rows, ", ")
}

// applyVerdicts updates deliveries with the outcomes of their tries and returns
// those that still had their leases.
func (q *Queries) applyVerdicts(ctx context.Context, results []webhook.Result) (map[string]bool, error) {
	args := make([]any, 0, 8*len(results))
	for _, r := range results {
		state, failures := webhook.DeliveryWaiting, 1
		var due, ended, notBefore sql.NullInt64
		switch r.Verdict.Outcome {
		case webhook.Retry:
			due, notBefore = nullMillis(r.Verdict.RetryAt), nullMillis(r.Verdict.NotBefore)
		case webhook.Delivered:
			state, failures, ended = webhook.DeliveryDelivered, 0, nullMillis(endOf(r.Try))
		case webhook.GaveUp:
			state, ended = webhook.DeliveryFailed, nullMillis(endOf(r.Try))
		default:
			return nil, fmt.Errorf("record a try of delivery %s: unknown outcome %q", r.Delivery.ID, r.Verdict.Outcome)
		}
		args = append(args, r.Delivery.ID, r.Delivery.Lease, string(state), failures, due, ended, escapeNUL(r.Verdict.Reason), notBefore)
	}
	applied := make(map[string]bool, len(results))
	ids, err := list(ctx, q, scanColumn[string], `
		UPDATE deliveries SET lease = '', state = v.column3, failures = failures + v.column4, due_at = v.column5,
			ended_at = v.column6, end_reason = v.column7, not_before = v.column8
		FROM (VALUES `+valueRows(len(results), "TEXT", "TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "BIGINT")+`) AS v
		WHERE deliveries.id = v.column1 AND deliveries.lease = v.column2 RETURNING deliveries.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("save the outcomes of tries: %w", err)
	}
	for _, id := range ids {
		applied[id] = true
	}
	return applied, nil
}

// endOf returns when a try ended.
func endOf(try webhook.Try) time.Time { return try.StartedAt.Add(try.Latency) }

func (q *Queries) insertTries(ctx context.Context, results []webhook.Result) error {
	args := make([]any, 0, 7*len(results))
	for _, r := range results {
		args = append(args, r.Try.DeliveryID, r.Try.Number, millis(r.Try.StartedAt), r.Try.Latency.Milliseconds(), r.Try.StatusCode,
			escapeNUL(r.Try.Error), base64.StdEncoding.EncodeToString(r.Try.ResponseBody))
	}
	_, err := q.exec(ctx, `
		INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, answer)
		VALUES `+valueRows(len(results), "TEXT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT"), args...)
	if err != nil {
		return fmt.Errorf("insert %d tries: %w", len(results), err)
	}
	return nil
}
