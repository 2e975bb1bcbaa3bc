package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"standin/internal/job"
)

// Upcoming counts the live jobs without a bot whose joinAt is in [from, until),
// in stretches of one length that begin at its multiples; stretches without a
// job are left out. It uses the index jobs_upcoming alone.
func (q *Queries) CountUpcoming(ctx context.Context, from, until time.Time, length time.Duration) ([]job.UpcomingCount, error) {
	var all []job.UpcomingCount
	step := length.Milliseconds()
	err := q.collect(ctx, func(rows *sql.Rows) error {
		var number int64
		var u job.UpcomingCount
		err := rows.Scan(&number, &u.Jobs)
		u.From = fromMillis(number * step)
		all = append(all, u)
		return err
	}, `SELECT join_at / $3 AS stretch, COUNT(*) FROM jobs
		WHERE status IN ('scheduled', 'pending') AND mode = 'live' AND join_at >= $1 AND join_at < $2
		GROUP BY stretch ORDER BY stretch`, millis(from), millis(until), step)
	if err != nil {
		return nil, fmt.Errorf("count the jobs to come: %w", err)
	}
	return all, nil
}
