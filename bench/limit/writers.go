package limit

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sqliteWriter commits groups on one connection, with prepared statements.
type sqliteWriter struct {
	connection *sql.Conn
	begin      *sql.Stmt
	insert     *sql.Stmt
	end        *sql.Stmt
	values     func(response) []any
}

func newSQLiteWriter(ctx context.Context, db *sql.DB, insert string, values func(response) []any) (*sqliteWriter, error) {
	connection, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &sqliteWriter{connection: connection, values: values}
	for statement, text := range map[**sql.Stmt]string{&w.begin: `BEGIN IMMEDIATE`, &w.insert: insert, &w.end: `COMMIT`} {
		*statement, err = connection.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed with the connection
		if err != nil {
			return nil, errors.Join(err, connection.Close())
		}
	}
	return w, nil
}

func (w *sqliteWriter) commit(group []waiting) error {
	ctx := context.Background()
	if _, err := w.begin.ExecContext(ctx); err != nil {
		return err
	}
	for _, member := range group {
		if _, err := w.insert.ExecContext(ctx, w.values(member.row)...); err != nil {
			_, rollback := w.connection.ExecContext(ctx, `ROLLBACK`)
			return errors.Join(err, rollback)
		}
	}
	_, err := w.end.ExecContext(ctx)
	return err
}

func (w *sqliteWriter) close() { _ = w.connection.Close() }

// postgresWriter sends each group as one batch, which is one transaction.
type postgresWriter struct {
	pool   *pgxpool.Pool
	insert string
	values func(response) []any
}

func (w postgresWriter) commit(group []waiting) error {
	batch := new(pgx.Batch)
	for _, member := range group {
		batch.Queue(w.insert, w.values(member.row)...)
	}
	return w.pool.SendBatch(context.Background(), batch).Close()
}

func (postgresWriter) close() {}
