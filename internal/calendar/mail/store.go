package mail

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver named sqlite

	"standin/internal/base/fsutil"
)

//go:embed schema.sql
var schema string

// fileName is the name of the worker's database in its directory.
const fileName = "mail.db"

// keepTime is how long processed messages and meetings that are over are kept.
const keepTime = 30 * 24 * time.Hour

// errFull is returned when there is no space for a message.
var errFull = errors.New("the mail directory has reached its maximum size")

// Store keeps received messages, the meetings in them, and what the service was
// asked for, in a SQLite file. A message is on disk when add returns. Its
// methods may be called from any goroutine.
type Store struct {
	db       *sql.DB
	maxBytes int64 // limit of the size of all messages
}

// openStore opens or creates the store in a directory. maxBytes limits the size
// of all messages.
func openStore(ctx context.Context, dir string, maxBytes int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the mail directory: %w", err)
	}
	path := filepath.Join(dir, fileName)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives its other files the same permissions
	if err != nil {
		return nil, fmt.Errorf("create the mail database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("create the mail database: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+
		"?_pragma=busy_timeout(15000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open the mail database: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open the mail database %s: %w", path, err), db.Close())
	}
	return &Store{db: db, maxBytes: maxBytes}, nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// lockDir makes sure that one worker uses the directory at a time.
func lockDir(dir string) (*os.File, error) {
	lock, err := fsutil.TryLock(filepath.Join(dir, "mail.lock"))
	if errors.Is(err, fsutil.ErrLocked) {
		return nil, fmt.Errorf("another mail worker uses the directory %s: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the mail directory: %w", err)
	}
	return lock, nil
}

// wrap says that an error, if it is one, is that of the database.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("mail database: %w", err)
}

// write runs fn in a transaction that is on disk when write returns.
func (s *Store) write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := fn(tx); err != nil {
		return err
	}
	return wrap(tx.Commit())
}

// exec runs a statement.
func exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return wrap(err)
}

// exec runs one statement in its own transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *sql.Tx) error { return exec(ctx, tx, query, args...) })
}

// reader is the database, or a transaction.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list returns all rows of a query.
func list[T any](ctx context.Context, db reader, scan func(row *sql.Rows) (T, error), query string, args ...any) (found []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return nil, wrap(err)
		}
		found = append(found, row)
	}
	return found, wrap(rows.Err())
}

// mailbox is the progress of reading an IMAP mailbox.
type mailbox struct {
	validity  uint32    // UIDVALIDITY, for which uid counts
	uid       uint32    // the last message that was stored or refused
	firstSeen time.Time // older messages are not read
}

// mailbox returns the progress of reading an IMAP mailbox; zero if the worker has
// not seen it.
func (s *Store) mailbox(ctx context.Context, name string) (mailbox, error) {
	var box mailbox
	var firstSeen int64
	err := s.db.QueryRowContext(ctx, `SELECT uid_validity, uid, first_seen_at FROM mailboxes
		WHERE name = $1`, name).Scan(&box.validity, &box.uid, &firstSeen)
	if errors.Is(err, sql.ErrNoRows) {
		return mailbox{}, nil
	}
	box.firstSeen = time.UnixMilli(firstSeen)
	return box, wrap(err)
}

// saveMailbox saves the progress of reading an IMAP mailbox.
func (s *Store) saveMailbox(ctx context.Context, name string, box mailbox) error {
	return s.exec(ctx, `INSERT INTO mailboxes (name, uid_validity, uid, first_seen_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET uid_validity = $2, uid = $3`, name, box.validity, box.uid, box.firstSeen.UnixMilli())
}
