package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// SearchJobs returns up to limit of the consumer's jobs, newest first: those
// whose ID or whole externalId is the text, and those of the newest
// job.SearchDepth that contain it, in any case, in their externalId, meeting
// URL or display name. It uses the indexes jobs_external and jobs_created.
func (db *Reader) SearchJobs(ctx context.Context, consumerID uuid.UUID, mode job.Mode, text string, limit int) ([]job.Job, error) {
	var found []job.Job
	add := func(row sqldb.Row) error {
		j, err := scanView(row)
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
	err = db.forEach(ctx, add, `SELECT `+viewColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND id = $4
		UNION ALL `+selectJobExternal, consumerID, mode, hashText(text), id)
	if err == nil {
		err = db.forEach(ctx, add, `SELECT `+viewColumns+` FROM jobs WHERE id IN (
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
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
}
