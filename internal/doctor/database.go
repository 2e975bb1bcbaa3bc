package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver named sqlite

	"standin/internal/service"
	"standin/internal/store"
)

// checkDatabase opens the database without changing it and compares its
// schema with the one of this program.
func checkDatabase(ctx context.Context, settings Settings) (Check, []reading) {
	const name = verdict("database")
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	if service.Shared(settings.DatabaseURL) {
		return checkPostgres(ctx, name, settings.DatabaseURL)
	}
	if strings.Contains(settings.DatabaseURL, "://") {
		return name.fail("STANDIN_DATABASE_URL is no PostgreSQL address", "give it the form postgres://user@host:5432/database, or leave it out for SQLite"), nil
	}
	path := service.DatabaseAddress(settings.DatabaseURL, settings.DataDir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return name.ok("SQLite %s is not there yet; standin serve makes it", path), nil
	}
	db, err := openReadOnly(path)
	if err != nil {
		return name.fail(fmt.Sprintf("SQLite %s: %v", path, err), "see that the file is a SQLite database that this user may read"), nil
	}
	defer db.Close() // only read
	var version string
	if err := db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version); err != nil {
		return name.fail(fmt.Sprintf("SQLite %s: %v", path, err), "see that the file is a SQLite database that this user may read"), nil
	}
	return judgeSchema(ctx, name, db, fmt.Sprintf("SQLite %s, %s", version, path)), nil
}

// errUnread says that a database was left by a process that was killed and
// cannot be read without recovering it, which changes files.
var errUnread = errors.New("it has a write-ahead log without an index, left by a process that was killed")

// openReadOnly opens a SQLite file so that nothing beside it is made. SQLite
// makes the files of a write-ahead log for readers too, unless they are there
// already, or the file is said to be immutable, which it is while nobody has
// it open.
func openReadOnly(path string) (*sql.DB, error) {
	query := "mode=ro&_pragma=busy_timeout(5000)"
	_, logged := os.Stat(path + "-wal")
	_, indexed := os.Stat(path + "-shm")
	switch {
	case logged != nil:
		query += "&immutable=1"
	case indexed != nil:
		return nil, errUnread
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: absolute}).EscapedPath()+"?"+query)
}

// checkPostgres connects to PostgreSQL with sessions that cannot write.
func checkPostgres(ctx context.Context, name verdict, address string) (Check, []reading) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return name.fail("the PostgreSQL address cannot be read", "give it the form postgres://user@host:5432/database"), nil
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	where := fmt.Sprintf("database %q as %q at %s", config.Database, config.User,
		net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	db := stdlib.OpenDB(*config)
	defer db.Close() // only read
	var version string
	if err := db.QueryRowContext(ctx, `SHOW server_version`).Scan(&version); err != nil {
		return name.fail(fmt.Sprintf("PostgreSQL, %s: %v", where, err),
			"see that the server runs, that it is reachable from here, and that user, password and database are right"), nil
	}
	check := judgeSchema(ctx, name, db, fmt.Sprintf("PostgreSQL %s, %s", version, where))
	var theirs time.Time
	asked := time.Now()
	if err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
		return check, nil // nothing to compare with; the check above tells of a server that does not answer
	}
	return check, []reading{compared("PostgreSQL", asked, time.Now(), theirs, 0)}
}

// judgeSchema compares a database's schema with the one of this program.
func judgeSchema(ctx context.Context, name verdict, db *sql.DB, is string) Check {
	have, err := schemaOf(ctx, db)
	if err != nil {
		return name.fail(fmt.Sprintf("%s: %v", is, err), "see that this is Standin's database, and that this user may read it")
	}
	want, err := ownSchema(ctx)
	if err != nil {
		return name.fail(fmt.Sprintf("%s: cannot tell the schema of this program: %v", is, err), "see that the folder for temporary files can be written")
	}
	switch {
	case have == 0:
		return name.ok("%s; empty: standin serve makes schema %d", is, want)
	case have < want:
		return name.warn(fmt.Sprintf("%s; schema %d, this program has %d", is, have, want),
			"start standin serve of this version: it brings the schema up to date")
	case have > want:
		return name.fail(fmt.Sprintf("%s; schema %d is newer than this program's, %d", is, have, want),
			"use the version of Standin that made it, or a newer one")
	}
	return name.ok("%s; schema %d, up to date", is, have)
}

// schemaOf reads which migration was the last, 0 when none has run.
func schemaOf(ctx context.Context, db *sql.DB) (version int64, err error) {
	var tables int
	query := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`
	if _, postgres := db.Driver().(*stdlib.Driver); postgres {
		query = `SELECT count(*) FROM (SELECT to_regclass('goose_db_version') AS found) t WHERE found IS NOT NULL`
	}
	if err := db.QueryRowContext(ctx, query).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&version)
	return version, err
}

// ownSchema tells the schema that this program makes, by making one in a
// temporary folder.
func ownSchema(ctx context.Context) (version int64, err error) {
	folder, err := os.MkdirTemp("", "standin-doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "empty.db")
	made, err := store.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	if err := made.Close(); err != nil {
		return 0, err
	}
	db, err := openReadOnly(path)
	if err != nil {
		return 0, err
	}
	defer db.Close() // only read
	return schemaOf(ctx, db)
}
