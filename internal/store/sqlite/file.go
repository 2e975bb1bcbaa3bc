package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// privateFile creates the database file if it does not exist and removes the
// permissions of other users from it and from its -wal and -shm files. SQLite
// creates those with the permissions of the database file.
func privateFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, info.Mode().Perm()&0o700)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ClosedCleanly reports whether the SQLite database at path was closed by the
// last process that used it. SQLite deletes the -wal file then.
func ClosedCleanly(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err != nil || info.Size() == 0
}

// Check verifies the structure of the database with PRAGMA quick_check, which reads
// the whole file.
func (db *DB) Check(ctx context.Context) error {
	var problem string
	if err := db.reader.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&problem); err != nil {
		return Explain(db.path, err)
	}
	if problem != "ok" {
		return damaged(db.path, fmt.Errorf("quick_check: %s", problem))
	}
	return nil
}

// Explain adds what to do next to an error that reports a damaged file, and returns
// other errors as they are.
func Explain(path string, err error) error {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return damaged(path, err)
	}
	return err
}

// code returns the extended code of an error of SQLite, whose last byte is the primary code; 0 for other errors.
func code(err error) int {
	if lite, ok := errors.AsType[*sqlite.Error](err); ok {
		return lite.Code()
	}
	return 0
}

func damaged(path string, err error) error {
	return fmt.Errorf("the SQLite database %[1]s is damaged: stop the service, keep a copy of the file with its -wal and -shm files, "+
		"and restore a backup, or rebuild the file with: sqlite3 %[1]s .recover | sqlite3 new.db: %[2]w", path, err)
}

// IsDiskFull reports whether a write failed because the disk is full. SQLite reports
// SQLITE_IOERR_SHMSIZE when it cannot extend its shared memory. Other I/O errors do
// not say that space is missing.
func IsDiskFull(err error) bool {
	return code(err) == sqlite3.SQLITE_FULL || code(err) == sqlite3.SQLITE_IOERR_SHMSIZE
}

// IsUnavailable reports whether the file cannot be used now: it is locked, its disk is full, or
// it cannot be read or written.
func IsUnavailable(err error) bool {
	switch code(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN,
		sqlite3.SQLITE_READONLY:
		return true
	}
	return false
}

// OpenExisting opens a file that exists, without migrating it.
func OpenExisting(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=rw&_pragma=busy_timeout(15000)")
	if err != nil {
		return nil, fmt.Errorf("open the SQLite database %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}
