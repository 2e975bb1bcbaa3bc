package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite" // also the driver named sqlite

	"standin/internal/job"
)

// readers is the number of read-only connections.
const readers = 4

// sqliteEngine runs all writes on one goroutine, in groups that share a
// transaction.
type sqliteEngine struct {
	path   string
	writer *sql.DB
	reader *sql.DB
	reads  *preparedConn
	writes *preparedConn // the writer's connection; nil before it is opened
	groups *groups[sqliteWrite]

	checkpoints *checkpoints
}

// sqliteWrite is a write: of a new job, or with a function.
type sqliteWrite struct {
	fn  func(*Queries) error
	job *newJob
}

// groupedWrite is a write in a group.
type groupedWrite = grouped[sqliteWrite]

// openSQLite opens or creates the file at path. Only its owner can read it.
func openSQLite(ctx context.Context, path string) (*Store, error) {
	open := func(extra string, connections int) (*sql.DB, error) {
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
			"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
			"&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)"+extra)
		if err == nil {
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
		}
		return db, err
	}
	if err := privateFile(path); err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	writer, err := open("&_txlock=immediate&_pragma=wal_autocheckpoint("+strconv.Itoa(autoCheckpointPages)+")", 1)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	if err := migrateLocked(ctx, writer, path); err != nil {
		var lite *sqlite.Error
		if errors.As(err, &lite) {
			err = damaged(path, err)
		}
		return nil, errors.Join(fmt.Errorf("SQLite database %s: %w", path, err), writer.Close())
	}
	reader, err := open("&_pragma=query_only(ON)", readers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the SQLite database %s: %w", path, err), writer.Close())
	}
	e := &sqliteEngine{path: path, writer: writer, reader: reader, reads: newPreparedConn(reader)}
	e.checkpoints = newCheckpoints(reader)
	// Goroutines that can run come first: those that the previous group has ended
	// mostly write again.
	e.groups = newGroups(1, runtime.Gosched, e.commitGroup)
	return &Store{Queries: &Queries{conn: e.reads, in: inSQLite, spoken: sqliteSpokenIndex, selects: packedLists}, engine: e}, nil
}

// migrateLocked migrates the schema under a file lock, because a command such as
// standin keys create may start at the same time as the service.
func migrateLocked(ctx context.Context, db *sql.DB, path string) error {
	lock, err := os.OpenFile(path+".migrating", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the migration lock: %w", err)
	}
	defer lock.Close() // which releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	if err := migrate(ctx, db, goose.DialectSQLite3); err != nil {
		return err
	}
	return sqliteSpokenIndex.create(ctx, db)
}

func (e *sqliteEngine) close() error {
	e.groups.close()
	e.checkpoints.close()
	e.disconnect()
	e.reads.Close()
	return errors.Join(e.reader.Close(), e.writer.Close())
}

// notifierConfig implements engine: SQLite has a single node.
func (e *sqliteEngine) notifierConfig() *pgx.ConnConfig { return nil }

// write implements engine.
func (e *sqliteEngine) write(ctx context.Context, fn func(*Queries) error) error {
	return e.groups.commit(ctx, sqliteWrite{fn: fn})
}

// insertJob implements engine.
func (e *sqliteEngine) insertJob(ctx context.Context, r job.Record) (inserted bool, err error) {
	n, err := newJobOf(r)
	if err != nil {
		return false, err
	}
	err = e.groups.commit(ctx, sqliteWrite{job: n})
	return n.inserted, err
}

// commitGroup runs and commits the writes of a group, first without savepoints:
// each of them costs a journal of its own. If a write fails, the group runs
// again with savepoints, so that the failure does not affect the other writes.
func (e *sqliteEngine) commitGroup(group []*groupedWrite) {
	err := e.transact(group, runAll)
	if errors.Is(err, errWriteFailed) {
		err = e.transact(group, runInSavepoints)
	}
	for _, w := range group {
		if err != nil {
			w.err = err
		}
	}
}

// errWriteFailed is the error of a group of which a write failed.
var errWriteFailed = errors.New("a write failed")

// transact runs the writes of a group in a transaction.
func (e *sqliteEngine) transact(group []*groupedWrite, run func(*sqliteTx, []*groupedWrite) error) error {
	ctx := context.Background()
	if err := e.begin(ctx); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	err := run(&sqliteTx{conn: e.writes}, group)
	if err == nil {
		if _, err = e.writes.exec(ctx, `COMMIT`); err == nil {
			e.checkpoints.committed()
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	_, _ = e.writes.exec(ctx, `ROLLBACK`) // fails if SQLite has already rolled back
	return err
}

// begin begins a transaction. If that fails, the next one uses a new connection.
func (e *sqliteEngine) begin(ctx context.Context) error {
	if e.writes == nil {
		connection, err := e.writer.Conn(ctx)
		if err != nil {
			return err
		}
		e.writes = newPreparedConn(connection)
	}
	if e.checkpoints.full.Swap(false) {
		_, _ = e.writes.exec(ctx, checkpointQuery) // a failure leaves it to autoCheckpointPages
	}
	_, err := e.writes.exec(ctx, `BEGIN IMMEDIATE`)
	if err != nil {
		e.disconnect()
	}
	return err
}

// disconnect closes the connection of writes.
func (e *sqliteEngine) disconnect() {
	if e.writes != nil {
		e.writes.Close()
		e.writes = nil
	}
}

// runAll inserts the new jobs, and runs the other writes one after the other. It
// returns errWriteFailed as soon as one of them fails.
func runAll(tx *sqliteTx, group []*groupedWrite) error {
	q := &Queries{conn: tx, in: inSQLite, spoken: sqliteSpokenIndex, selects: packedLists}
	if insertNewJobs(tx, newJobsOf(group)) != nil {
		return errWriteFailed
	}
	for _, w := range group {
		if w.write.fn == nil {
			continue
		}
		if w.err = recovered(w.write.fn, q); w.err != nil || tx.failed {
			return errWriteFailed
		}
	}
	return nil
}

// runInSavepoints runs each write in a savepoint and stores its error in it. The
// returned error is that of the whole group.
func runInSavepoints(tx *sqliteTx, group []*groupedWrite) error {
	q := &Queries{conn: tx, in: inSQLite, spoken: sqliteSpokenIndex, selects: packedLists}
	ctx := context.Background()
	for _, w := range group {
		if _, err := q.exec(ctx, `SAVEPOINT one`); err != nil {
			return fmt.Errorf("create a savepoint: %w", err)
		}
		w.err = w.write.run(tx, q)
		if w.err != nil {
			if _, err := q.exec(ctx, `ROLLBACK TO one`); err != nil {
				return fmt.Errorf("roll back a failed write: %w", err)
			}
		}
		if _, err := q.exec(ctx, `RELEASE one`); err != nil {
			return fmt.Errorf("release a savepoint: %w", err)
		}
	}
	return nil
}

// run runs the write alone.
func (w sqliteWrite) run(tx *sqliteTx, q *Queries) error {
	if w.fn == nil {
		return insertNewJobs(tx, []*newJob{w.job})
	}
	return recovered(w.fn, q)
}

// recovered calls fn and turns a panic into an error, so that it does not end
// the goroutine that all writes share.
func recovered(fn func(*Queries) error, q *Queries) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in a write: %v\n%s", r, debug.Stack())
		}
	}()
	return fn(q)
}
