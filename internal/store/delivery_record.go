package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
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
		if err := q.preferIndexes(ctx); err != nil {
			return err
		}
		recorded := make([]webhook.Result, 0, len(results))
		lost = lost[:0]
		for some := range batches(q, results) {
			applied, err := q.applyVerdicts(ctx, some)
			if err != nil {
				return err
			}
			for _, result := range some {
				if applied[result.Delivery.ID] {
					recorded = append(recorded, result)
				} else {
					lost = append(lost, result.Delivery.ID)
				}
			}
		}
		undelivered := slices.DeleteFunc(slices.Clone(recorded), isDelivered)
		for some := range batches(q, undelivered) {
			if err := q.insertTries(ctx, some); err != nil {
				return err
			}
		}
		return q.saveEndpoints(ctx, recorded)
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// table returns rows as the table v, with columns of some types named column1,
// column2, …, and its arguments.
func (q *Queries) table(rows [][]any, types ...string) (table string, args []any) {
	if !q.takesArrays() {
		return "(VALUES " + valueRows(len(rows), types...) + ") AS v", slices.Concat(rows...)
	}
	arrays, names := make([]string, len(types)), make([]string, len(types))
	for i, kind := range types {
		arrays[i], names[i] = fmt.Sprintf("(SELECT $%d::%s[])", i+1, kind), fmt.Sprintf("column%d", i+1)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") AS v (" + strings.Join(names, ", ") + ")", arraysOf(rows)
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

// isDelivered reports whether a try has delivered its delivery, so that it is stored
// with it.
func isDelivered(r webhook.Result) bool { return r.Verdict.Outcome == webhook.Delivered }

// applyVerdicts updates deliveries with the outcomes of their tries and returns
// those that still had their leases. It stores the tries that delivered them.
func (q *Queries) applyVerdicts(ctx context.Context, results []webhook.Result) (map[string]bool, error) {
	rows := make([][]any, 0, len(results))
	for _, r := range results {
		state, failures := webhook.DeliveryWaiting, 1
		var due, ended, notBefore, latency, status sql.NullInt64
		var answer sql.NullString
		switch r.Verdict.Outcome {
		case webhook.Retry:
			due, notBefore = nullMillis(r.Verdict.RetryAt), nullMillis(r.Verdict.NotBefore)
		case webhook.Delivered:
			state, failures, ended = webhook.DeliveryDelivered, 0, nullMillis(endOf(r.Try))
			latency, status = durationMillis(&r.Try.Latency), sql.NullInt64{Int64: int64(r.Try.StatusCode), Valid: true}
			answer = nullText(encodeAnswer(r.Try))
		case webhook.GaveUp:
			state, ended = webhook.DeliveryFailed, nullMillis(endOf(r.Try))
		default:
			return nil, fmt.Errorf("record a try of delivery %s: unknown outcome %q", r.Delivery.ID, r.Verdict.Outcome)
		}
		rows = append(rows, []any{r.Delivery.ID, r.Delivery.Lease, string(state), failures, due, ended, escapeNUL(r.Verdict.Reason), notBefore,
			latency, status, answer})
	}
	verdicts, args := q.table(rows, "TEXT", "TEXT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT")
	applied := make(map[string]bool, len(results))
	ids, err := list(ctx, q, scanColumn[string], `
		UPDATE deliveries SET lease = '', state = v.column3, failures = failures + v.column4, due_at = v.column5,
			ended_at = v.column6, end_reason = v.column7, not_before = v.column8,
			latency_ms = v.column9, status_code = v.column10, answer = v.column11
		FROM `+verdicts+`
		WHERE deliveries.id = v.column1 AND deliveries.lease = v.column2 RETURNING deliveries.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("save the outcomes of tries: %w", err)
	}
	for _, id := range ids {
		applied[id] = true
	}
	return applied, nil
}

// endOf returns when a try ended: its start and its latency, each in milliseconds as
// they are stored.
func endOf(try webhook.Try) time.Time {
	return try.StartedAt.Truncate(time.Millisecond).Add(try.Latency.Truncate(time.Millisecond))
}

// encodeAnswer returns the response body of a try as it is stored.
func encodeAnswer(try webhook.Try) string { return base64.StdEncoding.EncodeToString(try.ResponseBody) }

func (q *Queries) insertTries(ctx context.Context, results []webhook.Result) error {
	rows := make([][]any, 0, len(results))
	for _, r := range results {
		rows = append(rows, []any{r.Try.DeliveryID, r.Try.Number, millis(r.Try.StartedAt), r.Try.Latency.Milliseconds(), r.Try.StatusCode,
			escapeNUL(r.Try.Error), encodeAnswer(r.Try)})
	}
	tries, args := q.table(rows, "TEXT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT")
	return q.execLater(ctx, doing("insert %d tries", len(results)), `
		INSERT INTO delivery_tries (`+tryColumns+`)
		SELECT * FROM `+tries, args...)
}
