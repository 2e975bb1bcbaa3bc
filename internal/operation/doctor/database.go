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

	"standin/internal/server/service"
	"standin/internal/store"
	"standin/internal/store/migrations"
)

// checkDatabase opens the database read-only and compares its schema with this
// program's.
func checkDatabase(ctx context.Context, settings Settings) (Check, []clockReading) {
	const name = checkName("database")
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	path := service.DatabaseAddress(settings.DatabaseURL, settings.DataDir)
	if store.IsPostgres(path) { // with sessions that cannot write
		config, err := pgx.ParseConfig(path)
		if err != nil {
			return name.fail("give it the form postgres://user@host:5432/database",
				"the PostgreSQL address cannot be read"), nil
		}
		config.RuntimeParams["default_transaction_read_only"] = "on"
		where := fmt.Sprintf("database %q as %q at %s", config.Database, config.User,
			net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
		db := stdlib.OpenDB(*config)
		defer db.Close() // only read
		var version string
		if err := db.QueryRowContext(ctx, `SHOW server_version`).Scan(&version); err != nil {
			return name.fail("make sure that the server runs, that this machine reaches it, and that user, password and database are right",
				"PostgreSQL, %s: %v", where, err), nil
		}
		check := checkSchema(ctx, name, db, fmt.Sprintf("PostgreSQL %s, %s", version, where))
		var theirs time.Time
		asked := time.Now()
		if err := db.QueryRowContext(ctx, `SELECT clock_timestamp()`).Scan(&theirs); err != nil {
			return check, nil // nothing to compare with; the check already covers a server that does not answer
		}
		return check, []clockReading{newClockReading("PostgreSQL", asked, time.Now(), theirs, 0)}
	}
	if strings.Contains(path, "://") {
		return name.fail("give it the form postgres://user@host:5432/database, or leave it out for SQLite",
			"STANDIN_DATABASE_URL is not a PostgreSQL address"), nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return name.ok("SQLite %s does not exist yet; standin serve creates it", path), nil
	}
	var version string
	db, err := openReadOnly(path)
	if err == nil {
		defer db.Close() // only read
		err = db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version)
	}
	if err != nil {
		return name.fail("make sure that the file is a SQLite database that this user may read",
			"SQLite %s: %v", path, err), nil
	}
	return checkSchema(ctx, name, db, fmt.Sprintf("SQLite %s, %s", version, path)), nil
}

// errNeedsRecovery reports that a process that was killed left a database that
// cannot be read without recovery, which would change files.
var errNeedsRecovery = errors.New("it has a write-ahead log without an index, which a killed process left behind")

// openReadOnly opens a SQLite file without creating other files. SQLite creates
// the files of a write-ahead log for readers too, unless they exist or the file
// is declared immutable, which holds while no process has it open.
func openReadOnly(path string) (*sql.DB, error) {
	query := "mode=ro&_pragma=busy_timeout(5000)"
	_, logged := os.Stat(path + "-wal")
	_, indexed := os.Stat(path + "-shm")
	switch {
	case logged != nil:
		query += "&immutable=1"
	case indexed != nil:
		return nil, errNeedsRecovery
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: absolute}).EscapedPath()+"?"+query)
}

// checkSchema compares a database's schema with this program's.
func checkSchema(ctx context.Context, name checkName, db *sql.DB, description string) Check {
	var tables int
	var have int64 // the last migration that ran; 0 for none
	query := `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'goose_db_version'`
	if _, postgres := db.Driver().(*stdlib.Driver); postgres {
		query = `SELECT count(*) FROM (SELECT to_regclass('goose_db_version') AS found) t WHERE found IS NOT NULL`
	}
	err := db.QueryRowContext(ctx, query).Scan(&tables)
	if err == nil && tables > 0 {
		err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&have)
	}
	if err != nil {
		return name.fail("make sure that this is Standin's database, and that this user may read it",
			"%s: %v", description, err)
	}
	const want = migrations.Newest
	switch {
	case have == 0:
		return name.ok("%s; empty: standin serve creates schema %d", description, want)
	case have < want:
		return name.warn("start standin serve of this version: it updates the schema",
			"%s; schema %d, this program has %d", description, have, want)
	case have > want && migrations.Usable(have):
		return name.ok("%s; schema %d is that of the next release, and this program runs on it", description, have)
	case have > want:
		return name.fail("use the version of Standin that created it, or a newer one",
			"%s; schema %d is newer than this program's, %d", description, have, want)
	}
	var latest int64 // of all nodes, which remain for a week
	if err := db.QueryRowContext(ctx, `SELECT coalesce(max(heartbeat_at), 0) FROM nodes`).Scan(&latest); err != nil {
		return name.fail("make sure that this user may read all tables", "%s: %v", description, err)
	}
	if ahead := time.Until(time.UnixMilli(latest)).Round(time.Second); ahead > harmfulSkew {
		return name.warn("correct the clock of this machine if it is behind; standin serve corrects the times",
			"%s; times in the database are %s ahead of this clock", description, ahead)
	}
	var silent int // apps of Zoom
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM zoom_apps WHERE heard_at IS NULL`).Scan(&silent); err == nil && silent > 0 {
		return name.warn("in each app, set /webhooks/zoom of this service as the event notification URL, and validate it",
			"%s; schema %d, up to date; Zoom has sent no event of %d apps", description, have, silent)
	}
	return name.ok("%s; schema %d, up to date", description, have)
}
