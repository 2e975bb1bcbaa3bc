package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"standin/internal/job"
)

// CountActive counts the jobs of all consumers that have not ended, by their
// status. It uses the index jobs_unended, whose condition it repeats word for
// word: a planner would not see otherwise that they mean the same.
func (q *Queries) CountActive(ctx context.Context) (map[job.Status]int, error) {
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

// withBot is the condition of jobs that have a bot, or should. It begins with
// the index jobs_unended, a range for each of their states.
func withBot() string {
	var states []string
	for _, status := range job.Statuses() {
		if status.Dispatched() {
			states = append(states, "'"+string(status)+"'")
		}
	}
	return `status NOT IN ('completed', 'failed', 'cancelled') AND status IN (` + strings.Join(states, ", ") + `)`
}

// OldestHeartbeat returns when the bot was heard that is silent for longest, of
// those that have been heard; false without any.
func (q *Queries) OldestHeartbeat(ctx context.Context) (time.Time, bool, error) {
	var heard sql.NullInt64
	err := q.queryRow(ctx, `SELECT MIN(heartbeat_at) FROM jobs WHERE `+withBot()).Scan(&heard)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("look for the bot that is silent for longest: %w", err)
	}
	return fromNull(heard), heard.Valid, nil
}
