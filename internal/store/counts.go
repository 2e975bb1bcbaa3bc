package store

import (
	"context"
	"database/sql"
	"fmt"

	"standin/internal/job"
)

// CountUnended counts the jobs of all consumers that have not ended, by their
// status. It uses the index jobs_unended, whose condition it repeats word for
// word: a planner would not see otherwise that they mean the same.
func (q *Queries) CountUnended(ctx context.Context) (map[job.Status]int, error) {
	counts := make(map[job.Status]int)
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var status job.Status
		var n int
		err := rows.Scan(&status, &n)
		counts[status] = n
		return err
	}, `SELECT status, COUNT(*) FROM jobs WHERE status NOT IN ('completed', 'failed', 'cancelled') GROUP BY status`)
	if err != nil {
		return nil, fmt.Errorf("count the jobs that have not ended: %w", err)
	}
	return counts, nil
}
