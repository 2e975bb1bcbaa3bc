package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"time"

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

// idleTimeout is how long, in milliseconds, a transaction may wait for its node:
// one that stands still in the middle of a transaction must not keep others
// from the rows that it holds.
const idleTimeout = "10000"

// transactionTime bounds a transaction when not even statementTimeout can,
// because nothing comes from the database any more.
const transactionTime = 40 * time.Second

// dead is how long a connection may be without any sign from the other side:
// a database's machine that vanishes says no farewell.
const dead = 20 * time.Second

// postgresEngine runs each write in a transaction of its own.
type postgresEngine struct {
	db     *sql.DB
	config *pgx.ConnConfig
}

func openPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("read the PostgreSQL address: %w", err) // pgx leaves the password out
	}
	config.RuntimeParams["statement_timeout"] = statementTimeout
	config.RuntimeParams["idle_in_transaction_session_timeout"] = idleTimeout
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, dead)
	config.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: dead / 4, Interval: dead / 4, Count: 3,
	}}).DialContext
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
	return &Store{Queries: &Queries{on: db}, engine: &postgresEngine{db: db, config: config}}, nil
}

func (e *postgresEngine) close() error { return e.db.Close() }

// lineConfig implements engine.
func (e *postgresEngine) lineConfig() *pgx.ConnConfig { return e.config.Copy() }

// write runs fn, once it has begun, to its end even when ctx is cancelled: a
// statement broken off costs its connection. A deadline that ctx has holds.
func (e *postgresEngine) write(ctx context.Context, fn func(*Queries) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	deadline, bounded := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	for retries := 0; ; retries++ {
		err := e.once(ctx, fn)
		if retries == maxRetries || !brokenOff(err) {
			return err
		}
	}
}

// once runs fn in one transaction, which a database that gives no answer cannot
// hold for ever.
func (e *postgresEngine) once(ctx context.Context, fn func(*Queries) error) error {
	ctx, cancel := context.WithTimeout(ctx, transactionTime)
	defer cancel()
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	err = guarded(fn, &Queries{on: steady{tx, ctx}, forUpdate: " FOR UPDATE", skip: " FOR UPDATE SKIP LOCKED"})
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
