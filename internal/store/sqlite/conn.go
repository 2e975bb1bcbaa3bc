package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"sync"

	"standin/internal/store/sqldb"
)

// handle is the common part of *sql.DB and *sql.Conn.
type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// conn implements sqldb.Conn. It keeps prepared statements: parsing most statements takes longer
// than running them.
//
// On a *sql.Conn a statement must not run again while its rows are being read.
type conn struct {
	handle

	mu       sync.Mutex
	prepared map[string]*sql.Stmt // by text; nil after close
}

// maxPrepared is how many prepared statements a conn keeps. The text of a list depends on its filter.
const maxPrepared = 256

func newConn(h handle) *conn { return &conn{handle: h, prepared: make(map[string]*sql.Stmt)} }

// statement returns the prepared statement; nil if it cannot be prepared: running it returns the same error.
func (c *conn) statement(ctx context.Context, query string) *sql.Stmt {
	c.mu.Lock()
	defer c.mu.Unlock()
	statement := c.prepared[query]
	if statement == nil && c.prepared != nil {
		var err error
		if statement, err = c.PrepareContext(ctx, query); err != nil {
			return nil
		}
		for text, old := range c.prepared { // any one of them
			if len(c.prepared) < maxPrepared {
				break
			}
			old.Close() // once its rows are read
			delete(c.prepared, text)
		}
		c.prepared[query] = statement
	}
	return statement
}

// Exec implements sqldb.Conn.
func (c *conn) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	affected := make([]int64, len(statements))
	for i, s := range statements {
		result, err := c.exec(ctx, s.Query, s.Args...)
		if err != nil {
			return nil, err
		}
		if affected[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return affected, nil
}

func (c *conn) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if statement := c.statement(ctx, query); statement != nil { //nolint:sqlclosecheck // close closes it
		return statement.ExecContext(ctx, args...)
	}
	return c.ExecContext(ctx, query, args...)
}

// Query implements sqldb.Conn.
func (c *conn) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	if statement := c.statement(ctx, query); statement != nil { //nolint:sqlclosecheck // close closes it
		return statement.QueryContext(ctx, args...) //nolint:rowserrcheck // the caller does
	}
	return c.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller does
}

// close closes the prepared statements.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, statement := range c.prepared {
		statement.Close()
	}
	c.prepared = nil
}

// tx implements sqldb.Conn in a transaction that several writes share.
type tx struct {
	conn    *conn
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
