package store

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"sync"
)

// maxPrepared is the maximum number of prepared statements of a database handle.
// The texts of searches and batches vary; the others are about a hundred.
const maxPrepared = 500

// preparer is the common part of *sql.DB and *sql.Conn.
type preparer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// preparedConn is a conn on SQLite that parses each statement once: parsing most
// statements takes longer than running them.
//
// On a *sql.Conn a statement must not run again while its rows are being read.
type preparedConn struct {
	preparer
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

func newPreparedConn(p preparer) *preparedConn {
	return &preparedConn{preparer: p, statements: make(map[string]*sql.Stmt)}
}

// statement returns the prepared statement; nil if it cannot be prepared.
func (c *preparedConn) statement(ctx context.Context, query string) *sql.Stmt {
	c.mu.Lock()
	statement, full := c.statements[query], len(c.statements) >= maxPrepared
	c.mu.Unlock()
	if statement != nil || full {
		return statement
	}
	statement, err := c.PrepareContext(ctx, withoutNumbers(query)) // without the lock: it waits for a connection
	if err != nil {
		return nil // running the text returns the same error
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.statements == nil { // closed
		statement.Close()
		return nil
	}
	if other := c.statements[query]; other != nil {
		statement.Close()
		return other
	}
	c.statements[query] = statement
	return statement
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// withoutNumbers replaces the placeholders of a statement by question marks if they
// are in the order of the arguments. The driver looks up the name of any other
// placeholder each time that the statement runs.
func withoutNumbers(query string) string {
	for i, found := range placeholder.FindAllString(query, -1) {
		if found != "$"+strconv.Itoa(i+1) {
			return query
		}
	}
	return placeholder.ReplaceAllLiteralString(query, "?")
}

// exec implements conn.
func (c *preparedConn) exec(ctx context.Context, query string, args ...any) (int64, error) {
	var result sql.Result
	var err error
	if statement := c.statement(ctx, query); statement != nil {
		result, err = statement.ExecContext(ctx, args...)
	} else {
		result, err = c.ExecContext(ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query implements conn.
func (c *preparedConn) query(ctx context.Context, query string, args ...any) (rows, error) {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.QueryContext(ctx, args...) //nolint:rowserrcheck // the caller does
	}
	return c.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller does
}

// queryRow implements conn.
func (c *preparedConn) queryRow(ctx context.Context, query string, args ...any) scanner {
	return c.row(ctx, query, args...)
}

func (c *preparedConn) row(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return c.QueryRowContext(ctx, query, args...)
}

// Close closes the statements and, on a *sql.Conn, the connection.
func (c *preparedConn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, statement := range c.statements {
		statement.Close()
	}
	c.statements = nil
	if connection, ok := c.preparer.(*sql.Conn); ok {
		connection.Close()
	}
}

// sqliteTx runs statements in a transaction that several writes share. It
// ignores the caller's context: interrupting a statement makes SQLite roll back
// the whole transaction.
type sqliteTx struct {
	conn   *preparedConn
	failed bool // a statement failed, after which SQLite may have rolled back
}

// exec implements conn.
func (t *sqliteTx) exec(_ context.Context, query string, args ...any) (int64, error) {
	n, err := t.conn.exec(context.Background(), query, args...)
	t.failed = t.failed || err != nil
	return n, err
}

// query implements conn.
func (t *sqliteTx) query(_ context.Context, query string, args ...any) (rows, error) {
	rows, err := t.conn.query(context.Background(), query, args...)
	t.failed = t.failed || err != nil
	return rows, err
}

// queryRow implements conn.
func (t *sqliteTx) queryRow(_ context.Context, query string, args ...any) scanner {
	row := t.conn.row(context.Background(), query, args...)
	t.failed = t.failed || row.Err() != nil
	return row
}
