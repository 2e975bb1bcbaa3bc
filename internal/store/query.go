package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store/sqldb"
)

// Reader reads the database: outside of transactions as part of a Store, and in one
// as part of a Tx.
type Reader struct {
	conn    sqldb.Conn
	dialect *sqldb.Dialect
}

// Tx is a transaction, which Store.Write begins and ends.
type Tx struct{ *Reader }

// exec runs a statement. Like all functions below, it begins its error with the action that
// failed.
func (tx *Tx) exec(ctx context.Context, action, query string, args ...any) error {
	_, err := tx.Affected(ctx, action, query, args...)
	return err
}

// Affected runs a statement, and returns the number of affected rows.
func (tx *Tx) Affected(ctx context.Context, action, query string, args ...any) (int64, error) {
	affected, err := tx.execBatch(ctx, action, batch{{Query: query, Args: stored(args)}})
	if err != nil {
		return 0, err
	}
	return affected[0], nil
}

// execAll runs statements with the same arguments.
func (tx *Tx) execAll(ctx context.Context, action string, statements []string, args ...any) error {
	for _, statement := range statements {
		if err := tx.exec(ctx, action, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// batch is statements for execBatch.
type batch []sqldb.Statement

func (b *batch) add(query string, args ...any) {
	*b = append(*b, sqldb.Statement{Query: query, Args: stored(args)})
}

// execBatch runs statements in one round trip, and returns the number of affected rows of each.
func (tx *Tx) execBatch(ctx context.Context, action string, statements batch) ([]int64, error) {
	affected, err := tx.conn.Exec(ctx, statements...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return affected, nil
}

// exec runs a statement in its own transaction.
func (s *Store) exec(ctx context.Context, action, query string, args ...any) error {
	_, err := s.affected(ctx, action, query, args...)
	return err
}

// affected runs a statement in its own transaction, and returns the number of affected rows.
func (s *Store) affected(ctx context.Context, action, query string, args ...any) (affected int64, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		affected, err = tx.Affected(ctx, action, query, args...)
		return err
	})
	return affected, err
}

// change runs a statement for an entity in its own transaction. It returns a *job.Error with
// NotFound if the statement affects no row.
func (s *Store) change(ctx context.Context, entity, query string, args ...any) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.change(ctx, entity, query, args...) })
}

// change runs a statement for an entity. It returns a *job.Error with NotFound if the
// statement affects no row.
func (tx *Tx) change(ctx context.Context, entity, query string, args ...any) error {
	n, err := tx.Affected(ctx, "change "+entity, query, args...)
	if err == nil && n == 0 {
		return notFound(entity)
	}
	return err
}

// queryRow returns the only row of a query, which runs when the row is scanned. Without one, the error
// is sql.ErrNoRows.
func (db *Reader) queryRow(ctx context.Context, action, query string, args ...any) row {
	return row{onlyRow(func(columns ...any) error {
		found := false
		err := db.forEach(ctx, action, func(r row) error {
			found = true
			return r.Row.Scan(columns...)
		}, query, args...)
		if err == nil && !found {
			err = fmt.Errorf("%s: %w", action, sql.ErrNoRows)
		}
		return err
	}), nil}
}

// onlyRow runs a query that has one row, and scans that.
type onlyRow func(columns ...any) error

// Scan implements sqldb.Row.
func (r onlyRow) Scan(columns ...any) error { return r(columns...) }

// forEach runs a query and calls scan, which must not run statements, for each row.
func (db *Reader) forEach(ctx context.Context, action string, scan func(row) error, query string, args ...any) error {
	rows, err := db.conn.Query(ctx, query, stored(args)...)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	defer rows.Close() // Err returns its error
	for err == nil && rows.Next() {
		err = scan(row{rows, nil})
	}
	if err = cmp.Or(err, rows.Err()); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}

// Row is a row of a query, for packages that have their own tables.
type Row = row

