package store

import (
	"context"

	"standin/internal/store/sqldb"
)

// Explained returns a store on the same SQLite database, and the steps of the plans of
// the queries that it has run.
func (s *Store) Explained() (*Store, *[]string) {
	steps := &[]string{}
	return &Store{
		Reader: &Reader{explainer{s.conn, steps}, s.dialect}, db: explainedDB{s.db, steps}, sqlite: s.sqlite,
	}, steps
}

type explainedDB struct {
	database
	steps *[]string
}

func (d explainedDB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	return d.database.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error { return fn(ctx, explainer{conn, d.steps}) })
}

// explainer explains queries before it runs them.
type explainer struct {
	sqldb.Conn
	steps *[]string
}

func (e explainer) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	plain := Reader{conn: e.Conn}
	err := plain.forEach(ctx, "explain a query", func(r row) error {
		var id, parent, unused int
		var step string
		err := r.Scan(&id, &parent, &unused, &step)
		*e.steps = append(*e.steps, step)
		return err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		return nil, err
	}
	return e.Conn.Query(ctx, query, args...)
}
