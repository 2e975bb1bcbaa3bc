// Package store persists the state of the service: consumers and their keys,
// users, jobs and their timelines, commands, and the webhook outbox. All SQL of
// Standin is in this package. The same text runs on SQLite and PostgreSQL.
//
// The package stores and queries. Package job decides which state changes are
// legal, package lifecycle what follows from them.
package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"standin/internal/job"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	*Queries // reads outside of transactions

	engine engine
}

// engine is the part that differs between SQLite and PostgreSQL.
type engine interface {
	// write runs fn in a transaction, which is durable when write returns nil
	// and rolled back when it returns an error.
	write(ctx context.Context, fn func(*Queries) error) error
	// insertJob is InsertJob in a transaction that other new jobs may share.
	insertJob(ctx context.Context, r job.Record) (inserted bool, err error)
	close() error
	// notifierConfig is how a Notifier connects; nil without other nodes.
	notifierConfig() *pgx.ConnConfig
}

// Open opens the database at address, a postgres:// URL or the path of a
// SQLite file, and migrates its schema.
func Open(ctx context.Context, address string) (*Store, error) {
	if EngineOf(address) == Postgres {
		return openPostgres(ctx, address)
	}
	return openSQLite(ctx, address)
}

// Close waits for running writes and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// Write runs fn in a transaction, which is durable when Write returns nil and
// rolled back when it returns an error. fn must block on nothing but the
// database: on SQLite all writers share one transaction at a time. fn may be
// called more than once and must not carry state from one call to the next.
func (s *Store) Write(ctx context.Context, fn func(*Queries) error) error {
	return s.engine.write(ctx, fn)
}

// Ping reports whether the database responds.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	return s.queryRow(ctx, `SELECT 1`).Scan(&one)
}

// migrate migrates the schema to the newest version.
func migrate(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, options...)
	if err != nil {
		return err
	}
	version, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if version > newest {
		return fmt.Errorf("the schema has version %d, and this version of standin supports up to %d: "+
			"run the version of standin that migrated it, or a newer one", version, newest)
	}
	// Up parses all migrations with buffers of 4 MiB, even if all are applied.
	pending, err := provider.HasPending(ctx)
	if err == nil && pending {
		_, err = provider.Up(ctx)
	}
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}

// newProvider returns the runner of the migrations.
func newProvider(db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open migrations: %w", err)
	}
	options = append(options, goose.WithGoMigrations(referencesMigration(dialect)))
	provider, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return provider, nil
}
