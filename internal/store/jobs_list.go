package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// ListJobs returns up to limit of the consumer's jobs after a cursor, newest
// first, and whether there are more. A page of very large jobs may be shorter.
//
// It uses the indexes jobs_created, jobs_state, jobs_join and jobs_external,
// depending on the filter.
func (db *Reader) ListJobs(
	ctx context.Context, consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int,
) (jobs []job.Job, more bool, err error) {
	query, args := jobsQuery(consumer, mode, filter, after, limit+1)
	return page(ctx, db, "list jobs", limit, scanView, func(j job.Job) int {
		return len(j.Metadata) + len(j.ExternalID) + len(j.MeetingURL)
	}, query, args...)
}

// jobsQuery builds the query of ListJobs. Without a filter, the index has the page in
// its order. Otherwise an inner query finds the IDs of the page in an index alone, so
// that only the rows of the page are read.
func jobsQuery(consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int) (query string, args []any) {
	c := &conditions{args: []any{consumer, mode}}
	if filter.ExternalID != "" {
		c.and("external_hash = %s", hashText(filter.ExternalID))
	}
	c.within("created_at", filter.CreatedFrom, filter.CreatedTo)
	c.within("join_at", filter.JoinFrom, filter.JoinTo)
	hasState := len(filter.Statuses) > 0 || filter.Platform != ""
	filtered := c.text != "" || hasState
	if after != (job.Cursor{}) {
		c.and("(created_at, id) < (%s, %s)", millis(after.CreatedAt), after.ID)
	}
	order := ` ORDER BY created_at DESC, id DESC`
	first := ` LIMIT ` + c.arg(limit)
	matching := ` FROM jobs WHERE consumer_id = $1 AND mode = $2` + c.text
	switch byJoinAt := !filter.JoinFrom.IsZero() || !filter.JoinTo.IsZero(); {
	case !filtered:
		return `SELECT ` + viewColumns + matching + order + first, c.args
	case byJoinAt:
		// The sum stops planners from walking all of jobs_created in order to
		// find the few jobs of a short interval; jobs_join covers the query.
		matching = `SELECT id` + matching + stateCondition(filter, c) + ` ORDER BY created_at + 0 DESC, id DESC` + first
	case hasState && filter.ExternalID == "":
		matching = `SELECT id FROM (` + newestByState(filter, c, `SELECT id, created_at`+matching, order+first) + `) AS newest` + order + first
	default:
		matching = `SELECT id` + matching + stateCondition(filter, c) + order + first
	}
	return `SELECT ` + viewColumns + ` FROM jobs WHERE id IN (` + matching + `)` + order, c.args
}

// stateCondition returns the condition of a filter's statuses and platform, or ""
// without any. c gets the arguments.
func stateCondition(filter job.Filter, c *conditions) (condition string) {
	if len(filter.Statuses) > 0 {
		condition = ` AND status IN (` + strings.Join(placeholders(filter.Statuses, c), `, `) + `)`
	}
	if filter.Platform != "" {
		condition += ` AND platform = ` + c.arg(filter.Platform)
	}
	return condition
}

// newestByState returns a query for the first jobs, in the sequence and up to the
// limit of rest, of each combination of a status and a platform that passes the
// filter. Each part of the query reads them from the index jobs_state in their
// order: the planners would read and sort all of them for several combinations.
func newestByState(filter job.Filter, c *conditions, query, rest string) string {
	statuses, platforms := job.Statuses(), job.Platforms()
	if len(filter.Statuses) > 0 {
		statuses = slices.Compact(slices.Sorted(slices.Values(filter.Statuses)))
	}
	if filter.Platform != "" {
		platforms = []job.Platform{filter.Platform}
	}
	onPlatforms := placeholders(platforms, c)
	var parts []string
	for _, status := range placeholders(statuses, c) {
		for _, platform := range onPlatforms {
			parts = append(parts, `SELECT * FROM (`+query+` AND status = `+status+` AND platform = `+platform+rest+`) AS part`)
		}
	}
	return strings.Join(parts, ` UNION ALL `)
}

// placeholders adds arguments, and returns their placeholders.
func placeholders[T any](values []T, c *conditions) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i] = c.arg(value)
	}
	return all
}

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
	err = db.forEach(ctx, "search jobs", add, `SELECT `+viewColumns+` FROM jobs WHERE consumer_id = $1 AND mode = $2 AND id = $4
		UNION ALL `+selectJobExternal, consumerID, mode, hashText(text), id)
	if err == nil {
		err = db.forEach(ctx, "search jobs", add, `SELECT `+viewColumns+` FROM jobs WHERE id IN (
				SELECT id FROM (
					SELECT id, created_at, external_id, meeting_url, display_name FROM jobs
					WHERE consumer_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $3) AS newest
				WHERE LOWER(external_id) LIKE $4 ESCAPE '!' OR LOWER(meeting_url) LIKE $4 ESCAPE '!' OR LOWER(display_name) LIKE $4 ESCAPE '!'
				ORDER BY created_at DESC, id DESC LIMIT $5)
			ORDER BY created_at DESC, id DESC`, consumerID, mode, job.SearchDepth, containsPattern(text), limit)
	}
	return found, err
}

// containsPattern returns the LIKE pattern for lower-case texts that contain text.
func containsPattern(text string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(text)) + "%"
}
