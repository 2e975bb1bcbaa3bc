// Package migrations creates the schema of the database and migrates it.
package migrations

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"

	"github.com/pressly/goose/v3"

	"standin/internal/store/sqldb"
)

//go:embed 101_schema.sql
var schema string

//go:embed 101_schema_down.sql
var schemaDown string

// Newest is the version of the schema after all migrations. The number of a migration is 100 times
// the release that adds it, plus its position in that release.
//
// A release runs on the schema of the next one, so that nodes are upgraded one after the other: a
// migration only adds what the release before it can ignore, and what is no longer used is removed
// one release later.
const Newest = 102

// perRelease is the factor in the number of a migration.
const perRelease = 100

// VersionQuery reads the version of the schema.
const VersionQuery = `SELECT MAX(version_id) FROM goose_db_version WHERE is_applied`

// IsNewest reports whether a database has the schema of this release, by the row of
// VersionQuery. It is faster than Up, which waits for a lock.
func IsNewest(row sqldb.Row) bool {
	var version int64
	return row.Scan(&version) == nil && version == Newest
}

// Up migrates a database to Newest. It leaves the schema of the next release as it is; a schema
// that is newer still is an error.
func Up(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, options...)
	if err != nil {
		return err
	}
	version, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if !Usable(version) {
		return fmt.Errorf("the schema has version %d, and this version of standin has %d and runs on that of the next release at most: "+
			"run the version of standin that migrated it, or the one before it", version, Newest)
	}
	if version > Newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	return nil
}

// Usable reports whether this release runs on a schema once it has migrated what is older.
func Usable(version int64) bool { return version/perRelease <= Newest/perRelease+1 }

// Recreate empties a database and creates the schema.
func Recreate(ctx context.Context, db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) error {
	provider, err := newProvider(db, dialect, options...)
	if err != nil {
		return err
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		return fmt.Errorf("empty the database: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("create the schema: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB, dialect goose.Dialect, options ...goose.ProviderOption) (*goose.Provider, error) {
	// The full-text index of search_texts: FTS5 on SQLite, and tsvector on PostgreSQL.
	up, down := searchSQLite, `DROP TRIGGER search_texts_deleted; DROP TRIGGER search_texts_inserted; DROP TABLE search_texts_words`
	if dialect == goose.DialectPostgres {
		up = `CREATE INDEX search_texts_words ON search_texts USING gin (to_tsvector('simple', text))`
		down = `DROP INDEX search_texts_words`
	}
	all := goose.WithGoMigrations(goose.NewGoMigration(101, run(schema), run(schemaDown)), goose.NewGoMigration(102, run(up), run(down)))
	provider, err := goose.NewProvider(dialect, db, nil, append(options, all)...)
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	return provider, nil
}

// run returns a step that runs a text of SQL statements in a transaction. Goose splits files of SQL
// into statements, which takes most of the time in which a database is created.
func run(text string) *goose.GoFunc {
	return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, text)
		return err
	}}
}
