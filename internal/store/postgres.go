package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// maxConnections bounds the connections a node opens. PostgreSQL groups the
// commits of concurrent transactions itself.
const maxConnections = 32

// maxRetries is how often a transaction is run again that PostgreSQL broke
// off because of another one.
const maxRetries = 10

// statementTimeout bounds every statement, in milliseconds: a caller that goes
// away does not break a write off, so something else must.
const statementTimeout = "30000"

// postgresEngine runs each write in a transaction of its own.
type postgresEngine struct{ db *sql.DB }

func openPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL address: %w", err) // pgx leaves the password out
	}
	config.RuntimeParams["statement_timeout"] = statementTimeout
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	locker, err := lock.NewPostgresSessionLocker() // several nodes may start at once
	if err == nil {
		err = migrate(ctx, db, goose.DialectPostgres, goose.WithSessionLocker(locker))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("PostgreSQL database: %w", err), db.Close())
	}
	return &Store{Queries: &Queries{on: db}, engine: &postgresEngine{db: db}}, nil
}

func (e *postgresEngine) close() error { return e.db.Close() }

// write runs fn, once it has begun, to its end whatever becomes of ctx: a
// statement broken off costs its connection.
func (e *postgresEngine) write(ctx context.Context, fn func(*Queries) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx = context.WithoutCancel(ctx)
	for retries := 0; ; retries++ {
		err := e.once(ctx, fn)
		if retries == maxRetries || !brokenOff(err) {
			return err
		}
	}
}

// once runs fn in one transaction.
func (e *postgresEngine) once(ctx context.Context, fn func(*Queries) error) error {
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	err = guarded(fn, &Queries{on: steady{tx}, forUpdate: " FOR UPDATE", skip: " FOR UPDATE SKIP LOCKED"})
	if err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// brokenOff reports whether a transaction failed only because it met another:
// serialization_failure (40001) or deadlock_detected (40P01).
func brokenOff(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}
