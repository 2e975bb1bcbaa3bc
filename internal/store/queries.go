package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/job"
)

// Queries runs the statements of this package: in a transaction when passed to
// the function of a Write, outside of transactions when embedded in a Store.
type Queries struct {
	conn      conn
	forUpdate string // clause that locks the selected rows until the transaction ends
	skip      string // like forUpdate, skipping rows that another transaction has locked
	in        string // condition that an ID is in a list, which is $1: see joinIDs
	spoken    spokenIndex
	selects   selectLists
}

// conn runs statements: on a database, or in a transaction.
type conn interface {
	// exec returns the number of affected rows.
	exec(ctx context.Context, query string, args ...any) (int64, error)
	query(ctx context.Context, query string, args ...any) (rows, error)
	queryRow(ctx context.Context, query string, args ...any) scanner
}

// rows are the rows of a query.
type rows interface {
	scanner
	Next() bool
	Err() error
	Close() error
}

// deferringConn is a conn that can run statements later.
type deferringConn interface {
	conn
	// execLater queues a statement. done gets its number of affected rows or its
	// error, and returns the error of the transaction.
	execLater(done func(int64, error) error, query string, args ...any)
	// forEachLater queues a query. scan gets its rows, then done the error.
	forEachLater(scan func(scanner) error, done func(int64, error) error, query string, args ...any)
	// insertLater queues the insertion of a row. Rows of the same insertion become
	// one statement, in the place of the first.
	insertLater(into *insertion, row []any)
	// findLater queues the lookup of a row. found is called if it exists. The rows of
	// a lookup become one query, in the place of the first.
	findLater(in *lookup, row []any, found func())
	// flush sends what was queued.
	flush() error
}

// scanner is a single row or the current row of many.
type scanner interface{ Scan(...any) error }

func (q *Queries) queryRow(ctx context.Context, query string, args ...any) scanner {
	return q.conn.queryRow(ctx, query, args...)
}

// exec runs a statement and returns the number of affected rows.
func (q *Queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return q.conn.exec(ctx, query, args...)
}

// execLater is like exec for a statement whose result nothing depends on. done
// gets the result, and returns the error to report. On PostgreSQL the statement
// is sent together with the next one of its transaction, or with the commit,
// which saves a round trip. execLater then returns nil, and an error of done is
// the error of the transaction.
func (q *Queries) execLater(ctx context.Context, done func(int64, error) error, query string, args ...any) error {
	if deferring, ok := q.conn.(deferringConn); ok {
		deferring.execLater(done, query, args...)
		return nil
	}
	return done(q.conn.exec(ctx, query, args...))
}

// insertLater is like execLater for the insertion of a row. On PostgreSQL it is one
// statement for all rows that a transaction inserts into a table before its next
// Flush or the commit.
func (q *Queries) insertLater(ctx context.Context, into *insertion, row ...any) error {
	if deferring, ok := q.conn.(deferringConn); ok {
		deferring.insertLater(into, row)
		return nil
	}
	_, err := q.conn.exec(ctx, into.one, row...)
	return into.done(0, err)
}

// findLater calls found if a row exists, in a transaction by the end of the next
// Flush. On PostgreSQL the rows that it looks up before then are one query.
func (q *Queries) findLater(ctx context.Context, in *lookup, found func(), row ...any) error {
	if deferring, ok := q.conn.(deferringConn); ok {
		deferring.findLater(in, row, found)
		return nil
	}
	return in.done(0, q.forEach(ctx, func(scanner) error { found(); return nil }, in.one, row...))
}

// forEachLater is like forEach for a query whose rows nothing in the transaction
// depends on before the next Flush. done is like that of execLater. Without a
// Flush, scan is called before Write returns.
func (q *Queries) forEachLater(ctx context.Context, scan func(scanner) error, done func(int64, error) error, query string, args ...any) error {
	if deferring, ok := q.conn.(deferringConn); ok {
		deferring.forEachLater(scan, done, query, args...)
		return nil
	}
	return done(0, q.forEach(ctx, scan, query, args...))
}

// Flush runs the statements that were to be sent later.
func (q *Queries) Flush(context.Context) error {
	if deferring, ok := q.conn.(deferringConn); ok {
		return deferring.flush()
	}
	return nil
}

// doing returns a function for execLater that says what failed.
func doing(format string, args ...any) func(int64, error) error {
	return func(_ int64, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
		}
		return nil
	}
}

// expect is like doing for a statement that changes a number of rows.
func expect(rows int, format string, args ...any) func(int64, error) error {
	return func(n int64, err error) error {
		if err == nil && n != int64(rows) {
			err = fmt.Errorf("%d of %d rows exist", n, rows)
		}
		return doing(format, args...)(n, err)
	}
}

// forEach runs a query and calls scan, which must not run statements, for each
// row.
func (q *Queries) forEach(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	return q.read(ctx, func(found rows) error { return scanAll(found, scan) }, query, args...)
}

