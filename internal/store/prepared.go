package store

import (
	"context"
	"database/sql"
	"sync"
)

// maxPrepared is the maximum number of prepared statements of a database handle.
// The texts of searches and batches vary; the others are about a hundred.
const maxPrepared = 500

// preparer is the common part of *sql.DB and *sql.Conn.
type preparer interface {
	conn
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
	statement, err := c.PrepareContext(ctx, query) // without the lock: it waits for a connection
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

func (c *preparedConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.ExecContext(ctx, args...)
	}
	return c.preparer.ExecContext(ctx, query, args...)
}

func (c *preparedConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.QueryContext(ctx, args...)
	}
	return c.preparer.QueryContext(ctx, query, args...)
}

func (c *preparedConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if statement := c.statement(ctx, query); statement != nil {
		return statement.QueryRowContext(ctx, args...)
	}
	return c.preparer.QueryRowContext(ctx, query, args...)
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

func (t *sqliteTx) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	result, err := t.conn.ExecContext(context.Background(), query, args...)
	t.failed = t.failed || err != nil
	return result, err
}

func (t *sqliteTx) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.conn.QueryContext(context.Background(), query, args...)
	t.failed = t.failed || err != nil
	return rows, err
}

func (t *sqliteTx) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	row := t.conn.QueryRowContext(context.Background(), query, args...)
	t.failed = t.failed || row.Err() != nil
	return row
}
