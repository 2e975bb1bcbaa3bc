package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"standin/internal/store/sqldb"
)

// write is a write in a group.
type write struct {
	fn   func(context.Context, sqldb.Conn) error
	done chan error
}

// Write runs fn in a transaction, which is durable when Write returns nil. fn may be
// called more than once. When ctx ends before fn is called, it is not called. Its
// context does not end: interrupting a statement makes SQLite roll back the
// transaction, which other writes share.
func (db *DB) Write(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w := &write{fn: fn, done: make(chan error, 1)}
	select {
	case db.waiting <- w:
		return Explain(db.path, <-w.done)
	case <-db.closing:
		return errors.New("the database is closed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitAll runs writes in groups until the database is closed: while a group runs, the callers of
// the next one wait.
func (db *DB) commitAll(ctx context.Context) {
	defer close(db.done)
	for {
		select {
		case first := <-db.waiting:
			runtime.Gosched() // the callers of the previous group may have the next writes
			group := []*write{first}
			for more := true; more && len(group) < 256; {
				select {
				case w := <-db.waiting:
					group = append(group, w)
				default:
					more = false
				}
			}
			db.commit(ctx, group) // SQLite bounds the wait for its lock
		case <-db.closing:
			return
		}
	}
}

// commit runs the writes of a group in a transaction. If a write fails, it does the same with
// both halves of the group, so that the failure does not affect the other writes. It uses no
// savepoints, because SQLite rolls back all of a transaction when the disk is full.
func (db *DB) commit(ctx context.Context, group []*write) {
	err := db.transact(ctx, group)
	if errors.Is(err, errWriteFailed) {
		half := len(group) / 2
		db.commit(ctx, group[:half])
		db.commit(ctx, group[half:])
		return
	}
	for _, w := range group {
		w.done <- err
	}
}

// errWriteFailed is the error of a transaction of several writes of which one failed.
var errWriteFailed = errors.New("a write failed")

// transact runs writes in a transaction. The error of a single write is returned as it is.
func (db *DB) transact(ctx context.Context, group []*write) error {
	if db.own == nil {
		connection, err := db.writer.Conn(ctx)
		if err != nil {
			return fmt.Errorf("begin a transaction: %w", err)
		}
		db.own, db.writes = connection, newConn(connection)
	}
	if _, err := db.own.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		db.disconnect() // the next transaction uses a new connection
		return fmt.Errorf("begin a transaction: %w", err)
	}
	t := &tx{conn: db.writes}
	var err error
	for _, w := range group {
		err = recovered(ctx, w.fn, t)
		if len(group) > 1 && (err != nil || t.failure != nil) {
			err = errWriteFailed
			break
		}
	}
	if err == nil {
		if _, err = db.own.ExecContext(ctx, `COMMIT`); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", errors.Join(err, t.failure))
	}
	_, _ = db.own.ExecContext(ctx, `ROLLBACK`) // fails if SQLite has already rolled back
	return err
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
