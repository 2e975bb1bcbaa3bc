package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tx is a transaction that begins in the round trip of its first statement.
type tx struct {
	conn  *pgxpool.Conn
	begun bool
}

// Query implements handle.
func (t *tx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	if t.begun {
		return t.conn.Query(ctx, query, args...)
	}
	batch := &pgx.Batch{}
	batch.Queue(query, args...)
	results := t.SendBatch(ctx, batch)
	found, err := results.Query()
	if err != nil {
		_ = results.Close() // the same error
		return nil, err
	}
	return firstRows{found, results}, nil
}

// SendBatch implements handle.
func (t *tx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	if t.begun {
		return t.conn.SendBatch(ctx, batch)
	}
	t.begun = true
	batch.QueuedQueries = slices.Insert(batch.QueuedQueries, 0, &pgx.QueuedQuery{SQL: "begin"})
	results := t.conn.SendBatch(ctx, batch)
	_, _ = results.Exec() // the next result has the same error
	return results
}

// end commits the transaction, or rolls it back if what was done in it failed.
func (t *tx) end(ctx context.Context, failure error) error {
	if !t.begun {
		return failure
	}
	if failure != nil {
		_, _ = t.conn.Exec(ctx, "rollback") // if it fails, the pool closes the connection
		return failure
	}
	tag, err := t.conn.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" {
		return pgx.ErrTxCommitRollback // a statement failed, and its error was ignored
	}
	return err
}

// firstRows are the rows of the first statement.
type firstRows struct {
	pgx.Rows
	results pgx.BatchResults
}

// Close implements pgx.Rows.
func (r firstRows) Close() {
	r.Rows.Close()
	_ = r.results.Close() // Err returns its error
}
