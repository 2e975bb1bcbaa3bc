package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresPool runs each statement on any connection, outside of transactions.
type postgresPool struct{ pool *pgxpool.Pool }

// exec implements conn.
func (p postgresPool) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := p.pool.Exec(ctx, query, args...)
	return tag.RowsAffected(), err
}

// query implements conn.
func (p postgresPool) query(ctx context.Context, query string, args ...any) (rows, error) {
	found, err := p.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return postgresRows{Rows: found}, nil
}

// queryRow implements conn.
func (p postgresPool) queryRow(ctx context.Context, query string, args ...any) scanner {
	found, err := p.query(ctx, query, args...)
	return postgresRow{found, err}
}

// postgresTx is a transaction. Its first statement is sent with BEGIN, and
// statements whose results nothing depends on with the next one or with COMMIT,
// so that a transaction takes few round trips. It ignores the contexts of callers:
// interrupting a statement makes pgx close the connection. Statements are bounded
// by the context of the transaction instead.
type postgresTx struct {
	conn    *pgx.Conn
	ctx     context.Context // ends with the transaction
	started bool            // BEGIN was sent
	waiting []waitingStatement
}

// waitingStatement is a statement to be sent with the next one.
type waitingStatement struct {
	query string
	args  []any
	scan  func(scanner) error // of a query; nil for other statements
	done  func(int64, error) error

	into  *insertion // nil for other statements
	in    *lookup    // nil for other statements
	rows  [][]any    // that it inserts or looks up
	found []func()   // for the rows that it looks up
}

func newPostgresTx(ctx context.Context, connection *pgx.Conn) *postgresTx {
	t := &postgresTx{conn: connection, ctx: ctx}
	t.execLater(doing("begin a transaction"), `BEGIN`)
	return t
}

// execLater implements deferringConn.
func (t *postgresTx) execLater(done func(int64, error) error, query string, args ...any) {
	t.waiting = append(t.waiting, waitingStatement{query: query, args: args, done: done})
}

// forEachLater implements deferringConn.
func (t *postgresTx) forEachLater(scan func(scanner) error, done func(int64, error) error, query string, args ...any) {
	t.waiting = append(t.waiting, waitingStatement{query: query, args: args, scan: scan, done: done})
}

// insertLater implements deferringConn.
func (t *postgresTx) insertLater(into *insertion, row []any) {
	i := slices.IndexFunc(t.waiting, func(s waitingStatement) bool { return s.into == into })
	if i < 0 {
		i = len(t.waiting)
		t.waiting = append(t.waiting, waitingStatement{into: into, done: into.done})
	}
	t.waiting[i].rows = append(t.waiting[i].rows, row)
}

// findLater implements deferringConn.
func (t *postgresTx) findLater(in *lookup, row []any, found func()) {
	i := slices.IndexFunc(t.waiting, func(s waitingStatement) bool { return s.in == in })
	if i < 0 {
		i = len(t.waiting)
		t.waiting = append(t.waiting, waitingStatement{in: in, done: in.done})
	}
	t.waiting[i].rows = append(t.waiting[i].rows, row)
	t.waiting[i].found = append(t.waiting[i].found, found)
}

// flush implements deferringConn.
func (t *postgresTx) flush() error {
	if len(t.waiting) == 0 {
		return nil
	}
	results, err := t.send()
	if err != nil {
		return err
	}
	return results.Close()
}

// exec implements conn.
func (t *postgresTx) exec(_ context.Context, query string, args ...any) (int64, error) {
	tag, err := t.run(query, args...)
	return tag.RowsAffected(), err
}

func (t *postgresTx) run(query string, args ...any) (pgconn.CommandTag, error) {
	if len(t.waiting) == 0 {
		return t.conn.Exec(t.ctx, query, args...)
	}
	results, err := t.send(waitingStatement{query: query, args: args})
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	return tag, cmp.Or(err, results.Close())
}

