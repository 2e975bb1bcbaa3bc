package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// maxPageBytes bounds what a page of jobs carries: free-form metadata may be
// as long as a request's body, a hundred times.
const maxPageBytes = 8 << 20

// errPageFull ends the reading of a page that has reached maxPageBytes.
var errPageFull = errors.New("the page is full")

// ListJobs returns up to limit of the consumer's jobs behind a place, newest
// first, and whether there are more. A page of very large jobs may end early.
//
// It uses the indexes jobs_created, jobs_status, jobs_platform, jobs_join and
// jobs_external, as the filter allows.
func (q *Queries) ListJobs(
	ctx context.Context, consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int,
) (jobs []job.Record, more bool, err error) {
	query, args := jobsQuery(consumer, mode, filter, after, limit+1)
	size := 0
	err = q.collect(ctx, func(rows *sql.Rows) error {
		r, err := scanJob(rows)
		if err != nil {
			return err
		}
		size += len(r.Metadata) + len(r.ExternalID) + len(r.MeetingURL)
		if len(jobs) == limit || len(jobs) > 0 && size > maxPageBytes {
			return errPageFull
		}
		jobs = append(jobs, r)
		return nil
	}, query, args...)
	if errors.Is(err, errPageFull) {
		return jobs, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list jobs: %w", err)
	}
	return jobs, false, nil
}

// jobsQuery writes the query of ListJobs. The inner one walks an index alone
// and finds the page's ids; only those rows are read.
func jobsQuery(consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int) (string, []any) {
	args := []any{consumer, mode}
	place := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	where := []string{"consumer_id = $1", "mode = $2"}
	must := func(set bool, condition string, value any) {
		if set {
			where = append(where, condition+place(value))
		}
	}
	must(filter.Status != "", "status = ", filter.Status)
	must(filter.Platform != "", "platform = ", filter.Platform)
	must(filter.ExternalID != "", "external_hash = ", externalHash(filter.ExternalID))
	must(!filter.CreatedFrom.IsZero(), "created_at >= ", upMillis(filter.CreatedFrom))
	must(!filter.CreatedTo.IsZero(), "created_at < ", upMillis(filter.CreatedTo))
	must(!filter.JoinFrom.IsZero(), "join_at >= ", upMillis(filter.JoinFrom))
	must(!filter.JoinTo.IsZero(), "join_at < ", upMillis(filter.JoinTo))
	if after != (job.Cursor{}) {
		where = append(where, "(created_at, id) < ("+place(millis(after.CreatedAt))+", "+place(after.ID)+")")
	}
	order := "created_at DESC, id DESC"
	if !filter.JoinFrom.IsZero() || !filter.JoinTo.IsZero() {
		// The sum keeps a planner from walking all of jobs_created in its order
		// to meet the few jobs of a narrow time; jobs_join holds what it needs.
		order = "created_at + 0 DESC, id DESC"
	}
	return `SELECT ` + jobColumns + ` FROM jobs WHERE id IN (
			SELECT id FROM jobs WHERE ` + strings.Join(where, " AND ") + ` ORDER BY ` + order + ` LIMIT ` + place(limit) + `)
		ORDER BY created_at DESC, id DESC`, args
}

// upMillis is a bound as it is compared with kept times: a part of a
// millisecond counts as a whole, so that what lies before the bound stays before.
func upMillis(t time.Time) int64 {
	return millis(t.Add(time.Millisecond - time.Nanosecond))
}
