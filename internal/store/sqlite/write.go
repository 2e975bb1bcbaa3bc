package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"standin/internal/store/sqldb"
)

// write is a write in a group.
type write struct {
	fn      func(context.Context, sqldb.Conn) error
	claimed atomic.Bool   // by its group, or by a caller that has given up
	done    chan struct{} // closed after its group
	err     error
}

// Write runs fn in a transaction, which is durable when Write returns nil. fn may be
// called more than once. When ctx ends before fn is called, it is not called. Its
// context does not end: interrupting a statement makes SQLite roll back the
// transaction, which other writes share.
func (db *DB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w := &write{fn: fn, done: make(chan struct{})}
	if err := db.groups.Do(ctx, w); err != nil && !w.claimed.Swap(true) {
		return err
	}
	<-w.done
	return Explain(db.path, w.err)
}

// errWriteFailed is the error of a group of which a write failed.
var errWriteFailed = errors.New("a write failed")

// commitGroup runs and commits the writes of a group, first without savepoints:
// each of them costs a journal of its own. If a write fails, the group runs again
// with savepoints, so that the failure does not affect the other writes.
func (db *DB) commitGroup(group []*write) {
	group = slices.DeleteFunc(group, func(w *write) bool { return w.claimed.Swap(true) })
	if len(group) == 0 {
		return
	}
	ctx := context.Background() // the writes have different contexts, and SQLite bounds the wait for its lock
	err := db.transact(ctx, group, runAll)
	if errors.Is(err, errWriteFailed) {
		err = db.transact(ctx, group, runInSavepoints)
	}
	for _, w := range group {
		if err != nil {
			w.err = err
		}
		close(w.done)
	}
}

// transact runs the writes of a group in a transaction.
func (db *DB) transact(ctx context.Context, group []*write, run func(context.Context, *tx, []*write) error) error {
	if err := db.begin(ctx); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	err := run(ctx, &tx{conn: db.writes}, group)
	if err == nil {
		if _, err = db.writes.exec(ctx, `COMMIT`); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	_, _ = db.writes.exec(ctx, `ROLLBACK`) // fails if SQLite has already rolled back
	return err
}

// begin begins a transaction. If that fails, the next one uses a new connection.
func (db *DB) begin(ctx context.Context) error {
	if db.writes == nil {
		connection, err := db.writer.Conn(ctx)
		if err != nil {
			return err
		}
		db.own, db.writes = connection, newConn(connection, db.prepare)
	}
	_, err := db.writes.exec(ctx, `BEGIN IMMEDIATE`)
	if err != nil {
		db.disconnect()
	}
	return err
}

// runAll runs writes one after the other. It returns errWriteFailed as soon as one
// of them fails.
func runAll(ctx context.Context, t *tx, group []*write) error {
	for _, w := range group {
		if w.err = recovered(ctx, w.fn, t); w.err != nil || t.failed {
			return errWriteFailed
		}
	}
	return nil
}

// runInSavepoints runs each write in a savepoint and stores its error in it. The
// returned error is that of the whole group.
func runInSavepoints(ctx context.Context, t *tx, group []*write) error {
	for _, w := range group {
		if _, err := t.conn.exec(ctx, `SAVEPOINT one`); err != nil {
			return fmt.Errorf("create a savepoint: %w", err)
		}
		if w.err = recovered(ctx, w.fn, t); w.err != nil {
			if _, err := t.conn.exec(ctx, `ROLLBACK TO one`); err != nil {
				return fmt.Errorf("roll back a failed write: %w", err)
			}
		}
		if _, err := t.conn.exec(ctx, `RELEASE one`); err != nil {
			return fmt.Errorf("release a savepoint: %w", err)
		}
	}
	return nil
}

// recovered calls fn and turns a panic into an error, so that it does not end the
// goroutine that all writes share.
func recovered(ctx context.Context, fn func(context.Context, sqldb.Conn) error, t *tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(ctx, t)
}
