package store

import (
	"context"
	"time"

	"standin/internal/store/sqldb"
)

// Row is a row of a query.
type Row = sqldb.Row

// Rows runs a query of a package that has its own tables, and returns its rows.
func Rows[T any](ctx context.Context, db *Reader, action string, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	return list(ctx, db, action, func(r row, value *T) (err error) {
		*value, err = scan(r)
		return err
	}, query, args...)
}

// Exec runs a statement of a package that has its own tables, and returns the number of affected rows.
func (tx *Tx) Exec(ctx context.Context, action, query string, args ...any) (int64, error) {
	return tx.affected(ctx, action, query, args...)
}

// SkipLocked ends a query for rows that no other transaction has locked, and locks them.
func (tx *Tx) SkipLocked() string { return tx.dialect.SkipLocked }

// NullTime is a time as stored, NULL if it is unset.
func NullTime(t time.Time) any { return nullMillis(t) }
