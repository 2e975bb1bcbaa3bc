// Package store keeps everything that must survive: consumers and keys, jobs
// and their timelines, commands, and the outbox of webhooks. All SQL of
// Standin is here, one text for SQLite and PostgreSQL.
//
// It knows how to keep things and how to find them again, not what they
// mean: which change is legal is decided in job, what follows from it in
// lifecycle.
package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Its methods may be called from any goroutine.
type Store struct {
	*Queries // reads outside any transaction

	engine engine
}

// engine is what differs between the two databases.
type engine interface {
	// write runs fn in a transaction of its own: durable when write returns
	// nil, and without a trace when it returns an error.
	write(ctx context.Context, fn func(*Queries) error) error
	close() error
	// lineConfig is how a Line connects; nil when there are no other nodes.
	lineConfig() *pgx.ConnConfig
}

// Open opens the database at address, a postgres:// URL or the path of a
// SQLite file, and brings its schema up to date.
func Open(ctx context.Context, address string) (*Store, error) {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return openPostgres(ctx, address)
	}
	return openSQLite(ctx, address)
}

// Close waits for running writes and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// Write runs fn in one transaction. What fn does through its Queries is kept
// whole and durable when Write returns nil, and not at all otherwise. fn must
// not wait for anything but the database: on SQLite all writers share its
// turn. It may run more than once, so it must not keep state from an earlier
// run.
func (s *Store) Write(ctx context.Context, fn func(*Queries) error) error {
	return s.engine.write(ctx, fn)
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.queryRow(ctx, `SELECT 1`).Scan(&one)
}

// Queries runs the statements of this package on a connection: inside a
// transaction when it comes from Write, outside of any when it is a Store's.
type Queries struct {
	on        conn
	forUpdate string // locks the rows read until the transaction ends
	skip      string // the same, passing over rows that others hold
}

// conn is what *sql.DB, *sql.Conn and *sql.Tx have in common.
type conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// steady runs the statements of a write to their end whatever becomes of the
// caller's context. SQLite, interrupted in one, undoes the whole transaction,
// which others share; PostgreSQL's driver closes the connection. What bounds
// them is the transaction's own context, which lives as long as this does.
type steady struct {
	tx  *sql.Tx
	own context.Context
}

func (c steady) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	return c.tx.ExecContext(c.own, query, args...)
}

func (c steady) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.tx.QueryContext(c.own, query, args...)
}

func (c steady) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	return c.tx.QueryRowContext(c.own, query, args...)
}

func (q *Queries) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return q.on.QueryRowContext(ctx, query, args...)
}

// exec runs a statement and returns how many rows it touched.
func (q *Queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := q.on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// collect runs a query and gives each row to scan.
func (q *Queries) collect(ctx context.Context, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // its error is also that of Err
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// migrate brings the schema up to date.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("open the migrations: %w", err)
	}
	provider, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return fmt.Errorf("prepare the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("bring the database's schema up to date: %w", err)
	}
	return nil
}

// millis is a time as it is kept.
func millis(t time.Time) int64 { return t.UnixMilli() }

// nullMillis is a time that may be unset as it is kept.
func nullMillis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// fromMillis is the inverse of millis.
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// fromNull is the inverse of nullMillis.
func fromNull(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return fromMillis(ms.Int64)
}
