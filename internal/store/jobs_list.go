package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// ListJobs returns up to limit of the consumer's jobs after a cursor, newest
// first, and whether there are more. A page of very large jobs may be shorter.
//
// It finds the IDs of the page in the index jobs_created alone, or in jobs_external, and
// then reads only the jobs of the page.
func (db *Reader) ListJobs(
	ctx context.Context, caller account.Caller, filter job.Filter, after job.Cursor, limit int,
) (jobs []job.Job, more bool, err error) {
	c := &conditions{args: []any{caller.ConsumerID, caller.Mode}}
	if filter.ExternalID != "" {
		c.and("external_hash = %s", hashText(filter.ExternalID))
	}
	if len(filter.Statuses) > 0 {
		statuses := make([]string, len(filter.Statuses))
		for i, status := range filter.Statuses {
			statuses[i] = c.arg(status)
		}
		c.and("status IN (" + strings.Join(statuses, ", ") + ")")
	}
	if filter.Platform != "" {
		c.and("platform = %s", filter.Platform)
	}
	c.within("created_at", filter.CreatedFrom, filter.CreatedTo)
	c.within("join_at", filter.JoinFrom, filter.JoinTo)
	if after != (job.Cursor{}) {
		c.and("(created_at, id) < (%s, %s)", after.CreatedAt, after.ID)
	}
	// As an argument, PostgreSQL would take the limit for a tenth of the jobs, and read the whole table.
	first := fmt.Sprintf(` LIMIT %d`, limit+1)
	return page(ctx, db, "list jobs", limit, scanView, func(j job.Job) int {
		return len(j.Metadata) + len(j.ExternalID) + len(j.MeetingURL)
	}, `SELECT `+viewColumns+` FROM jobs
		WHERE id IN (SELECT id FROM jobs WHERE consumer_id = $1 AND mode = $2`+c.text+` ORDER BY created_at DESC, id DESC`+first+`)
		ORDER BY created_at DESC, id DESC`, c.args...)
}

// SearchJobs returns up to limit of the consumer's jobs, newest first: those
// whose ID or whole externalId is the text, and those of the newest
// job.SearchDepth that contain it, in any case, in their title, externalId, meeting
// URL or display name. It uses the indexes jobs_external and jobs_created.
func (db *Reader) SearchJobs(ctx context.Context, caller account.Caller, text string, limit int) ([]job.Job, error) {
	var found []job.Job
	add := func(r row) error {
		var j job.Job
		err := scanView(r, &j)
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
	err = db.forEach(ctx, "search jobs", add, `SELECT `+viewColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND id = $4
		UNION ALL `+selectJobExternal, caller.ConsumerID, caller.Mode, hashText(text), id)
	if err == nil {
		err = db.forEach(ctx, "search jobs", add, fmt.Sprintf(`SELECT `+viewColumns+` FROM jobs WHERE id IN (
				SELECT id FROM (
					SELECT id, created_at, external_id, meeting_url, display_name, metadata, options FROM jobs
					WHERE consumer_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT %d) AS newest
				WHERE LOWER(external_id) LIKE $3 ESCAPE '!' OR LOWER(meeting_url) LIKE $3 ESCAPE '!' OR LOWER(display_name) LIKE $3 ESCAPE '!'
					OR LOWER(metadata) LIKE $4 ESCAPE '!' OR LOWER(options) LIKE $4 ESCAPE '!'
				ORDER BY created_at DESC, id DESC LIMIT %d)
			ORDER BY created_at DESC, id DESC`, job.SearchDepth, limit), caller.ConsumerID, caller.Mode, containsPattern(text),
			`%"title":"%`+containsPattern(text)[1:])
	}
	return found, err
}

// JobNames returns what people call some jobs.
func (db *Reader) JobNames(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	names := make(map[uuid.UUID]string, len(ids))
	return names, db.forEach(ctx, "read the names of jobs", func(r row) error {
		var j job.Job
		err := scanView(r, &j)
		names[j.ID] = j.Name()
		return err
	}, `SELECT `+viewColumns+` FROM jobs WHERE id `+db.dialect.In(1), jsonArray(ids))
}

// JobHours counts the jobs of a caller by the hour of their creation, and those that failed. It
// uses the index jobs_created.
func (db *Reader) JobHours(ctx context.Context, caller account.Caller, since time.Time) ([]job.HourCount, error) {
	return List(ctx, db, "count the jobs of each hour", func(r row, c *job.HourCount) error {
		return r.Scan(&c.Hour, &c.Jobs, &c.Failed)
	}, `SELECT created_at / 3600000 * 3600000 AS hour, COUNT(*), CAST(SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS BIGINT) FROM jobs
		WHERE consumer_id = $1 AND mode = $2 AND created_at >= $3 GROUP BY created_at / 3600000`, caller.ConsumerID, caller.Mode, since)
}

// containsPattern returns the LIKE pattern for lower-case texts that contain text.
func containsPattern(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
}