// List runs a query and returns its rows.
func List[T any](ctx context.Context, db *Reader, action string, scan func(Row, *T) error, query string, args ...any) ([]T, error) {
	var all []T
	err := db.forEach(ctx, action, func(r row) error {
		all = append(all, *new(T))
		return scan(r, &all[len(all)-1])
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// first returns the first row of a query; false without one.
func first[T any](ctx context.Context, db *Reader, action string, scan func(row, *T) error, query string,
	args ...any) (value T, ok bool, err error) {
	all, err := List(ctx, db, action, scan, query, args...)
	if err != nil || len(all) == 0 {
		return value, false, err
	}
	return all[0], true, nil
}

// queryOne returns the single row of a query for an entity. Without a row the error is a
// *job.Error with NotFound.
func queryOne[T any](ctx context.Context, db *Reader, entity string, scan func(row, *T) error, query string,
	args ...any) (value T, err error) {
	if err = scan(db.queryRow(ctx, "read "+entity, query, args...), &value); errors.Is(err, sql.ErrNoRows) {
		err = notFound(entity)
	}
	return value, err
}

// queryValue returns the only value of a query.
func queryValue[T any](ctx context.Context, db *Reader, action, query string, args ...any) (value T, err error) {
	err = db.queryRow(ctx, action, query, args...).Scan(&value)
	return value, err
}

// conditions are conditions of a query that depend on a filter, and the arguments of the query.
type conditions struct {
	text string // begins with AND
	args []any
}

// arg adds an argument, and returns its placeholder.
func (c *conditions) arg(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

// and adds a condition, which has a %s for the placeholder of each value.
func (c *conditions) and(condition string, values ...any) {
	placeholders := make([]any, len(values))
	for i, value := range values {
		placeholders[i] = c.arg(value)
	}
	c.text += " AND " + fmt.Sprintf(condition, placeholders...)
}

// within adds the condition that a column of times is not before from and is before to, where
// the zero time sets no bound.
func (c *conditions) within(column string, from, to time.Time) {
	if !from.IsZero() {
		c.and(column+" >= %s", ceilMillis(from))
	}
	if !to.IsZero() {
		c.and(column+" < %s", ceilMillis(to))
	}
}

// maxPageBytes bounds the size of a page: the metadata of a single job may be as
// large as a request body.
const maxPageBytes = 1 << 20

// errPageFull stops reading a page that has reached its limit.
var errPageFull = errors.New("the page is full")

// page returns up to limit rows of a query for limit+1, and whether there are more.
// It ends early at maxPageBytes as counted by size.
func page[T any](ctx context.Context, db *Reader, action string, limit int, scan func(row, *T) error, size func(T) int,
	query string, args ...any) ([]T, bool, error) {
	values, total, more := make([]T, 0, min(limit, 20)), 0, false
	err := db.forEach(ctx, action, func(r row) error {
		var value T
		if err := scan(r, &value); err != nil {
			return err
		}
		total += size(value)
		if more = len(values) == limit || len(values) > 0 && total > maxPageBytes; more {
			return errPageFull
		}
		values = append(values, value)
		return nil
	}, query, args...)
	if err != nil && !more {
		return nil, false, err
	}
	return values, more, nil
}

// unboundedSize is the size of rows of which a page may have any number.
func unboundedSize[T any](T) int { return 0 }

// scanColumn scans a row of a single column.
func scanColumn[T any](r row, value *T) error { return r.Scan(value) }

func notFound(entity string) error {
	return job.NewError(job.NotFound, "no such "+entity)
}

// jsonArray returns texts as the argument of the condition Dialect.In.
func jsonArray[T any](texts []T) string {
	encoded, _ := json.Marshal(append([]T{}, texts...)) // never null; texts and IDs can always be encoded
	return string(encoded)
}

// stored returns arguments as the databases store them: times and durations in milliseconds, the former
// since 1970 UTC, booleans as 0 and 1, and JSON as text. Unset times are NULL: see NullTime.
func stored(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case time.Time:
			args[i] = arg.UnixMilli()
		case time.Duration:
			args[i] = arg.Milliseconds()
		case *time.Duration:
			if args[i] = nil; arg != nil {
				args[i] = arg.Milliseconds()
			}
		case json.RawMessage:
			args[i] = string(arg)
		case bool:
			if args[i] = 0; arg {
				args[i] = 1
			}
		}
	}
	return args
}

// row is a row of a query. Its Scan is the inverse of stored.
type row struct {
	sqldb.Row
	more []any // columns that follow those of Scan
}

// with returns the row for a scan function that does not know its last columns.
func (r row) with(columns ...any) row { return row{r.Row, append(columns, r.more...)} }

// Scan implements sqldb.Row.
func (r row) Scan(columns ...any) error {
	columns = append(columns, r.more...)
	for i, column := range columns {
		switch column := column.(type) {
		case *time.Time:
			columns[i] = timeColumn{column}
		case *time.Duration:
			columns[i] = durationColumn{&column}
		case **time.Duration:
			columns[i] = durationColumn{column}
		case *json.RawMessage:
			columns[i] = jsonColumn{column}
		}
	}
	return r.Row.Scan(columns...)
}

// NullTime is a time as stored, NULL if it is unset.
func NullTime(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// nullID is an ID as stored, NULL if it is unset.
func nullID(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: id != uuid.Nil} }

// SkipLocked ends a query for rows that no other transaction has locked, and locks them.
func (tx *Tx) SkipLocked() string { return tx.dialect.SkipLocked }

// ceilMillis rounds a bound up to milliseconds, the precision of stored times,
// so that times before the bound stay before it.
func ceilMillis(t time.Time) int64 { return t.Add(time.Millisecond - time.Nanosecond).UnixMilli() }

// timeColumn scans a column of milliseconds into a time. NULL is the zero time.
type timeColumn struct{ *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(value any) error {
	switch ms := value.(type) {
	case nil:
		*c.Time = time.Time{}
	case int64:
		*c.Time = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("scan a time: got %T", value)
	}
	return nil
}

// durationColumn scans a column of milliseconds into a duration. NULL is nil.
type durationColumn struct{ into **time.Duration }

// Scan implements sql.Scanner.
func (c durationColumn) Scan(value any) error {
	switch ms := value.(type) {
	case nil:
		*c.into = nil
	case int64:
		if *c.into == nil {
			*c.into = new(time.Duration)
		}
		**c.into = time.Duration(ms) * time.Millisecond
	default:
		return fmt.Errorf("scan a duration: got %T", value)
	}
	return nil
}

// jsonValue is the argument for a column of JSON.
type jsonValue struct{ value any }

// Value implements driver.Valuer.
func (v jsonValue) Value() (driver.Value, error) {
	encoded, err := json.Marshal(v.value)
	return string(encoded), err
}

// jsonColumn decodes a column of JSON into what it points to. An empty text changes nothing.
type jsonColumn struct{ into any }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(value any) error {
	var encoded []byte
	switch text := value.(type) {
	case string:
		encoded = []byte(text)
	case []byte:
		encoded = text
	default:
		return fmt.Errorf("scan JSON: got %T", value)
	}
	if len(encoded) == 0 {
		return nil
	}
	if raw, ok := c.into.(*json.RawMessage); ok { // whoever decodes it notices damage
		*raw = bytes.Clone(encoded)
		return nil
	}
	return json.Unmarshal(encoded, c.into)
}
