package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"standin/internal/store/sqldb"
)

// handle is the common part of *pgxpool.Pool and pgx.Tx.
type handle interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// conn implements sqldb.Conn.
type conn struct{ handle handle }

// Exec implements sqldb.Conn.
func (c conn) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	if len(statements) == 0 {
		return nil, nil
	}
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.Query, s.Args...)
	}
	results := c.handle.SendBatch(ctx, batch)
	affected := make([]int64, len(statements))
	for i := range statements {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // the same error
			return nil, err
		}
		affected[i] = tag.RowsAffected()
	}
	return affected, results.Close()
}

// Query implements sqldb.Conn.
func (c conn) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	found, err := c.handle.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return rows{found}, nil
}

// rows implements sqldb.Rows.
type rows struct{ pgx.Rows }

// Scan implements sqldb.Row.
func (r rows) Scan(columns ...any) error {
	for i, column := range columns {
		if into, ok := column.(*bool); ok {
			columns[i] = flag{into}
		}
	}
	return r.Rows.Scan(columns...)
}

// Close implements sqldb.Rows.
func (r rows) Close() error {
	r.Rows.Close()
	return nil
}

// flag scans a number or a condition into a bool.
type flag struct{ into *bool }

// Scan implements sql.Scanner.
func (f flag) Scan(value any) error {
	switch set := value.(type) {
	case bool:
		*f.into = set
	case int64:
		*f.into = set != 0
	default:
		return fmt.Errorf("scan a flag: got %T", value)
	}
	return nil
}
