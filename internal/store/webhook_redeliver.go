package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/webhook"
)

// redeliverGroup is how many deliveries one write makes wait again, so that
// others have their turns.
const redeliverGroup = 1000

// RedeliverFailed makes given up deliveries wait for a try that is due now, each
// as Redeliver does, and returns how many. Those that have been tried too often
// are passed over. It uses the index deliveries_gave_up, or deliveries_of_job
// for those of one job.
func (s *Store) RedeliverFailed(ctx context.Context, consumer uuid.UUID, mode job.Mode, filter webhook.FailedFilter, now time.Time) (count int, err error) {
	for {
		var ids []string
		err := s.Write(ctx, func(q *Queries) (err error) {
			if ids, err = q.failedDeliveries(ctx, consumer, mode, filter, now); err != nil {
				return err
			}
			return q.update(ctx, ids, []any{millis(now)}, func(places string) string {
				return `UPDATE deliveries SET state = 'waiting', due_at = $1, lease = '', failures = 0, ended_at = NULL, end_reason = '', not_before = NULL
					WHERE state = 'gave_up' AND id IN (` + places + `)`
			})
		})
		if err != nil {
			return count, fmt.Errorf("redeliver what failed: %w", err)
		}
		count += len(ids)
		if len(ids) < redeliverGroup {
			return count, nil
		}
	}
}

// failedDeliveries returns the next group of given up deliveries that pass the
// filter. What was given up after now is not among them: it may be what this
// redelivery made of it.
func (q *Queries) failedDeliveries(ctx context.Context, consumer uuid.UUID, mode job.Mode, filter webhook.FailedFilter, now time.Time) ([]string, error) {
	args := []any{consumer, string(mode), webhook.MaxTries, millis(now), redeliverGroup}
	more := ""
	where := func(condition string, arg any) {
		args = append(args, arg)
		more += fmt.Sprintf(" AND "+condition, len(args))
	}
	if filter.JobID != uuid.Nil {
		where("d.job_id = $%d", filter.JobID)
	}
	if filter.URL != "" {
		where("d.endpoint = $%d", webhook.EndpointKey(consumer, filter.URL))
	}
	if !filter.From.IsZero() {
		where("d.emitted_at >= $%d", millis(filter.From))
	}
	if !filter.To.IsZero() {
		where("d.emitted_at < $%d", millis(filter.To))
	}
	var ids []string
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, `
		SELECT d.id FROM deliveries d
		WHERE d.consumer_id = $1 AND d.state = 'gave_up' AND d.attempt < $3 AND d.ended_at <= $4`+more+`
			AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = d.job_id AND j.mode = $2)
		ORDER BY d.emitted_at, d.id LIMIT $5`, args...)
	return ids, err
}
