package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// applicationName is the default name of the connections of services and tools in
// pg_stat_activity.
const applicationName = "standin"

// maxConnections bounds the connections of a node. PostgreSQL groups the
// commits of concurrent transactions itself.
const maxConnections = 32

// maxRetries is how often a transaction is repeated that PostgreSQL aborted
// because of a concurrent one.
const maxRetries = 10

// statementTimeout bounds every statement, in milliseconds. Writes are not
// interrupted when their caller gives up, so they need another bound.
const statementTimeout = "30000"

// idleTimeout is how long, in milliseconds, a transaction may wait for its
// node's next statement. A node that hangs must not keep its row locks.
const idleTimeout = "10000"

// transactionTimeout bounds a transaction when the database stops responding,
// so that statementTimeout has no effect.
const transactionTimeout = 40 * time.Second

// deadTimeout is how long a connection may be without a sign of life. A machine
// that disappears closes no connection.
const deadTimeout = 20 * time.Second

// postgresEngine runs each write in its own transaction, except for new jobs,
// which share transactions.
type postgresEngine struct {
	pool  *pgxpool.Pool
	reads *postgresReads
	jobs  *groups[*newJob]
}

func openPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("parse the PostgreSQL address: %w", err) // pgx omits the password
	}
	if err := migratePostgres(ctx, *config.ConnConfig); err != nil {
		return nil, fmt.Errorf("PostgreSQL database: %w", err)
	}
	config.MaxConns = maxConnections
	connection := config.ConnConfig
	connection.RuntimeParams["application_name"] = cmp.Or(connection.RuntimeParams["application_name"], applicationName)
	connection.RuntimeParams["statement_timeout"] = statementTimeout
	connection.RuntimeParams["idle_in_transaction_session_timeout"] = idleTimeout
	connection.RuntimeParams["jit"] = "off" // compiling a statement takes up to a second, and all of them are short
	connection.ConnectTimeout = cmp.Or(connection.ConnectTimeout, deadTimeout)
	connection.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: deadTimeout / 4, Interval: deadTimeout / 4, Count: 3,
	}}).DialContext
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", err)
	}
	engine := newPostgresEngine(pool)
	return &Store{Queries: &Queries{conn: engine.reads, in: inPostgres, spoken: postgresSpokenIndex, selects: plainLists}, engine: engine}, nil
}

// migratePostgres migrates the schema. Its statements have no timeout: their
// duration grows with the database.
func migratePostgres(ctx context.Context, config pgx.ConnConfig) error {
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, deadTimeout)
	locker, err := lock.NewPostgresSessionLocker() // several nodes may start at once
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	db := stdlib.OpenDB(config)
	err = migrate(ctx, db, goose.DialectPostgres, goose.WithSessionLocker(locker))
	if err == nil {
		err = postgresSpokenIndex.create(ctx, db)
	}
	return errors.Join(err, db.Close())
}

func (e *postgresEngine) close() error {
	e.jobs.close()
	e.reads.close()
	e.pool.Close()
	return nil
}

// notifierConfig implements engine.
func (e *postgresEngine) notifierConfig() *pgx.ConnConfig { return e.pool.Config().ConnConfig }

// write implements engine. Once started it runs to its end even when ctx is
// cancelled, because interrupting a statement costs the connection. A deadline
// of ctx still applies.
func (e *postgresEngine) write(ctx context.Context, fn func(*Queries) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	deadline, ok := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return e.retry(ctx, func() error { return e.transact(ctx, fn) })
}

// retry repeats a transaction that failed only because of a concurrent one, or
// whose connection was lost before anything was sent.
func (e *postgresEngine) retry(ctx context.Context, transact func() error) error {
	for retries := 0; ; retries++ {
		err := transact()
		if retries == maxRetries || !isConflict(err) && (ctx.Err() != nil || !pgconn.SafeToRetry(err)) {
			return err
		}
	}
}

// transact runs fn in one transaction of at most transactionTimeout.
func (e *postgresEngine) transact(ctx context.Context, fn func(*Queries) error) error {
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	connection, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer connection.Release() // which closes it if the transaction has not ended
	tx := newPostgresTx(ctx, connection.Conn())
	err = recovered(fn, &Queries{conn: tx, forUpdate: " FOR UPDATE", skip: " FOR UPDATE SKIP LOCKED", in: inPostgres, spoken: postgresSpokenIndex, selects: plainLists})
	if err == nil {
		err = tx.commit()
	}
	if err != nil {
		return errors.Join(err, tx.rollback())
	}
	return nil
}

// isConflict reports whether a transaction failed only because of a concurrent
// one: serialization_failure (40001) or deadlock_detected (40P01).
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}