// query implements conn.
func (t *postgresTx) query(_ context.Context, query string, args ...any) (rows, error) {
	if len(t.waiting) == 0 {
		found, err := t.conn.Query(t.ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return postgresRows{Rows: found}, nil
	}
	results, err := t.send(waitingStatement{query: query, args: args})
	if err != nil {
		return nil, err
	}
	found, err := results.Query()
	if err != nil {
		return nil, cmp.Or(err, results.Close())
	}
	return postgresRows{found, results}, nil
}

// queryRow implements conn.
func (t *postgresTx) queryRow(ctx context.Context, query string, args ...any) scanner {
	found, err := t.query(ctx, query, args...)
	return postgresRow{found, err}
}

// send sends the waiting statements and then others, and reads the results of the
// waiting ones.
func (t *postgresTx) send(others ...waitingStatement) (pgx.BatchResults, error) {
	sent := t.waiting
	t.waiting, t.started = nil, true
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(sent)+len(others))}
	for _, statement := range append(sent, others...) {
		query, args := statement.text()
		batch.Queue(query, args...)
	}
	results := t.conn.SendBatch(t.ctx, batch)
	for _, statement := range sent {
		if err := statement.read(results); err != nil {
			_ = results.Close() // the same error
			return nil, err
		}
	}
	return results, nil
}

// text returns the text of the statement and its arguments.
func (s waitingStatement) text() (query string, args []any) {
	switch {
	case s.into != nil && len(s.rows) == 1:
		return s.into.one, s.rows[0]
	case s.into != nil:
		return s.into.many, arraysOf(s.rows)
	case s.in != nil && len(s.rows) == 1:
		return s.in.one, s.rows[0]
	case s.in != nil:
		numbers := make([]int64, len(s.rows))
		for i := range numbers {
			numbers[i] = int64(i)
		}
		return s.in.many, append([]any{numbers}, arraysOf(s.rows)...)
	}
	return s.query, s.args
}

// scanFound calls found for a row of a lookup that exists.
func (s waitingStatement) scanFound(row scanner) error {
	var number int64
	if len(s.rows) > 1 {
		if err := row.Scan(&number); err != nil {
			return err
		}
	}
	s.found[number]()
	return nil
}

// read reads the result of the statement, which is the next one of a batch.
func (s waitingStatement) read(results pgx.BatchResults) error {
	scan := s.scan
	if s.in != nil {
		scan = s.scanFound
	}
	if scan == nil {
		tag, err := results.Exec()
		return s.done(tag.RowsAffected(), err)
	}
	found, err := results.Query()
	if err == nil {
		err = scanAll(postgresRows{Rows: found}, scan)
	}
	return s.done(0, err)
}

// commit commits the transaction.
func (t *postgresTx) commit() error {
	if !t.started && len(t.waiting) == 1 {
		return nil // only BEGIN
	}
	tag, err := t.run(`COMMIT`)
	if err == nil && tag.String() != "COMMIT" {
		err = errors.New("a statement failed, so that the transaction was rolled back")
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// rollback rolls the transaction back unless it has ended.
func (t *postgresTx) rollback() error {
	if !t.started || t.conn.IsClosed() || t.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, `ROLLBACK`)
	return err
}

// postgresRows are the rows of a query.
type postgresRows struct {
	pgx.Rows
	batch pgx.BatchResults // that the query is the last of; nil for none
}

// Scan implements scanner.
func (r postgresRows) Scan(columns ...any) error {
	if known, err := scanBinary(r.FieldDescriptions(), r.RawValues(), columns); known {
		return err
	}
	for i, column := range columns {
		if flag, ok := column.(*bool); ok {
			columns[i] = flagColumn{flag}
		}
	}
	return r.Rows.Scan(columns...)
}

// Close implements rows.
func (r postgresRows) Close() error {
	r.Rows.Close()
	if r.batch != nil {
		return r.batch.Close()
	}
	return nil
}

// postgresRow is the only row of a query.
type postgresRow struct {
	rows rows
	err  error
}

// Scan implements scanner. Without a row the error is sql.ErrNoRows.
func (r postgresRow) Scan(columns ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close() // Err returns its error
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), sql.ErrNoRows)
	}
	if err := r.rows.Scan(columns...); err != nil {
		return err
	}
	return cmp.Or(r.rows.Close(), r.rows.Err())
}
