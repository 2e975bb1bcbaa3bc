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
	if err := s.resumeAnswering(ctx, results); err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(q *Queries) error {
		held := make([]webhook.Result, 0, len(results))
		lost = lost[:0]
		for rest := results; len(rest) > 0; {
			size := nextGroup(len(rest))
			applied, err := q.applyVerdicts(ctx, rest[:size])
			if err != nil {
				return err
			}
			for _, result := range rest[:size] {
				if applied[result.Delivery.ID] {
					held = append(held, result)
				} else {
					lost = append(lost, result.Delivery.ID)
				}
			}
			rest = rest[size:]
		}
		for rest := held; len(rest) > 0; {
			size := nextGroup(len(rest))
			if err := q.insertTries(ctx, rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
		return q.noteEndpoints(ctx, held)
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// rowsOf writes count rows of placeholders, whose types the first row tells.
func rowsOf(count int, types ...string) string {
	var text strings.Builder
	for row := range count {
		if row > 0 {
			text.WriteString(", ")
		}
		for column, kind := range types {
			separator := ", "
			if column == 0 {
				separator = "("
			}
			place := row*len(types) + column + 1
			if row == 0 {
				fmt.Fprintf(&text, "%sCAST($%d AS %s)", separator, place, kind)
			} else {
				fmt.Fprintf(&text, "%s$%d", separator, place)
			}
		}
		text.WriteString(")")
	}
	return text.String()
}

// applyVerdicts moves deliveries by the outcomes of their tries, and returns
// which still had their leases.
func (q *Queries) applyVerdicts(ctx context.Context, results []webhook.Result) (map[string]bool, error) {
	args := make([]any, 0, 8*len(results))
	for _, r := range results {
		state, failed := webhook.DeliveryWaiting, 1
		var due, ended, notBefore sql.NullInt64
		switch r.Verdict.Outcome {
		case webhook.Retry:
			due, notBefore = nullMillis(r.Verdict.RetryAt), nullMillis(r.Verdict.NotBefore)
		case webhook.Delivered:
			state, failed, ended = webhook.DeliveryDelivered, 0, nullMillis(endOf(r.Try))
		case webhook.GaveUp:
			state, ended = webhook.DeliveryFailed, nullMillis(endOf(r.Try))
		default:
			return nil, fmt.Errorf("a try of delivery %s ended in the unknown outcome %q", r.Delivery.ID, r.Verdict.Outcome)
		}
		args = append(args, r.Delivery.ID, r.Delivery.Lease, string(state), failed, due, ended, keptText(r.Verdict.Reason), notBefore)
	}
	applied := make(map[string]bool, len(results))
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		applied[id] = true
		return err
	}, `
		UPDATE deliveries SET lease = '', state = v.column3, failures = failures + v.column4, due_at = v.column5,
			ended_at = v.column6, end_reason = v.column7, not_before = v.column8
		FROM (VALUES `+rowsOf(len(results), "TEXT", "TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "BIGINT")+`) AS v
		WHERE deliveries.id = v.column1 AND deliveries.lease = v.column2 RETURNING deliveries.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("keep what became of deliveries: %w", err)
	}
	return applied, nil
}

// endOf is when a try was over.
func endOf(try webhook.Try) time.Time { return try.StartedAt.Add(try.Latency) }

func (q *Queries) insertTries(ctx context.Context, results []webhook.Result) error {
	args := make([]any, 0, 7*len(results))
	for _, r := range results {
		args = append(args, r.Try.DeliveryID, r.Try.Number, millis(r.Try.StartedAt), r.Try.Latency.Milliseconds(), r.Try.StatusCode,
			keptText(r.Try.Error), base64.StdEncoding.EncodeToString(r.Try.ResponseBody))
	}
	_, err := q.exec(ctx, `
		INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, answer)
		VALUES `+rowsOf(len(results), "TEXT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT"), args...)
	if err != nil {
		return fmt.Errorf("keep %d tries: %w", len(results), err)
	}
	return nil
}
