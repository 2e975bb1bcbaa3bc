// Package postgres opens a PostgreSQL database that several nodes may share, and
// notifies the other nodes of changes.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"standin/internal/base/retry"
	"standin/internal/store/migrations"
	"standin/internal/store/sqldb"
)

const (
	// ApplicationName is the default name of the connections of services and tools in
	// pg_stat_activity.
	ApplicationName = "standin"
	// deadTimeout is how long a connection may be without a sign of life. A machine
	// that disappears closes no connection.
	deadTimeout = 20 * time.Second
)

// parameters are the settings of each connection. They are set by a statement: poolers refuse them
// when a connection starts.
var parameters = map[string]string{
	"application_name":                    ApplicationName,
	"statement_timeout":                   "30000",              // in milliseconds: writes are not interrupted when their caller gives up
	"idle_in_transaction_session_timeout": "10000",              // a node that hangs must not keep its row locks
	"jit":                                 "off",                // compiling a statement takes longer than running a short one
	"plan_cache_mode":                     "force_generic_plan", // planning a short statement takes longer than running it
}

// DB is an open database. Its methods are safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	resetAt atomic.Int64 // when the connections were last closed because the server was late, in Unix nanoseconds
}

// Open connects to the database at a postgres:// URL and migrates its schema.
func Open(ctx context.Context, address string) (*DB, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("parse the PostgreSQL address: %w", err) // pgx omits the password
	}
	migrating := config.ConnConfig.Copy()
	config.MaxConns = 32 // PostgreSQL groups the commits of concurrent transactions itself
	connection := config.ConnConfig
	settings := ""
	for name, value := range parameters {
		if connection.RuntimeParams[name] == "" {
			settings += fmt.Sprintf("SET %s = '%s';", name, value)
		}
	}
	connection.AfterConnect = func(ctx context.Context, server *pgconn.PgConn) error { return server.Exec(ctx, settings).Close() }
	if connection.ValidateConnect == nil { // after a failover, an address may lead to the old primary for a while
		connection.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	connection.ConnectTimeout = cmp.Or(connection.ConnectTimeout, deadTimeout)
	connection.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: deadTimeout / 4, Interval: deadTimeout / 4, Count: 3,
	}}).DialContext
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", err)
	}
	err = checkSession(ctx, pool)
	if err == nil && !migrations.IsNewest(pool.QueryRow(ctx, migrations.VersionQuery)) {
		err = migrate(ctx, *migrating)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("PostgreSQL database: %w", err)
	}
	return &DB{pool: pool}, nil
}

// checkSession returns an error if a pooler gives the server of a connection to another one
// between two statements: prepared statements, settings and LISTEN need a session.
func checkSession(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, deadTimeout)
	defer cancel()
	const simply = pgx.QueryExecModeSimpleProtocol // without a prepared statement
	first, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer first.Release()
	second, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer second.Release()
	if _, err := first.Exec(ctx, `SELECT set_config('standin.session', 'kept', false)`, simply); err != nil {
		return err
	}
	// A pooler gives the second connection the server that the first one has just used.
	_, err = second.Exec(ctx, `BEGIN`, simply)
	kept := ""
	if err == nil {
		defer func() { _, _ = second.Exec(ctx, `ROLLBACK`, simply) }()
		err = first.QueryRow(ctx, `SELECT coalesce(current_setting('standin.session', true), '')`, simply).Scan(&kept)
	}
	if kept == "" && (err == nil || hasCode(err, "08P01")) {
		return errors.New("the address leads to a connection pooler in transaction or statement mode: " +
			"use session mode (PgBouncer: pool_mode = session), or connect to PostgreSQL directly")
	}
	return err
}

// migrate migrates the schema. Its statements have no timeout: their duration grows
// with the database.
func migrate(ctx context.Context, config pgx.ConnConfig) error {
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, deadTimeout)
	locker, err := lock.NewPostgresSessionLocker() // several nodes may start at once
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	db := stdlib.OpenDB(config)
	err = migrations.Up(ctx, db, goose.DialectPostgres, goose.WithSessionLocker(locker))
	return errors.Join(err, db.Close())
}

// AnalyzeGrown collects the statistics of the tables that have grown by half. In its first minutes, before
// autovacuum does it, PostgreSQL takes the jobs of a team in a new database for one, and any index will do.
func (db *DB) AnalyzeGrown(ctx context.Context) error {
	// CollectRows returns the error of Query.
	rows, _ := db.pool.Query(ctx, `SELECT quote_ident(relname) FROM pg_stat_user_tables
		WHERE schemaname = current_schema() AND n_mod_since_analyze >= 250 AND n_mod_since_analyze > n_live_tup / 2`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("find the tables that have grown: %w", err)
	}
	for _, table := range tables {
		if _, err := db.pool.Exec(ctx, `ANALYZE `+table, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("analyze the table %s: %w", table, err)
		}
	}
	return nil
}

// Reader returns a connection for reads.
func (db *DB) Reader() sqldb.Conn { return conn{db.pool} }

// Close closes the connections.
func (db *DB) Close() error {
	db.pool.Close()
	return nil
}

// Write runs fn in a transaction, which is durable when Write returns nil. fn may be
// called more than once. Its context does not end when ctx is cancelled, because
// interrupting a statement costs the connection. A deadline of ctx still applies. A transaction that fails
// only because of others or of its connection is repeated, and takes at most transactionTimeout.
func (db *DB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
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
	backoff := retry.Backoff{Min: time.Millisecond, Max: time.Second}
	for {
		// If the database stops responding, statement_timeout has no effect.
		limited, cancel := context.WithTimeout(ctx, 40*time.Second)
		err := pgx.BeginFunc(limited, db.pool, func(tx pgx.Tx) error { return fn(limited, conn{tx}) })
		cancel()
		db.ResetAfter(err)
		// serialization_failure and deadlock_detected are because of concurrent transactions
		again := hasCode(err, "40001", "40P01") || isReadOnly(err) || pgconn.SafeToRetry(err)
		if !again || backoff.Failures == 10 || retry.Sleep(ctx, backoff.Next()) != nil {
			return err
		}
	}
}

// ResetAfter closes the connections after the error of one, if they lead to a server that was the primary
// before, or that has not responded in time.
func (db *DB) ResetAfter(err error) {
	last, now := db.resetAt.Load(), time.Now().UnixNano()
	late := errors.Is(err, context.DeadlineExceeded) && now-last > int64(10*time.Second) // not often: it may only be busy
	if isReadOnly(err) || late && db.resetAt.CompareAndSwap(last, now) {
		db.pool.Reset()
	}
}

// isReadOnly reports whether a server refused a write because it is a standby
// (read_only_sql_transaction, 25006).
func isReadOnly(err error) bool {
	return hasCode(err, "25006")
}

// hasCode reports whether the server responded with one of some codes.
func hasCode(err error, codes ...string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, pg.Code)
}

// IsDiskFull reports whether a write failed because the disk of the database is full
// (disk_full, 53100).
func IsDiskFull(err error) bool {
	return hasCode(err, "53100")
}

// IsUnavailable reports whether the server cannot be reached, or lacks something (class 53), is
// being stopped (class 57) or has an error of its system (class 58)
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func IsUnavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isReadOnly(err) || strings.HasPrefix(pg.Code, "53") || strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "58")
	}
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, new(net.Error)) ||
		errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
