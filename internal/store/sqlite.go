package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named sqlite
)

// maxGroup is how many writes share one commit at the most. A commit with
// synchronous=FULL waits for the disk; the rows of a group wait for it once.
const maxGroup = 256

// readers is how many connections read while the writer writes.
const readers = 4

// sqliteEngine lets one goroutine write and groups what waits for it.
type sqliteEngine struct {
	writer *sql.DB
	reader *sql.DB

	waiting chan *groupedWrite
	closing chan struct{} // closed when no further write is taken
	done    chan struct{} // closed when the goroutine has ended
	once    sync.Once
}

// groupedWrite is a write waiting for its turn.
type groupedWrite struct {
	fn   func(*Queries) error
	err  error
	done chan struct{}
}

// errClosed is what a write on a closed store gives.
var errClosed = errors.New("the database is closed")

// openSQLite opens the file at path, made when missing.
func openSQLite(ctx context.Context, path string) (*Store, error) {
	open := func(extra string, connections int) (*sql.DB, error) {
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
			"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)"+extra)
		if err == nil {
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
		}
		return db, err
	}
	writer, err := open("&_txlock=immediate", 1)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	if err := migrateAlone(ctx, writer, path); err != nil {
		return nil, errors.Join(fmt.Errorf("SQLite database %s: %w", path, err), writer.Close())
	}
	reader, err := open("&_pragma=query_only(ON)", readers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the SQLite database %s: %w", path, err), writer.Close())
	}
	e := &sqliteEngine{
		writer:  writer,
		reader:  reader,
		waiting: make(chan *groupedWrite, maxGroup),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go e.run()
	return &Store{Queries: &Queries{on: reader}, engine: e}, nil
}

// migrateAlone brings the schema up to date while no other process does: a
// command such as standin keys create may start beside the service.
func migrateAlone(ctx context.Context, db *sql.DB, path string) error {
	turn, err := os.OpenFile(path+".migrating", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the migrations' lock: %w", err)
	}
	defer turn.Close() // and with it the lock ends
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for the migrations' lock: %w", err)
	}
	return migrate(ctx, db, goose.DialectSQLite3)
}

func (e *sqliteEngine) close() error {
	e.once.Do(func() { close(e.closing) })
	<-e.done
	return errors.Join(e.reader.Close(), e.writer.Close())
}

// lineConfig implements engine: nobody else is there to be told.
func (e *sqliteEngine) lineConfig() *pgx.ConnConfig { return nil }

// write hands fn to the writing goroutine. Once its turn has come it is
// carried through even if ctx ends: a statement broken off would take the
// whole group with it.
func (e *sqliteEngine) write(ctx context.Context, fn func(*Queries) error) error {
	w := &groupedWrite{fn: fn, done: make(chan struct{})}
	select {
	case e.waiting <- w:
	case <-e.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-w.done:
		return w.err
	case <-e.done: // closed in between: the goroutine may have answered or not
		select {
		case <-w.done:
			return w.err
		default:
			return errClosed
		}
	}
}

// run takes what waits, a group at a time, until the store is closed.
func (e *sqliteEngine) run() {
	defer close(e.done)
	for {
		select {
		case first := <-e.waiting:
			e.commitGroup(e.gather(first))
		case <-e.closing:
			for {
				select {
				case w := <-e.waiting:
					e.commitGroup(e.gather(w))
				default:
					return
				}
			}
		}
	}
}

// gather adds to first whatever else waits already.
func (e *sqliteEngine) gather(first *groupedWrite) []*groupedWrite {
	group := []*groupedWrite{first}
	for len(group) < maxGroup {
		select {
		case w := <-e.waiting:
			group = append(group, w)
		default:
			return group
		}
	}
	return group
}

// commitGroup runs the writes of a group, each in a savepoint so that one
// that fails takes no other with it, and commits them together.
func (e *sqliteEngine) commitGroup(group []*groupedWrite) {
	ctx := context.Background()
	err := func() error {
		tx, err := e.writer.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("begin a transaction: %w", err)
		}
		q := &Queries{on: steady{tx, ctx}}
		for _, w := range group {
			if err := e.runInSavepoint(ctx, q, w); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return errors.Join(fmt.Errorf("commit: %w", err), ignoreDone(tx.Rollback()))
		}
		return nil
	}()
	for _, w := range group {
		if err != nil {
			w.err = err
		}
		close(w.done)
	}
}

// runInSavepoint runs one write; an error of its own stays with it, an error
// returned is the whole group's.
func (e *sqliteEngine) runInSavepoint(ctx context.Context, q *Queries, w *groupedWrite) error {
	if _, err := q.exec(ctx, `SAVEPOINT one`); err != nil {
		return fmt.Errorf("begin a savepoint: %w", err)
	}
	w.err = guarded(w.fn, q)
	if w.err != nil {
		if _, err := q.exec(ctx, `ROLLBACK TO one`); err != nil {
			return fmt.Errorf("undo a failed write: %w", err)
		}
	}
	if _, err := q.exec(ctx, `RELEASE one`); err != nil {
		return fmt.Errorf("end a savepoint: %w", err)
	}
	return nil
}

// guarded turns a panic of fn into an error, so that it ends its own request
// and not the goroutine that all share.
func guarded(fn func(*Queries) error, q *Queries) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(q)
}

// ignoreDone drops the error of ending a transaction that has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
