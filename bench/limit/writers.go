package limit

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The statements around a group on SQLite.
const (
	begin = `BEGIN IMMEDIATE`
	end   = `COMMIT`
)

// sqliteWriter commits groups on one connection, with prepared statements.
type sqliteWriter struct {
	connection *sql.Conn
	prepared   map[string]*sql.Stmt // by text
	statements
}

func newSQLiteWriter(ctx context.Context, db *sql.DB, all statements) (*sqliteWriter, error) {
	connection, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &sqliteWriter{connection: connection, prepared: make(map[string]*sql.Stmt), statements: all}
	texts := []string{begin, end}
	for _, s := range slices.Concat(all.insert, all.delivered) {
		texts = append(texts, s.text)
	}
	for _, text := range texts {
		w.prepared[text], err = connection.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed with the connection
		if err != nil {
			return nil, errors.Join(err, connection.Close())
		}
	}
	return w, nil
}

func (w *sqliteWriter) commit(group []waiting) error {
	ctx := context.Background()
	if _, err := w.prepared[begin].ExecContext(ctx); err != nil {
		return err
	}
	for _, member := range group {
		for _, s := range w.of(member) {
			if _, err := w.prepared[s.text].ExecContext(ctx, s.values(member.row)...); err != nil {
				_, rollback := w.connection.ExecContext(ctx, `ROLLBACK`)
				return errors.Join(err, rollback)
			}
		}
	}
	_, err := w.prepared[end].ExecContext(ctx)
	return err
}

func (w *sqliteWriter) close() { _ = w.connection.Close() }

// postgresWriter sends each group as one batch, which is one transaction.
type postgresWriter struct {
	pool *pgxpool.Pool
	statements
}

func (w postgresWriter) commit(group []waiting) error {
	batch := new(pgx.Batch)
	for _, member := range group {
		for _, s := range w.of(member) {
			batch.Queue(s.text, s.values(member.row)...)
		}
	}
	return w.pool.SendBatch(context.Background(), batch).Close()
}

func (postgresWriter) close() {}
