package store

import (
	"context"
	"strings"
	"time"

	"standin/internal/webhook"
)

// GatheredNumber runs a query of one number together with other gathered reads.
func (s *Store) GatheredNumber(ctx context.Context, query string, args ...any) (number int64, err error) {
	err = s.gather(ctx, func(found rows) error {
		return scanAll(found, func(row scanner) error { return row.Scan(&number) })
	}, query, args...)
	return number, err
}

// ReadJobsPlan returns PostgreSQL's plan of a statement for many jobs.
func (s *Store) ReadJobsPlan(ctx context.Context) (string, error) {
	steps, err := list(ctx, s.Queries, scanColumn[string], `EXPLAIN `+readJobsQuery, []string{"a", "b"})
	return strings.Join(steps, "\n"), err
}

// Analyze collects PostgreSQL's statistics of the jobs.
func (s *Store) Analyze(ctx context.Context) error {
	_, err := s.exec(ctx, `ANALYZE jobs`)
	return err
}

// CustomPlans returns how often PostgreSQL planned each prepared statement of a
// connection anew for its arguments.
func (s *Store) CustomPlans(ctx context.Context) (map[string]int64, error) {
	plans := make(map[string]int64)
	err := s.forEach(ctx, func(row scanner) error {
		var statement string
		var count int64
		err := row.Scan(&statement, &count)
		plans[statement] = count
		return err
	}, `SELECT statement, custom_plans FROM pg_prepared_statements`)
	return plans, err
}

// RecordPlan returns PostgreSQL's plan of an update of deliveries.
func (s *Store) RecordPlan(ctx context.Context) (plan string, err error) {
	err = s.Write(ctx, func(q *Queries) error {
		if err := q.preferIndexes(ctx); err != nil {
			return err
		}
		verdicts, args := q.table([][]any{{"a"}, {"b"}}, "TEXT")
		steps, err := list(ctx, q, scanColumn[string], `EXPLAIN UPDATE deliveries SET lease = '' FROM `+verdicts+` WHERE id = v.column1`, args...)
		plan = strings.Join(steps, "\n")
		return err
	})
	return plan, err
}

// LeasePlan returns PostgreSQL's plan of an insertion of leased deliveries.
func (s *Store) LeasePlan(ctx context.Context) (plan string, err error) {
	err = s.Write(ctx, func(q *Queries) error {
		if err := q.preferIndexes(ctx); err != nil {
			return err
		}
		d := newDeliveryValues(webhook.Delivery{}, time.Time{})
		query, args := waitingStatement{in: leasedDeliveries, rows: [][]any{d, d}}.text()
		steps, err := list(ctx, q, scanColumn[string], `EXPLAIN `+query, args...)
		plan = strings.Join(steps, "\n")
		return err
	})
	return plan, err
}