// gather runs a query that takes a few milliseconds at most. On PostgreSQL it is
// sent together with the queries of other callers. read gets its rows, and may
// be called more than once.
func (q *Queries) gather(ctx context.Context, read func(rows) error, query string, args ...any) error {
	if gathering, ok := q.conn.(gatheringConn); ok {
		return gathering.gather(ctx, read, query, args...)
	}
	return q.read(ctx, read, query, args...)
}

// read runs a query and calls read with its rows.
func (q *Queries) read(ctx context.Context, read func(rows) error, query string, args ...any) error {
	found, err := q.conn.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return read(found)
}

// scanAll calls scan for each row and closes the rows.
func scanAll(rows rows, scan func(scanner) error) error {
	defer rows.Close() // Err returns its error
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list runs a query and returns its rows.
func list[T any](ctx context.Context, q *Queries, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := q.forEach(ctx, func(row scanner) error {
		value, err := scan(row)
		all = append(all, value)
		return err
	}, query, args...)
	return all, err
}

// one scans the single row of a query for an entity. Without a row the error is
// a *job.Error with NotFound.
func one[T any](row scanner, scan func(scanner) (T, error), entity string) (T, error) {
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

// extraColumns scans columns that follow those of another scan function.
type extraColumns struct {
	row   scanner
	extra []any
}

// Scan implements scanner.
func (e extraColumns) Scan(columns ...any) error { return e.row.Scan(append(columns, e.extra...)...) }

// scanColumn scans a row of a single column.
func scanColumn[T any](row scanner) (value T, err error) {
	err = row.Scan(&value)
	return value, err
}

// changeConsumer runs a statement for one consumer in its own transaction. It returns
// a *job.Error with NotFound if there is no such consumer.
func (s *Store) changeConsumer(ctx context.Context, query string, args ...any) error {
	return s.Write(ctx, func(q *Queries) error {
		n, err := q.exec(ctx, query, args...)
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

// Conditions that an ID is one of joinIDs, for any number of IDs with the same
// statement. See preferIndexes for the array that is a subquery.
const (
	inSQLite   = `IN (SELECT value FROM json_each('["' || replace($1, ',', '","') || '"]'))`
	inPostgres = `= ANY((SELECT string_to_array($1, ','))::text[])` // without the cast it compares with rows
)

// joinIDs returns the argument of such a condition.
func joinIDs(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}

// batchSizes are the numbers of rows that one statement covers. They are few,
// so that the databases can reuse prepared statements, and small, because
// SQLite looks up each placeholder among all others of its statement.
var batchSizes = [...]int{32, 8, 4, 2, 1}

// batchSize returns how many of n rows the next statement covers.
func batchSize(n int) int {
	for _, size := range batchSizes {
		if n >= size {
			return size
		}
	}
	return 0
}

// batches divides rows into those of single statements.
func batches[T any](q *Queries, rows []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for rest := rows; len(rest) > 0; {
			size := len(rest)
			if !q.takesArrays() {
				size = batchSize(size)
			}
			if !yield(rest[:size]) {
				return
			}
			rest = rest[size:]
		}
	}
}

// inBatches calls run for batches of ids. placeholders are the numbers of the
// ids in the statement, after those of args; all holds args and ids.
func inBatches(ids []string, args []any, run func(placeholders string, all []any) error) error {
	for size := batchSize(len(ids)); size > 0; size = batchSize(len(ids)) {
		all := append(make([]any, 0, len(args)+size), args...)
		placeholders := make([]string, size)
		for i, id := range ids[:size] {
			all = append(all, id)
			placeholders[i] = fmt.Sprintf("$%d", len(all))
		}
		if err := run(strings.Join(placeholders, ", "), all); err != nil {
			return err
		}
		ids = ids[size:]
	}
	return nil
}

// update runs an update of rows by their ids: on PostgreSQL one statement, which
// is sent with the next one, otherwise in batches.
func (q *Queries) update(ctx context.Context, ids []string, args []any, statement func(placeholders string) string) error {
	if len(ids) > 0 && q.takesArrays() {
		placeholders := fmt.Sprintf("SELECT unnest((SELECT $%d::text[]))", len(args)+1)
		return q.execLater(ctx, doing("update %d rows", len(ids)), statement(placeholders), append(slices.Clone(args), ids)...)
	}
	return inBatches(ids, args, func(placeholders string, all []any) error {
		_, err := q.exec(ctx, statement(placeholders), all...)
		return err
	})
}

// preferIndexes makes PostgreSQL use indexes for the statements of the transaction.
// Plans are kept: one for a table that is still small reads all of it, also when
// the table has grown.
//
// An array that is passed as (SELECT $1::text[]) has the same estimated length in
// every plan, so that PostgreSQL does not plan statements with short ones anew.
func (q *Queries) preferIndexes(ctx context.Context) error {
	if !q.takesArrays() {
		return nil
	}
	return q.execLater(ctx, doing("prefer indexes"), `SELECT set_config('enable_seqscan', 'off', true),
		set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`)
}

// takesArrays reports whether an argument can be an array.
func (q *Queries) takesArrays() bool { return q.in == inPostgres }
