package store

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"standin/internal/job"
)

// JobListPlan returns SQLite's query plan for the query of ListJobs that finds the
// page, one step per line.
func (q *Queries) JobListPlan(ctx context.Context, consumer uuid.UUID, mode job.Mode, filter job.Filter, after job.Cursor, limit int) (string, error) {
	query, args, _ := q.jobsQuery(consumer, mode, filter, after, limit)
	inner := strings.Contains(query, " IN (SELECT")
	return q.explain(ctx, query, args, func(parent int) bool { return !inner || parent != 0 })
}

// QueryPlan returns SQLite's query plans for the statements of fn, one step per line.
func (q *Queries) QueryPlan(ctx context.Context, fn func(*Queries) error) (string, error) {
	kept := &recorder{conn: q.conn}
	if err := fn(&Queries{conn: kept, in: q.in, selects: q.selects}); err != nil {
		return "", err
	}
	var plans []string
	for _, recorded := range kept.queries {
		plan, err := q.explain(ctx, recorded.query, recorded.args, func(int) bool { return true })
		if err != nil {
			return "", err
		}
		plans = append(plans, plan)
	}
	return strings.Join(plans, "\n"), nil
}

// explain returns the steps of a query plan whose parents want selects.
func (q *Queries) explain(ctx context.Context, query string, args []any, want func(parent int) bool) (string, error) {
	var steps []string
	err := q.forEach(ctx, func(row scanner) error {
		var id, parent, unused int
		var step string
		err := row.Scan(&id, &parent, &unused, &step)
		if want(parent) {
			steps = append(steps, step)
		}
		return err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	return strings.Join(steps, "\n"), err
}

// recorder is a connection that records its statements.
type recorder struct {
	conn
	queries []recordedQuery
}

type recordedQuery struct {
	query string
	args  []any
}

func (r *recorder) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r.queries = append(r.queries, recordedQuery{query, args})
	return r.conn.exec(ctx, query, args...)
}

func (r *recorder) query(ctx context.Context, query string, args ...any) (rows, error) {
	r.queries = append(r.queries, recordedQuery{query, args})
	return r.conn.query(ctx, query, args...)
}

func (r *recorder) queryRow(ctx context.Context, query string, args ...any) scanner {
	r.queries = append(r.queries, recordedQuery{query, args})
	return r.conn.queryRow(ctx, query, args...)
}
