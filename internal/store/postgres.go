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

// postgresEngine runs each write in its own transaction.
type postgresEngine struct {
	db     *sql.DB
	config *pgx.ConnConfig
}

func openPostgres(ctx context.Context, address string) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("parse the PostgreSQL address: %w", err) // pgx omits the password
	}
	if err := migratePostgres(ctx, *config); err != nil {
		return nil, fmt.Errorf("PostgreSQL database: %w", err)
	}
	config.RuntimeParams["application_name"] = cmp.Or(config.RuntimeParams["application_name"], applicationName)
	config.RuntimeParams["statement_timeout"] = statementTimeout
	config.RuntimeParams["idle_in_transaction_session_timeout"] = idleTimeout
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, deadTimeout)
	config.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: deadTimeout / 4, Interval: deadTimeout / 4, Count: 3,
	}}).DialContext
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(maxConnections)
	db.SetMaxIdleConns(maxConnections)
	return &Store{Queries: &Queries{conn: db, spoken: postgresSpokenIndex, selects: plainLists}, engine: &postgresEngine{db: db, config: config}}, nil
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

func (e *postgresEngine) close() error { return e.db.Close() }

// notifierConfig implements engine.
func (e *postgresEngine) notifierConfig() *pgx.ConnConfig { return e.config.Copy() }

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
	for retries := 0; ; retries++ {
		err := e.transact(ctx, fn)
		if retries == maxRetries || !isConflict(err) {
			return err
		}
	}
}

// transact runs fn in one transaction of at most transactionTimeout.
func (e *postgresEngine) transact(ctx context.Context, fn func(*Queries) error) error {
	ctx, cancel := context.WithTimeout(ctx, transactionTimeout)
	defer cancel()
	tx, err := e.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	err = recovered(fn, &Queries{conn: uncancelledTx{tx, ctx}, forUpdate: " FOR UPDATE", skip: " FOR UPDATE SKIP LOCKED", spoken: postgresSpokenIndex, selects: plainLists})
	if err != nil {
		return errors.Join(err, ignoreTxDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// isConflict reports whether a transaction failed only because of a concurrent
// one: serialization_failure (40001) or deadlock_detected (40P01).
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}
