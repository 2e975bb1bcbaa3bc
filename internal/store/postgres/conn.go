package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"standin/internal/base/batch"
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

const (
	maxLookUps    = 256 // queries that share a round trip
	lookUpTimeout = 5 * time.Second
)

// lookUp is a call of DB.LookUp.
type lookUp struct {
	query string
	args  []any
	scan  func(sqldb.Rows)
}

// LookUp runs a query that finds its rows at once, and calls scan with them, which may do so again.
// Queries that arrive at the same time share a round trip, which takes longer than most of them.
func (db *DB) LookUp(ctx context.Context, query string, args []any, scan func(sqldb.Rows)) error {
	l := &lookUp{query: query, args: args, scan: scan}
	err := db.lookUps[db.next.Add(1)%uint64(len(db.lookUps))].Do(ctx, l)
	if !errors.Is(err, batch.ErrFailed) {
		return err
	}
	found, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer found.Close()
	scan(rows{found})
	return found.Err()
}

func (db *DB) lookUpTogether(ctx context.Context, all []*lookUp) error {
	queries := &pgx.Batch{}
	for _, l := range all {
		queries.Queue(l.query, l.args...).Query(func(found pgx.Rows) error {
			defer found.Close()
			l.scan(rows{found})
			return found.Err()
		})
	}
	err := db.pool.SendBatch(ctx, queries).Close()
	db.resetAfter(err)
	return err
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
