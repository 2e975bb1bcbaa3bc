package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"standin/internal/job"
	"standin/internal/store/sqldb"
)

// Reader reads the database: outside of transactions as part of a Store, and in one
// as part of a Tx.
type Reader struct {
	conn    sqldb.Conn
	dialect *sqldb.Dialect
}

// Tx is a transaction, which Store.Write begins and ends.
type Tx struct{ Reader }

// exec runs a statement, and returns the number of affected rows.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.conn.Exec(ctx, query, args...)
}

// execAll runs statements with the same arguments. action is what failed.
func (tx *Tx) execAll(ctx context.Context, action string, statements []string, args ...any) error {
	for _, statement := range statements {
		if _, err := tx.conn.Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("%s: %w", action, err)
		}
	}
	return nil
}

func (db *Reader) queryRow(ctx context.Context, query string, args ...any) sqldb.Row {
	return db.conn.QueryRow(ctx, query, args...)
}

// forEach runs a query and calls scan, which must not run statements, for each row.
func (db *Reader) forEach(ctx context.Context, scan func(sqldb.Row) error, query string, args ...any) error {
	rows, err := db.conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // Err returns its error
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list runs a query and returns its rows.
func list[T any](ctx context.Context, db *Reader, scan func(sqldb.Row) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := db.forEach(ctx, func(row sqldb.Row) error {
		value, err := scan(row)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// one scans the single row of a query for an entity. Without a row the error is a
// *job.Error with NotFound.
func one[T any](row sqldb.Row, scan func(sqldb.Row) (T, error), entity string) (T, error) {
	var none T
	value, err := scan(row)
	if errors.Is(err, sql.ErrNoRows) {
		return none, notFound(entity)
	}
	if err != nil {
		return none, fmt.Errorf("read %s: %w", entity, err)
	}
	return value, nil
}

// maxPageBytes bounds the size of a page: the metadata of a single job may be as
// large as a request body.
const maxPageBytes = 1 << 20

// errPageFull stops reading a page that has reached its limit.
var errPageFull = errors.New("the page is full")

// page returns up to limit rows of a query for limit+1, and whether there are more.
// It ends early at maxPageBytes as counted by size.
func page[T any](ctx context.Context, db *Reader, limit int, scan func(sqldb.Row) (T, error), size func(T) int, query string, args ...any) ([]T, bool, error) {
	values, total := make([]T, 0, min(limit, 20)), 0
	err := db.forEach(ctx, func(row sqldb.Row) error {
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
	}, query, args...)
	if errors.Is(err, errPageFull) {
		return values, true, nil
	}
	return values, false, err
}

// extraColumns scans columns that follow those of another scan function.
type extraColumns struct {
	row   sqldb.Row
	extra []any
}

// Scan implements sqldb.Row.
func (e extraColumns) Scan(columns ...any) error { return e.row.Scan(append(columns, e.extra...)...) }

// scanColumn scans a row of a single column.
func scanColumn[T any](row sqldb.Row) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// firstText returns the text in the first row of a query; empty without a row.
func (db *Reader) firstText(ctx context.Context, query string, args ...any) (string, error) {
	texts, err := list(ctx, db, scanColumn[string], query, args...)
	if err != nil || len(texts) == 0 {
		return "", err
	}
	return texts[0], nil
}

// changeConsumer runs a statement for one consumer in its own transaction. It returns
// a *job.Error with NotFound if there is no such consumer.
func (s *Store) changeConsumer(ctx context.Context, query string, args ...any) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		n, err := tx.exec(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("change consumer: %w", err)
		}
		if n == 0 {
			return notFound("consumer")
		}
		return nil
	})
}

func notFound(entity string) error {
	return &job.Error{Code: job.NotFound, Message: "no such " + entity}
}

// jsonArray returns texts as the argument of the condition Dialect.In.
func jsonArray[T any](texts []T) string {
	encoded, _ := json.Marshal(append([]T{}, texts...)) // never null; texts and IDs can always be encoded
	return string(encoded)
}
