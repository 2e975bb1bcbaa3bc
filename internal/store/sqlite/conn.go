package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"standin/internal/store/sqldb"
)

// handle is the common part of *sql.DB and *sql.Conn.
type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// conn implements sqldb.Conn.
type conn struct{ handle }

// Exec implements sqldb.Conn.
func (c conn) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	affected := make([]int64, len(statements))
	for i, s := range statements {
		result, err := c.ExecContext(ctx, s.Query, s.Args...)
		if err != nil {
			return nil, err
		}
		if affected[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return affected, nil
}

// Query implements sqldb.Conn.
func (c conn) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	return c.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // the caller does
}

// tx implements sqldb.Conn in a transaction that several writes share.
type tx struct {
	conn    conn
	failure error // of a statement, after which SQLite may have rolled back
}

// Exec implements sqldb.Conn.
func (t *tx) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	affected, err := t.conn.Exec(ctx, statements...)
	t.failure = cmp.Or(t.failure, err)
	return affected, err
}

// Query implements sqldb.Conn.
func (t *tx) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	rows, err := t.conn.Query(ctx, query, args...)
	t.failure = cmp.Or(t.failure, err)
	return rows, err
}
