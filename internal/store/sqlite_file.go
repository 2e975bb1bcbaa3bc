package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
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
			return fmt.Errorf("restrict access to its owner: %w", err)
		}
	}
	return nil
}

// reserveBytes is more than the deletion of a recording writes to the database.
const reserveBytes = 1 << 20

// Reserve keeps space on the disk of a SQLite database, in a file next to it, so that
// recordings can be deleted when the disk is full. It does nothing on PostgreSQL.
func (s *Store) Reserve() error {
	e, ok := s.engine.(*sqliteEngine)
	if !ok {
		return nil
	}
	path := e.path + ".reserve"
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	content := make([]byte, reserveBytes)
	_, _ = rand.Read(content) // never fails; a file system may compress zeros
	return os.WriteFile(path, content, 0o600)
}

// ReleaseReserve frees the space of Reserve.
func (s *Store) ReleaseReserve() {
	if e, ok := s.engine.(*sqliteEngine); ok {
		_ = os.Remove(e.path + ".reserve") // may be gone
	}
}

// ClosedCleanly reports whether the SQLite database at path was closed by the
// last process that used it. SQLite deletes the -wal file then.
func ClosedCleanly(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err != nil || info.Size() == 0
}

// Check verifies the structure of a SQLite database with PRAGMA quick_check,
// which reads the whole file. PostgreSQL checks its own files.
func (s *Store) Check(ctx context.Context) error {
	e, ok := s.engine.(*sqliteEngine)
	if !ok {
		return nil
	}
	problems, err := list(ctx, s.Queries, scanColumn[string], `PRAGMA quick_check(10)`)
	if err == nil && len(problems) == 1 && problems[0] == "ok" {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("quick_check: %v", problems)
	}
	return damaged(e.path, err)
}

// damaged adds what to do next to an error that reports a damaged file.
func damaged(path string, err error) error {
	var lite *sqlite.Error
	if errors.As(err, &lite) && lite.Code()&0xff != sqlite3.SQLITE_CORRUPT && lite.Code()&0xff != sqlite3.SQLITE_NOTADB {
		return err
	}
	return fmt.Errorf("the SQLite database %[1]s is damaged: stop the service, keep a copy of the file with its -wal and -shm files, "+
		"and restore a backup, or rebuild the file with: sqlite3 %[1]s .recover | sqlite3 new.db: %[2]w", path, err)
}
