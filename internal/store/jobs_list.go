package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// maxPageBytes bounds the size of a page: the metadata of a single job may be
// as large as a request body.
const maxPageBytes = 8 << 20

// errPageFull stops reading a page that has reached its limit.
var errPageFull = errors.New("the page is full")

// ListJobs returns up to limit of the consumer's jobs after a cursor, newest
// first, and whether there are more. A page of very large jobs may be shorter.
//
// It uses the indexes jobs_created, jobs_state, jobs_join and jobs_external,
// depending on the filter.
func (q *Queries) ListJobs(
	ctx context.Context, consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int,
) (jobs []job.Job, more bool, err error) {
	query, args, filtered := q.jobsQuery(consumer, mode, filter, after, limit+1)
	read := q.gather
	if filtered { // which may take long
		read = q.read
	}
	jobs, more, err = page(ctx, read, limit, unpacked(q, viewScanner()), func(j job.Job) int {
		return len(j.Metadata) + len(j.ExternalID) + len(j.MeetingURL)
	}, query, args...)
	if err != nil {
		return nil, false, fmt.Errorf("list jobs: %w", err)
	}
	return jobs, more, nil
}

// reader runs a query, as Queries.read and Queries.gather do.
type reader func(ctx context.Context, read func(rows) error, query string, args ...any) error

// page returns up to limit rows of a query for limit+1, and whether there are
// more. It ends early at maxPageBytes as counted by size.
func page[T any](ctx context.Context, run reader, limit int, scan func(scanner) (T, error), size func(T) int, query string, args ...any) ([]T, bool, error) {
	values := make([]T, 0, min(limit, 20))
	full := false
	err := run(ctx, func(found rows) error {
		values, full = values[:0], false
		total := 0
		err := scanAll(found, func(row scanner) error {
			value, err := scan(row)
			if err != nil {
				return err
			}
			total += size(value)
			if len(values) == limit || len(values) > 0 && total > maxPageBytes {
				return errPageFull
			}
			values = append(values, value)
			return nil
		})
		if full = errors.Is(err, errPageFull); full {
			return nil
		}
		return err
	}, query, args...)
	return values, full, err
}

// jobsQuery builds the query of ListJobs, and reports whether it has a filter.
// Without one, the index has the page in its order. Otherwise an inner query
// finds the IDs of the page in an index alone, so that only the rows of the page
// are read.
func (q *Queries) jobsQuery(consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int) (query string, args []any, filtered bool) {
	args = []any{consumer, mode}
	placeholder := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	where := []string{"consumer_id = $1", "mode = $2"}
	and := func(set bool, condition string, value any) {
		if set {
			where = append(where, condition+placeholder(value))
		}
	}
	start, hash := externalIDKey(filter.ExternalID)
	and(filter.ExternalID != "", externalIDIs, start)
	and(filter.ExternalID != "", externalHashIs, hash)
	and(!filter.CreatedFrom.IsZero(), "created_at >= ", ceilMillis(filter.CreatedFrom))
	and(!filter.CreatedTo.IsZero(), "created_at < ", ceilMillis(filter.CreatedTo))
	and(!filter.JoinFrom.IsZero(), "join_at >= ", ceilMillis(filter.JoinFrom))
	and(!filter.JoinTo.IsZero(), "join_at < ", ceilMillis(filter.JoinTo))
	hasState := len(filter.Statuses) > 0 || filter.Platform != ""
	filtered = len(where) > 2 || hasState
	if after != (job.Cursor{}) {
		where = append(where, "(created_at, id) < ("+placeholder(millis(after.CreatedAt))+", "+placeholder(after.ID)+")")
	}
	sequence := ` ORDER BY created_at DESC, id DESC`
	// A number, because PostgreSQL would plan the query anew for each value of a parameter,
	// and SQLite would parse it anew.
	first := fmt.Sprintf(` LIMIT %d`, limit)
	matching := ` FROM jobs WHERE ` + strings.Join(where, " AND ")
	switch byJoinAt := !filter.JoinFrom.IsZero() || !filter.JoinTo.IsZero(); {
	case !filtered:
		return `SELECT ` + q.selects.view + matching + sequence + first, args, false
	case byJoinAt:
		// The sum stops planners from walking all of jobs_created in order to
		// find the few jobs of a short interval; jobs_join covers the query.
		matching = `SELECT id` + matching + stateCondition(filter, placeholder) + ` ORDER BY created_at + 0 DESC, id DESC` + first
	case hasState && filter.ExternalID == "":
		matching = `SELECT id FROM (` + newestByState(filter, placeholder, `SELECT id, created_at`+matching, sequence+first) + `) AS newest` + sequence + first
	default:
		matching = `SELECT id` + matching + stateCondition(filter, placeholder) + sequence + first
	}
	return `SELECT ` + q.selects.view + ` FROM jobs WHERE id IN (` + matching + `)` + sequence, args, true
}

// ceilMillis rounds a bound up to milliseconds, the precision of stored times,
// so that times before the bound stay before it.
func ceilMillis(t time.Time) int64 { return millis(t.Add(time.Millisecond - time.Nanosecond)) }
