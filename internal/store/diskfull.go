package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// IsDiskFull reports whether a write failed because the disk of the database is
// full: SQLITE_FULL, an I/O error of SQLite, which it reports when it cannot
// extend its shared memory, or disk_full (53100) of PostgreSQL.
func IsDiskFull(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		code := lite.Code() & 0xff
		return code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "53100"
}
