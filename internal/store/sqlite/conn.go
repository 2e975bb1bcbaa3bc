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
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// conn implements sqldb.Conn. It keeps prepared statements: parsing most statements takes
// longer than running them.
//
// On a *sql.Conn a statement must not run again while its rows are being read.
type conn struct {
	handle

	mu       sync.Mutex
	prepared map[string]*sql.Stmt // by text
}

func newConn(h handle) *conn { return &conn{handle: h, prepared: make(map[string]*sql.Stmt)} }

// statement returns the prepared statement.
func (c *conn) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if statement := c.prepared[query]; statement != nil {
		return statement, nil
	}
	for text, old := range c.prepared { // any one of them
		if len(c.prepared) < 256 { // the text of a list depends on its filter
			break
		}
		old.Close() // once its rows are read
		delete(c.prepared, text)
	}
	statement, err := c.PrepareContext(ctx, query) //nolint:sqlclosecheck // whoever closes the handle does
	if err == nil {
		c.prepared[query] = statement
	}
	return statement, err
}

// Exec implements sqldb.Conn.
func (c *conn) Exec(ctx context.Context, statements ...sqldb.Statement) ([]int64, error) {
	affected := make([]int64, len(statements))
	for i, s := range statements {
		statement, err := c.statement(ctx, s.Query) //nolint:sqlclosecheck // whoever closes the handle does
		if err != nil {
			return nil, err
		}
		result, err := statement.ExecContext(ctx, s.Args...)
		if err != nil {
			return nil, err
		}
		if affected[i], err = result.RowsAffected(); err != nil {
			return nil, err
		}
	}
	return affected, nil
}

// Query implements sqldb.Conn.
func (c *conn) Query(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	statement, err := c.statement(ctx, query) //nolint:sqlclosecheck // whoever closes the handle does
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args...) //nolint:rowserrcheck // the caller does
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
