package store

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"

	"standin/internal/webhook"
)

const (
	// applyVerdict applies the consequence of a try to a delivery that still has its
	// lease.
	applyVerdict = `UPDATE deliveries SET lease = '', state = $3, failures = failures + $4, due_at = $5, ended_at = $6, end_reason = $7, not_before = $8
		WHERE id = $1 AND lease = $2`
	insertTry = `INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, response_body) VALUES ($1, $2, $3, $4, $5, $6, $7)`
)

// RecordTries implements webhook.Outbox.
func (s *Store) RecordTries(ctx context.Context, results []webhook.Result) (lost []string, err error) {
	verdicts, tries := make([][]any, len(results)), make([][]any, len(results))
	for i, r := range results {
		if verdicts[i], err = verdictArgs(r); err != nil {
			return nil, err
		}
		tries[i] = []any{r.Try.DeliveryID, r.Try.Number, millis(r.Try.StartedAt), r.Try.Latency.Milliseconds(), r.Try.StatusCode,
			r.Try.Error, base64.StdEncoding.EncodeToString(r.Try.ResponseBody)}
	}
	if err := s.resumeRecovered(ctx, results); err != nil {
		return nil, err
	}
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		lost = lost[:0]
		applied, err := tx.conn.ExecBatch(ctx, applyVerdict, verdicts)
		if err != nil {
			return fmt.Errorf("save the outcomes of tries: %w", err)
		}
		var recorded []webhook.Result
		var inserted [][]any
		for i, r := range results {
			if applied[i] == 0 {
				lost = append(lost, r.Delivery.ID)
				continue
			}
			recorded, inserted = append(recorded, r), append(inserted, tries[i])
		}
		if _, err := tx.conn.ExecBatch(ctx, insertTry, inserted); err != nil {
			return fmt.Errorf("insert tries: %w", err)
		}
		return tx.saveEndpoints(ctx, recorded)
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// verdictArgs returns the arguments of applyVerdict.
func verdictArgs(r webhook.Result) ([]any, error) {
	state, failures := webhook.DeliveryWaiting, 1
	var due, ended, notBefore sql.NullInt64
	switch r.Verdict.Outcome {
	case webhook.Retry:
		due, notBefore = nullMillis(r.Verdict.RetryAt), nullMillis(r.Verdict.NotBefore)
		if r.Verdict.Uncounted {
			failures = 0
		}
	case webhook.Delivered:
		state, failures, ended = webhook.DeliveryDelivered, 0, nullMillis(endOf(r.Try))
	case webhook.GaveUp:
		state, ended = webhook.DeliveryFailed, nullMillis(endOf(r.Try))
	default:
		return nil, fmt.Errorf("record a try of delivery %s: unknown outcome %q", r.Delivery.ID, r.Verdict.Outcome)
	}
	return []any{r.Delivery.ID, r.Delivery.Lease, state, failures, due, ended, r.Verdict.Reason, notBefore}, nil
}

// endOf returns when a try ended: its start and its latency, each in milliseconds as
// they are stored.
func endOf(try webhook.Try) time.Time {
	return try.StartedAt.Truncate(time.Millisecond).Add(try.Latency.Truncate(time.Millisecond))
}
