package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// SearchJobs finds the consumer's jobs that have the text as their id or whole
// externalId, and among the newest job.SearchDepth those that have it as a part of
// their externalId, meeting address or display name, upper case or lower;
// newest first. It uses the indexes jobs_external and jobs_created.
func (q *Queries) SearchJobs(ctx context.Context, consumerID uuid.UUID, mode job.Mode, text string, limit int) ([]job.Job, error) {
	var found []job.Job
	seen := make(map[uuid.UUID]bool)
	add := func(rows *sql.Rows) error {
		r, err := scanJob(rows)
		if err == nil && !seen[r.ID] && len(found) < limit {
			seen[r.ID] = true
			found = append(found, r.Job)
		}
		return err
	}
	id, err := uuid.Parse(text)
	if err != nil {
		id = uuid.Nil
	}
	err = q.collect(ctx, add, `SELECT `+jobColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND id = $3
		UNION ALL SELECT `+jobColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND external_hash = $4`,
		consumerID, mode, id, externalHash(text))
	if err == nil {
		err = q.collect(ctx, add, `SELECT `+jobColumns+` FROM jobs WHERE id IN (
				SELECT id FROM (
					SELECT id, created_at, external_id, meeting_url, display_name FROM jobs
					WHERE consumer_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $3) AS newest
				WHERE LOWER(external_id) LIKE $4 ESCAPE '!' OR LOWER(meeting_url) LIKE $4 ESCAPE '!' OR LOWER(display_name) LIKE $4 ESCAPE '!'
				ORDER BY created_at DESC, id DESC LIMIT $5)
			ORDER BY created_at DESC, id DESC`, consumerID, mode, job.SearchDepth, pattern(text), limit)
	}
	if err != nil {
		return nil, fmt.Errorf("search jobs: %w", err)
	}
	return found, nil
}

// pattern matches what holds a text.
func pattern(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(keptText(text))) + "%"
}

// Usage counts the jobs that a consumer made in a time. It uses the index
// jobs_status.
func (q *Queries) Usage(ctx context.Context, consumerID uuid.UUID, from, to time.Time) ([]job.UsageCount, error) {
	var counts []job.UsageCount
	for _, mode := range []job.Mode{job.Live, job.Test} {
		for _, status := range job.Statuses() {
			one := job.UsageCount{Mode: mode, Status: status}
			err := q.queryRow(ctx, `SELECT COUNT(*) FROM jobs
				WHERE consumer_id = $1 AND mode = $2 AND status = $3 AND created_at >= $4 AND created_at < $5`,
				consumerID, mode, status, millis(from), millis(to)).Scan(&one.Jobs)
			if err != nil {
				return nil, fmt.Errorf("count a consumer's jobs: %w", err)
			}
			if one.Jobs > 0 {
				counts = append(counts, one)
			}
		}
	}
	return counts, nil
}
