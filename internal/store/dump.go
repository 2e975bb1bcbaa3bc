package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Dump describes a copy of a database that DumpDatabase wrote.
type Dump struct {
	Engine        Engine        `json:"engine"`
	SchemaVersion int64         `json:"schemaVersion"`
	Tables        []DumpedTable `json:"tables"`
}

// DumpedTable describes a table of a Dump.
type DumpedTable struct {
	Name    string   `json:"name"`
	Rows    int64    `json:"rows"`
	Columns []string `json:"columns,omitempty"` // of the file of a PostgreSQL table, in their order
}

// Engine names a kind of database.
type Engine string

// The kinds of databases.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// ErrNotEmpty is the error of LoadDatabase when the database contains data.
var ErrNotEmpty = errors.New("the database is not empty")

// EngineOf returns the kind of the database at an address of Open.
func EngineOf(address string) Engine {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return Postgres
	}
	return SQLite
}

// DumpDatabase copies the database at address to files in dir, as it is at one
// moment after the call: with every write that was durable before, and nothing
// of a transaction that was not. The service may be running. The schema is not
// migrated.
func DumpDatabase(ctx context.Context, address, dir string) (Dump, error) {
	if EngineOf(address) == Postgres {
		return dumpPostgres(ctx, address, dir)
	}
	return dumpSQLite(ctx, address, dir)
}

// LoadDatabase replaces the content of the database at address by a dump in dir,
// and migrates it to the newest schema. No service may be running. If the
// database is not empty, it returns ErrNotEmpty unless force is set. A replaced
// SQLite file is kept under another name; the content of a PostgreSQL database
// is deleted.
func LoadDatabase(ctx context.Context, address, dir string, dump Dump, force bool) error {
	if dump.Engine != EngineOf(address) {
		return fmt.Errorf("the dump is of the engine %q, and the database of %q", dump.Engine, EngineOf(address))
	}
	newest, err := NewestSchema()
	if err != nil {
		return err
	}
	if dump.SchemaVersion < 1 || dump.SchemaVersion > newest {
		return fmt.Errorf("the dump has the schema version %d, and this version of standin supports 1 to %d", dump.SchemaVersion, newest)
	}
	if dump.Engine == Postgres {
		return loadPostgres(ctx, address, dir, dump, force)
	}
	return loadSQLite(ctx, address, dir, dump, force)
}

// SchemaVersion returns the version of a database's schema. It changes nothing.
func SchemaVersion(ctx context.Context, address string) (int64, error) {
	if EngineOf(address) == Postgres {
		connection, err := connectBulk(ctx, address)
		if err != nil {
			return 0, err
		}
		defer func() { _ = connection.Close(context.WithoutCancel(ctx)) }() // only read
		return scanVersion(connection.QueryRow(ctx, versionQuery))
	}
	db, err := openExisting(address)
	if err != nil {
		return 0, err
	}
	defer db.Close() // only read
	return scanVersion(db.QueryRowContext(ctx, versionQuery))
}

// versionQuery reads the version that the migrations have stored.
const versionQuery = `SELECT MAX(version_id) FROM goose_db_version WHERE is_applied`

func scanVersion(row interface{ Scan(...any) error }) (version int64, err error) {
	if err := row.Scan(&version); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	return version, nil
}

// NewestSchema returns the schema version that this version of standin uses.
func NewestSchema() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("read the migrations: %w", err)
	}
	version, err := migrationVersion(files[len(files)-1])
	return max(version, referencesVersion), err
}

// migrationVersion returns the version in the name of a migration.
func migrationVersion(file string) (int64, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the version of migration %s: %w", file, err)
	}
	return version, nil
}

// createTable matches the statements that create tables, in migrations.
var createTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// tablesAt returns the tables of a schema version in the order of their
// creation: a table refers only to earlier ones.
func tablesAt(version int64) ([]string, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	var tables []string
	for _, file := range files {
		number, err := migrationVersion(file)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		if number > version {
			break
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, match := range createTable.FindAllStringSubmatch(up, -1) {
			tables = append(tables, match[1])
		}
	}
	return tables, nil
}

// syncPath flushes a file or directory to the disk.
func syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
