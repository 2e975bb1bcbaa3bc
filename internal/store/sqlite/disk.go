package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"standin/internal/store/sqldb"
)

// IsDiskFull reports whether a write failed because the disk is full. SQLite reports
// SQLITE_IOERR_SHMSIZE when it cannot extend its shared memory. Other I/O errors do
// not say that space is missing.
func IsDiskFull(err error) bool {
	var lite *sqlite.Error
	return errors.As(err, &lite) && (lite.Code() == sqlite3.SQLITE_FULL || lite.Code() == sqlite3.SQLITE_IOERR_SHMSIZE)
}

// reserveBytes is more than the deletion of a recording writes to the database.
const reserveBytes = 1 << 20

// Reserve keeps space on the disk, in a file next to the database, so that WriteDeletion
// works when the disk is full.
func (db *DB) Reserve() error {
	path := db.reservePath()
	if info, err := os.Stat(path); err == nil && info.Size() == reserveBytes {
		return nil
	}
	content := make([]byte, reserveBytes)
	_, _ = rand.Read(content) // never fails; a file system may compress zeros
	return os.WriteFile(path, content, 0o600)
}

// WriteDeletion is like Write for a transaction that leads to free space. If the disk
// is full, it uses the reserve.
func (db *DB) WriteDeletion(ctx context.Context, fn func(context.Context, sqldb.Conn) error) error {
	err := db.Write(ctx, fn)
	if !IsDiskFull(err) || os.Remove(db.reservePath()) != nil {
		return err
	}
	err = db.Write(ctx, fn)
	_ = db.Reserve() // the next start of the service repeats it
	return err
}

func (db *DB) reservePath() string { return db.path + ".reserve" }
