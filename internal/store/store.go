// Package store persists the state of the service: consumers and their keys,
// users, jobs and their timelines, commands, and the webhook outbox. All SQL of
// Standin is in this package and the packages below it. The same text runs on
// SQLite and PostgreSQL.
//
// The package stores and queries. Package job decides which state changes are
// legal, package lifecycle what follows from them.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"standin/internal/store/migrations"
	"standin/internal/store/postgres"
	"standin/internal/store/sqldb"
	"standin/internal/store/sqlite"
)

// Store is an open database. Its methods are safe for concurrent use. It reads
// outside of transactions.
type Store struct {
	*Reader

	db       database
	sqlite   *sqlite.DB   // nil on PostgreSQL
	postgres *postgres.DB // nil on SQLite
}

// database is a *sqlite.DB or a *postgres.DB.
type database interface {
	Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error
	Close() error
}

// Open opens the database at address, a postgres:// URL or the path of a SQLite
// file, and migrates its schema.
func Open(ctx context.Context, address string) (*Store, error) {
	if IsPostgres(address) {
		db, err := postgres.Open(ctx, address)
		if err != nil {
			return nil, err
		}
		return &Store{Reader: &Reader{db.Reader(), &sqldb.Postgres}, db: db, postgres: db}, nil
	}
	if scheme, _, isURL := strings.Cut(address, "://"); isURL {
		return nil, fmt.Errorf("STANDIN_DATABASE_URL must begin with postgres://, not %s://; leave it unset to use SQLite", scheme)
	}
	db, err := sqlite.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Store{Reader: &Reader{db.Reader(), &sqldb.SQLite}, db: db, sqlite: db}, nil
}

// IsPostgres reports whether an address is that of a PostgreSQL database, which
// several nodes can share.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// Close waits for running writes and closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Write runs fn in a transaction, which is durable when Write returns nil and
// rolled back when it returns an error. fn must use the context that it gets, which
// a caller that gives up does not cancel, and block on nothing but the database: on
// SQLite all writers share one transaction at a time. fn may be called more than
// once and must not carry state from one call to the next.
func (s *Store) Write(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return s.db.Write(ctx, func(ctx context.Context, conn sqldb.Conn) error {
		return fn(ctx, &Tx{&Reader{conn, s.dialect}})
	})
}

// Ping reports whether the database responds.
func (s *Store) Ping(ctx context.Context) error {
	return s.queryRow(ctx, "ping the database", `SELECT 1`).Scan(new(int))
}

// SchemaVersion returns the version of the schema, and that of this program.
func (s *Store) SchemaVersion(ctx context.Context) (version, own int64, err error) {
	version, err = queryValue[int64](ctx, s.Reader, "read the schema version", migrations.VersionQuery)
	return version, migrations.Newest, err
}

// CheckSchema returns an error if the schema is older than this version needs.
func (s *Store) CheckSchema(ctx context.Context) error {
	version, _, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if version < migrations.Newest {
		return fmt.Errorf("the schema has version %d, and this version of standin needs %d: was an older backup restored while the service ran?",
			version, migrations.Newest)
	}
	return nil
}

// Check verifies the structure of a SQLite database, which reads the whole file.
// PostgreSQL checks its own files.
func (s *Store) Check(ctx context.Context) error {
	if s.sqlite == nil {
		return nil
	}
	return s.sqlite.Check(ctx)
}

// AnalyzeGrown helps PostgreSQL to plan queries of tables that have grown. Call it every few seconds.
func (s *Store) AnalyzeGrown(ctx context.Context) error {
	if s.postgres == nil {
		return nil
	}
	return s.postgres.AnalyzeGrown(ctx)
}

// IsDiskFull reports whether a write failed because the disk of the database is full.
func IsDiskFull(err error) bool { return sqlite.IsDiskFull(err) || postgres.IsDiskFull(err) }

// IsUnavailable reports whether an error of the database may end by itself: it does not
// answer, is locked, cannot use its file, or has no space.
func IsUnavailable(err error) bool { return sqlite.IsUnavailable(err) || postgres.IsUnavailable(err) }

// NewNotifier returns the notifier of this node. Its Run calls receive.
func (s *Store) NewNotifier(receive func(postgres.Notification), log *slog.Logger) *postgres.Notifier {
	return postgres.NewNotifier(s.postgres, receive, log)
}
