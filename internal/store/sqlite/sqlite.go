// Package sqlite opens the SQLite database of a service. All writes run on one
// goroutine, in groups that share a transaction: a durable commit waits for the
// disk, and a group waits only once.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/pressly/goose/v3"

	"standin/internal/base/fsutil"
	"standin/internal/store/migrations"
	"standin/internal/store/sqldb"
)

// DB is an open database. Its methods are safe for concurrent use.
type DB struct {
	path   string
	reader *sql.DB
	reads  *conn
	writer *sql.DB
	writes *conn     // on own
	own    *sql.Conn // the only connection of writer; nil until the first write

	waiting chan *write
	once    sync.Once
	closing chan struct{} // closed when no further write is accepted
	done    chan struct{} // closed when the goroutine of the writes has ended
}

// Open opens or creates the file at path, which only its owner can read, and
// migrates its schema.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := privateFile(path); err != nil {
		return nil, err
	}
	writer, err := openPool(path, "&_txlock=immediate", 1)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	if err := migrate(ctx, writer, path); err != nil {
		return nil, errors.Join(fmt.Errorf("SQLite database %s: %w", path, Explain(path, err)), writer.Close())
	}
	reader, err := openPool(path, "&_pragma=query_only(ON)", 4)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the SQLite database %s: %w", path, err), writer.Close())
	}
	db := &DB{
		path: path, reader: reader, reads: newConn(reader), writer: writer,
		waiting: make(chan *write), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go db.commitAll(context.WithoutCancel(ctx))
	return db, nil
}

// openPool opens connections to the file at path, with more parameters.
func openPool(path, parameters string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		// A long read lets the -wal file grow; without a limit it keeps its size for ever.
		"&_pragma=journal_size_limit(33554432)"+
		"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)"+parameters)
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

// migrate migrates the schema unless it is the newest. It does so under a file lock, because
// a command such as standin keys create may start at the same time as the service.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	if migrations.IsNewest(db.QueryRowContext(ctx, migrations.VersionQuery)) {
		return nil
	}
	lock, err := fsutil.Lock(path + ".migrating")
	if err != nil {
		return err
	}
	defer lock.Close() // releases the lock
	return migrations.Up(ctx, db, goose.DialectSQLite3)
}

// Reader returns a connection for reads.
func (db *DB) Reader() sqldb.Conn { return db.reads }

// Close waits for running writes and closes the database.
func (db *DB) Close() error {
	db.once.Do(func() { close(db.closing) })
	<-db.done
	db.disconnect()
	return errors.Join(db.reader.Close(), db.writer.Close())
}

// disconnect closes the connection of writes.
func (db *DB) disconnect() {
	if db.own != nil {
		for _, statement := range db.writes.prepared { // unlike a *sql.DB, a *sql.Conn leaves them open
			statement.Close()
		}
		db.own.Close()
		db.own = nil
	}
}
