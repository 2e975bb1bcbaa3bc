package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// SearchJobs returns up to limit of the consumer's jobs, newest first: those
// whose ID or whole externalId is the text, and those of the newest
// job.SearchDepth that contain it, in any case, in their externalId, meeting
// URL or display name. It uses the indexes jobs_external and jobs_created.
func (q *Queries) SearchJobs(ctx context.Context, consumerID uuid.UUID, mode job.Mode, text string, limit int) ([]job.Job, error) {
	var found []job.Job
	scan := unpacked(q, scanView)
	add := func(row scanner) error {
		j, err := scan(row)
		known := slices.ContainsFunc(found, func(other job.Job) bool { return other.ID == j.ID })
		if err == nil && !known && len(found) < limit {
			found = append(found, j)
		}
		return err
	}
	id, err := uuid.Parse(text)
	if err != nil {
		id = uuid.Nil
	}
	err = q.forEach(ctx, add, `SELECT `+q.selects.view+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND id = $5
		UNION ALL SELECT `+q.selects.view+` FROM jobs WHERE `+hasExternalID,
		append(externalIDArgs(consumerID, mode, text), id)...)
	if err == nil {
		err = q.forEach(ctx, add, `SELECT `+q.selects.view+` FROM jobs WHERE id IN (
				SELECT id FROM (
					SELECT id, created_at, external_id, meeting_url, display_name FROM jobs
					WHERE consumer_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $3) AS newest
				WHERE LOWER(external_id) LIKE $4 ESCAPE '!' OR LOWER(meeting_url) LIKE $4 ESCAPE '!' OR LOWER(display_name) LIKE $4 ESCAPE '!'
				ORDER BY created_at DESC, id DESC LIMIT $5)
			ORDER BY created_at DESC, id DESC`, consumerID, mode, job.SearchDepth, containsPattern(text), limit)
	}
	if err != nil {
		return nil, fmt.Errorf("search jobs: %w", err)
	}
	return found, nil
}

// containsPattern returns the LIKE pattern for lower-case texts that contain text.
func containsPattern(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(escapeNUL(text))) + "%"
}

// Usage counts the jobs that a consumer created from a time to another. It uses
// the index jobs_state.
func (q *Queries) Usage(ctx context.Context, consumerID uuid.UUID, from, to time.Time) ([]job.UsageCount, error) {
	var counts []job.UsageCount
	for _, mode := range []job.Mode{job.Live, job.Test} {
		for _, status := range job.Statuses() {
			count := job.UsageCount{Mode: mode, Status: status}
			args := []any{consumerID, mode, status, millis(from), millis(to)}
			placeholder := func(value any) string {
				args = append(args, value)
				return fmt.Sprintf("$%d", len(args))
			}
			onPlatforms := strings.Join(placeholders(job.Platforms(), placeholder), ", ")
			err := q.queryRow(ctx, `SELECT COUNT(*) FROM jobs
				WHERE consumer_id = $1 AND mode = $2 AND status = $3 AND created_at >= $4 AND created_at < $5 AND platform IN (`+onPlatforms+`)`,
				args...).Scan(&count.Jobs)
			if err != nil {
				return nil, fmt.Errorf("count a consumer's jobs: %w", err)
			}
			if count.Jobs > 0 {
				counts = append(counts, count)
			}
		}
	}
	return counts, nil
}
